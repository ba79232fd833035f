package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Reference is a configuration that writes every key out, with its default and what it means: for
// people to copy from.
func Reference() []byte {
	var out strings.Builder
	out.WriteString("# yaml-language-server: $schema=" + SchemaID + "\n")
	writeReference(&out, reflect.TypeFor[Config](), "")
	return []byte(out.String())
}

// examples stand where a required key has no default.
var examples = map[string]string{"agents_file": "agents.json", "policy_file": "policy.json", "url": "http://127.0.0.1:9000"}

func writeReference(out *strings.Builder, t reflect.Type, indent string) {
	fields := fieldsOf(t)
	for _, key := range keysOf(t) {
		f := fields[key]
		fmt.Fprintf(out, "%s# %s\n", indent, keyDescription(f.Tag))
		if enum := f.Tag.Get("enum"); enum != "" {
			fmt.Fprintf(out, "%s# One of %s.\n", indent, alternatives(strings.Split(enum, ",")))
		}
		_, isLeaf := leafOf(f.Type)
		fallback := f.Tag.Get("default")
		switch {
		case isLeaf && fallback != "":
			fmt.Fprintf(out, "%s%s: %s\n", indent, key, yamlText(fallback))
		case isLeaf && f.Tag.Get("required") == "true":
			fmt.Fprintf(out, "%s%s: %s\n", indent, key, examples[key])
		case isLeaf:
			fmt.Fprintf(out, "%s%s:\n", indent, key)
		case f.Type == reflect.TypeFor[[]Service]():
			fmt.Fprintf(out, "%s%s:\n%s-\n", indent, key, indent)
			writeReference(out, f.Type.Elem(), indent+"  ")
		case f.Type.Kind() == reflect.Slice:
			fmt.Fprintf(out, "%s%s: []\n", indent, key)
		case f.Type.Kind() == reflect.Map:
			fmt.Fprintf(out, "%s%s: {}\n", indent, key)
		default:
			fmt.Fprintf(out, "%s%s:\n", indent, key)
			writeReference(out, f.Type, indent+"  ")
		}
	}
}

// yamlText quotes a default that YAML would read as something else.
func yamlText(text string) string {
	if strings.Contains(text, "${") {
		return strconv.Quote(text)
	}
	return text
}
