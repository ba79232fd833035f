package yamlconf

import (
	"iter"
	"reflect"
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

// keysOf returns the keys of a struct in the order of its fields.
func keysOf(t reflect.Type) []string {
	var keys []string
	for key := range Fields(t) {
		keys = append(keys, key)
	}
	return keys
}

// shortField returns the field of t that a text in place of the whole mapping sets, if t has one.
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

// holdsSecrets reports whether a field of t is a secret, so that an unknown key beside it may be one too.
func (s Scalars) holdsSecrets(t reflect.Type) bool {
	for _, f := range Fields(t) {
		if scalar, ok := s.lookup(f.Type); ok && scalar.Secret {
			return true
		}
	}
	return false
}

// pathOf returns the one path under which root has key, or "" where there is none or several.
func (s Scalars) pathOf(root reflect.Type, key string) string {
	var found []string
	var search func(path string, t reflect.Type)
	search = func(path string, t reflect.Type) {
		if _, isScalar := s.lookup(t); isScalar {
			return
		}
		switch t.Kind() {
		case reflect.Slice:
			search(path+"[]", t.Elem())
		case reflect.Map:
			search(path+".<…>", t.Elem())
		case reflect.Struct:
			for k, f := range Fields(t) {
				if k == key {
					found = append(found, path)
				}
				search(join(path, k), f.Type)
			}
		default:
		}
	}
	search("", root)
	if len(found) != 1 {
		return ""
	}
	if found[0] == "" {
		return "no other key: put it at the left edge"
	}
	return found[0]
}

// setDefaults sets v, and everything in it, to the defaults of its tags.
func (d *Document) setDefaults(v reflect.Value, path string) {
	if v.Kind() != reflect.Struct {
		return
	}
	for key, f := range Fields(v.Type()) {
		at, field := join(path, key), v.FieldByIndex(f.Index)
		scalar, isScalar := d.scalars.lookup(f.Type)
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
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// allowed reports whether text is one of the values of an enum.
func allowed(enum, text string) bool { return slices.Contains(strings.Split(enum, ","), text) }
