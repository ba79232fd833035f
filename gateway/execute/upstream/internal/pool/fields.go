package pool

import "strings"

// Fields are header fields in the order in which they are written. Names are written unchanged, and compared case-insensitively.
type Fields []Field

// A Field is one header field.
type Field struct{ Name, Value string }

// Set sets a field. It replaces an existing field with the same name.
func (f *Fields) Set(name, value string) {
	if i := f.index(name); i >= 0 {
		(*f)[i].Value = value
		return
	}
	*f = append(*f, Field{name, value})
}

// Get returns the value of the first field with this name, or "" if there is none.
func (f Fields) Get(name string) string {
	value, _ := f.Lookup(name)
	return value
}

// Lookup is like Get, and also reports whether there is such a field.
func (f Fields) Lookup(name string) (value string, ok bool) {
	if i := f.index(name); i >= 0 {
		return f[i].Value, true
	}
	return "", false
}

// List returns the values of all fields with this name, separated by commas, or "" if there are none. See RFC 9110, section 5.3.
func (f Fields) List(name string) string {
	var values []string
	for rest := f; ; {
		i := rest.index(name)
		if i < 0 {
			return strings.Join(values, ",")
		}
		values, rest = append(values, rest[i].Value), rest[i+1:]
	}
}

func (f Fields) index(name string) int {
	for i := range f {
		if len(f[i].Name) == len(name) && strings.EqualFold(f[i].Name, name) {
			return i
		}
	}
	return -1
}
