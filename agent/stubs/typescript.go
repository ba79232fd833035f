package stubs

import (
	"encoding/json"
	"fmt"
	"strings"
)

// typeScript returns a module that uses the npm package uimgate.
func (f file) typeScript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Typed calls to the intents of %s, written by uimgate types --ts. Write it again when the service changes.\n\n", f.issuer)
	b.WriteString("import type { ExecuteOptions, JsonObject, Result, UimClient } from \"uimgate\";\n\n")
	b.WriteString("/** A result whose output has a type. The service promises the type; nothing checks it. */\n" +
		"export type Typed<T> = Omit<Result, \"output\"> & { readonly output: T };\n")
	for _, c := range f.calls {
		fmt.Fprintf(&b, "\nexport type %s = %s;\n", c.parameters, scriptType(c.input, ""))
		fmt.Fprintf(&b, "\nexport type %s = %s;\n", c.result, scriptType(c.output, ""))
	}
	fmt.Fprintf(&b, "\n/** The intents of %s. */\nexport class %s {\n  constructor(private readonly client: UimClient) {}\n", f.issuer, f.class)
	for _, c := range f.calls {
		about := c.about
		if about == "" {
			about = c.uid
		}
		parameters := "parameters: " + c.parameters
		if c.optional() {
			parameters += " = {}"
		}
		fmt.Fprintf(&b, "\n  /** %s */\n  %s(%s, options?: ExecuteOptions): Promise<Typed<%s>> {\n", about, camel(c.name), parameters, c.result)
		fmt.Fprintf(&b, "    return this.client.execute(%s, parameters as JsonObject, options) as Promise<Typed<%s>>;\n  }\n", quoted(c.uid), c.result)
	}
	b.WriteString("}\n")
	return b.String()
}

func camel(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// quoted returns a string literal that consists of ASCII characters.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return ascii(string(out))
}

// ascii escapes the characters of a JSON text that are not ASCII.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func scriptType(t typ, indent string) string {
	switch t.kind {
	case kindText:
		return "string"
	case kindNumber, kindInteger:
		return "number"
	case kindBoolean:
		return "boolean"
	case kindNull:
		return "null"
	case kindConstant:
		text, err := json.Marshal(t.constant)
		if err != nil {
			return "unknown"
		}
		return ascii(string(text))
	case kindList:
		return "Array<" + scriptType(t.elements[0], indent) + ">"
	case kindMap:
		return "{ [name: string]: " + scriptType(t.elements[0], indent) + " }"
	case kindUnion:
		all := make([]string, 0, len(t.elements))
		for _, one := range t.elements {
			all = append(all, scriptType(one, indent))
		}
		return strings.Join(all, " | ")
	case kindRecord:
		return scriptRecord(t, indent)
	case kindAny:
	}
	return "unknown"
}

func scriptRecord(t typ, indent string) string {
	if len(t.members) == 0 && !t.open {
		return "Record<string, never>"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, m := range t.members {
		if m.about != "" {
			fmt.Fprintf(&b, "%s  /** %s */\n", indent, m.about)
		}
		mark := "?"
		if m.required {
			mark = ""
		}
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, quoted(m.name), mark, scriptType(m.typ, indent+"  "))
	}
	return b.String() + indent + "}"
}
