package yamlconf

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Reference returns a document with every key of a struct type, its default and its description, for people to copy. For editors, it refers
// to the JSON Schema at schemaID.
func (ts Types) Reference(root reflect.Type, schemaID string) []byte {
	var out strings.Builder
	out.WriteString("# yaml-language-server: $schema=" + schemaID + "\n")
	ts.writeReference(&out, root, "")
	return []byte(out.String())
}

func (ts Types) writeReference(out *strings.Builder, t reflect.Type, indent string) {
	for key, f := range ts.fields(t) {
		fmt.Fprintf(out, "%s# %s\n", indent, keyDescription(f.Tag))
		if enum := f.Tag.Get("enum"); strings.Contains(enum, ",") {
			fmt.Fprintf(out, "%s# One of %s.\n", indent, alternatives(enum))
		}
		_, isScalar := ts.lookup(f.Type)
		fallback, required := f.Tag.Get("default"), f.Tag.Get("required") == "true"
		switch {
		case isScalar && fallback != "":
			fmt.Fprintf(out, "%s%s: %s\n", indent, key, yamlText(fallback))
		case isScalar && required:
			fmt.Fprintf(out, "%s%s: %s\n", indent, key, f.Tag.Get("example"))
		case isScalar:
			fmt.Fprintf(out, "%s%s:\n", indent, key)
		case f.Type.Kind() == reflect.Slice && required:
			fmt.Fprintf(out, "%s%s:\n%s-\n", indent, key, indent)
			ts.writeReference(out, f.Type.Elem(), indent+"  ")
		case f.Type.Kind() == reflect.Slice:
			fmt.Fprintf(out, "%s%s: []\n", indent, key)
		case f.Type.Kind() == reflect.Map:
			fmt.Fprintf(out, "%s%s: {}\n", indent, key)
			ts.writeEntry(out, f.Type.Elem(), indent)
		default:
			fmt.Fprintf(out, "%s%s:\n", indent, key)
			ts.writeReference(out, f.Type, indent+"  ")
		}
	}
}

// writeEntry writes the keys of an entry of a mapping as comments.
func (ts Types) writeEntry(out *strings.Builder, t reflect.Type, indent string) {
	var entry strings.Builder
	_, scalar := ts.lookup(t)
	switch {
	case scalar, t.Kind() == reflect.Struct && len(ts.keysOf(t)) == 0:
		return
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		entry.WriteString("<name>:\n-\n")
		ts.writeReference(&entry, t.Elem(), "  ")
	case t.Kind() == reflect.Struct:
		entry.WriteString("<name>:\n")
		ts.writeReference(&entry, t, "  ")
	default:
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(entry.String(), "\n"), "\n") {
		fmt.Fprintf(out, "%s#   %s\n", indent, line)
	}
}

// yamlText quotes a default that YAML would read as a value of another type.
func yamlText(text string) string {
	if strings.Contains(text, "${") {
		return strconv.Quote(text)
	}
	return text
}

// keyDescription returns the description of a key with its bounds.
func keyDescription(tag reflect.StructTag) string {
	text := tag.Get("doc")
	if least, most := tag.Get("min"), tag.Get("max"); least != "" && most != "" {
		text += " " + least + " to " + most + "."
	}
	if tag.Get("restart") == "true" {
		text += " Changes take effect only after a restart."
	}
	return text
}
