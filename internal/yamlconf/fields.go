package yamlconf

import (
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Fields iterates over the keys of a struct type and their fields, in the order of the fields.
func Fields(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if key := f.Tag.Get("yaml"); key != "" && key != "-" && !yield(key, f) {
				return
			}
		}
	}
}

// Types are the types of struct fields, in addition to the built-in ones.
type Types struct {
	Scalars Scalars
	// Structs maps an interface type to a struct type. A field of the interface type is decoded into a pointer to such a struct, so that a
	// program can decide at startup which keys a mapping has. If the field has the tag ",inline", the enclosing mapping has these keys.
	Structs map[reflect.Type]reflect.Type
}

const inline = ",inline"

// lookup returns the Scalar of a type, if the type is decoded from a scalar.
func (ts Types) lookup(t reflect.Type) (Scalar, bool) { return ts.Scalars.lookup(t) }

// structOf returns the struct type for an interface type, and every other type as it is.
func (ts Types) structOf(t reflect.Type) reflect.Type {
	if s, ok := ts.Structs[t]; ok {
		return s
	}
	return t
}

// fields is like Fields, but also iterates over the keys of inline fields.
func (ts Types) fields(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for key, f := range Fields(ts.structOf(t)) {
			if key != inline {
				if !yield(key, f) {
					return
				}
				continue
			}
			for key, f := range ts.fields(f.Type) {
				if !yield(key, f) {
					return
				}
			}
		}
	}
}

// A Value is the value of one key.
type Value struct {
	reflect.Value
	Tag reflect.StructTag // tag of the field
}

// Values iterates over the keys of a struct that Decode has filled, and over their values, in the order of the fields.
func Values(v reflect.Value) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		v := held(v)
		for key, f := range Fields(v.Type()) {
			if key != inline {
				if !yield(key, Value{v.FieldByIndex(f.Index), f.Tag}) {
					return
				}
				continue
			}
			for key, value := range Values(v.FieldByIndex(f.Index)) {
				if !yield(key, value) {
					return
				}
			}
		}
	}
}

// held returns the struct that an interface points to, and every other value as it is.
func held(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface && v.Elem().Kind() == reflect.Pointer {
		return v.Elem().Elem()
	}
	return v
}

// keysOf returns the keys of a struct in the order of its fields.
func (ts Types) keysOf(t reflect.Type) []string {
	var keys []string
	for key := range ts.fields(t) {
		keys = append(keys, key)
	}
	return keys
}

// shortField returns the field of t that is set if the document has a string in place of the mapping. It returns false if t has no such
// field.
func shortField(t reflect.Type) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	for _, f := range Fields(t) {
		if f.Tag.Get("short") == "true" {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// holdsSecrets reports whether a field of t is a secret. An unknown key in the same mapping may then also be one.
func (ts Types) holdsSecrets(t reflect.Type) bool {
	for _, f := range ts.fields(t) {
		if scalar, ok := ts.lookup(f.Type); ok && scalar.Secret {
			return true
		}
	}
	return false
}

// pathOf returns, for a message, the only path under root that has the key; for the root itself, it returns a phrase. If several paths have
// the key and exactly one of them is below near, it returns that one. Otherwise, it returns "".
func (ts Types) pathOf(root reflect.Type, key, near string) string {
	var found []string
	var search func(path string, t reflect.Type)
	search = func(path string, t reflect.Type) {
		if _, isScalar := ts.lookup(t); isScalar {
			return
		}
		switch t = ts.structOf(t); t.Kind() {
		case reflect.Slice:
			search(path+"[]", t.Elem())
		case reflect.Map:
			search(path+".<…>", t.Elem())
		case reflect.Struct:
			for k, f := range ts.fields(t) {
				if k == key {
					found = append(found, path)
				}
				search(join(path, k), f.Type)
			}
		default:
		}
	}
	search("", root)
	if below := number.ReplaceAllString(near, "[]") + "."; near != "" && len(found) > 1 {
		found = slices.DeleteFunc(found, func(path string) bool { return !strings.HasPrefix(path, below) })
	}
	if len(found) != 1 {
		return ""
	}
	if found[0] == "" {
		return "no other key: do not indent it"
	}
	return found[0]
}

// number matches the index of an item of a list in a path.
var number = regexp.MustCompile(`\[[0-9]+\]`)

// setDefaults sets v, and everything in it, to the defaults of its tags.
func (d *Document) setDefaults(v reflect.Value, path string) {
	if t, ok := d.types.Structs[v.Type()]; ok {
		v.Set(reflect.New(t))
		v = held(v)
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for key, f := range Fields(v.Type()) {
		field := v.FieldByIndex(f.Index)
		if key == inline {
			d.setDefaults(field, path)
			continue
		}
		at := join(path, key)
		scalar, isScalar := d.types.lookup(f.Type)
		fallback := f.Tag.Get("default")
		switch {
		case !isScalar:
			d.setDefaults(field, at)
		case fallback != "":
			if strings.Contains(fallback, "${") {
				d.origins[at] = variableIn(fallback)
			}
			d.text(at, fallback, field, f.Tag, scalar)
		}
	}
}

// variableIn returns the name of the variable that a default refers to.
func variableIn(fallback string) string {
	_, rest, _ := strings.Cut(fallback, "${")
	name, _, _ := strings.Cut(rest, ":-")
	return name
}

// join returns the path of a key under path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// alternatives returns the values of an enum for a message: a, b or c.
func alternatives(enum string) string {
	words := strings.Split(enum, ",")
	if len(words) == 1 {
		return enum
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// allowed reports whether text is one of the values of an enum.
func allowed(enum, text string) bool { return slices.Contains(strings.Split(enum, ","), text) }
