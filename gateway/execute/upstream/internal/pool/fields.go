package pool

import "strings"

// Fields are the header fields of a request, in the order in which they are written. Names are written as they are, and compared
// without their case.
type Fields []Field

// A Field is one header field.
type Field struct{ Name, Value string }

// Set sets a field, in the place of the one that has its name.
func (f *Fields) Set(name, value string) {
	if i := f.index(name); i >= 0 {
		(*f)[i].Value = value
		return
	}
	*f = append(*f, Field{name, value})
}

// Get returns the value of a field; empty where there is none.
func (f Fields) Get(name string) string {
	if i := f.index(name); i >= 0 {
		return f[i].Value
	}
	return ""
}

func (f Fields) index(name string) int {
	for i := range f {
		if len(f[i].Name) == len(name) && strings.EqualFold(f[i].Name, name) {
			return i
		}
	}
	return -1
}
