package stubs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A pythonWriter collects the classes for types of records.
type pythonWriter struct {
	names   identifiers
	classes strings.Builder
}

// python returns a module that uses the Python package uimgate.
func (f file) python(names identifiers) string {
	w := &pythonWriter{names: names}
	var calls strings.Builder
	for _, async := range []bool{false, true} {
		f.pythonClass(&calls, async)
	}
	for _, c := range f.calls {
		w.named(c.parameters, c.input)
		w.named(c.result, c.output)
	}
	return fmt.Sprintf(`"""Typed calls to the intents of %s, written by uimgate types --py. Write it again when the service changes.

The service promises the types of outputs; nothing checks them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, TypedDict, Union

from uimgate import AsyncUimClient, Result, UimClient

if TYPE_CHECKING:
    from typing_extensions import NotRequired
%s%s`, f.issuer, w.classes.String(), calls.String())
}

// pythonClass writes the class with the calls.
func (f file) pythonClass(b *strings.Builder, async bool) {
	class, client, def, await := f.class, "UimClient", "def", ""
	if async {
		class, client, def, await = "Async"+f.class, "AsyncUimClient", "async def", "await "
	}
	fmt.Fprintf(b, "\n\nclass %s:\n    \"\"\"The intents of %s.\"\"\"\n\n", class, f.issuer)
	fmt.Fprintf(b, "    def __init__(self, client: %s) -> None:\n        self._client = client\n", client)
	for _, c := range f.calls {
		parameters := "parameters: " + c.parameters
		if c.optional() {
			parameters += " | None = None"
		}
		about := c.about
		if about == "" {
			about = c.uid
		}
		fmt.Fprintf(b, "\n    %s %s(self, %s, **options: Any) -> Result[%s]:\n        \"\"\"%s\"\"\"\n", def, snake(c.name), parameters, c.result, about)
		sent := "dict(parameters)"
		if c.optional() {
			sent = "dict(parameters or {})"
		}
		fmt.Fprintf(b, "        return %sself._client.execute(%s, %s, **options)\n", await, strconv.QuoteToASCII(c.uid), sent)
	}
}

func snake(name string) string {
	out := strings.ToLower(strings.Join(words(name), "_"))
	if slices.Contains(keywords, out) {
		out += "_"
	}
	return out
}

// named writes a type definition with a name.
func (w *pythonWriter) named(name string, t typ) {
	if t.kind == kindRecord {
		w.record(name, t)
		return
	}
	text := w.typ(name, t) // the classes that the type needs come first
	fmt.Fprintf(&w.classes, "\n%s = %s\n", name, text)
}

func (w *pythonWriter) typ(name string, t typ) string {
	switch t.kind {
	case kindText:
		return "str"
	case kindNumber:
		return "float"
	case kindInteger:
		return "int"
	case kindBoolean:
		return "bool"
	case kindNull:
		return "None"
	case kindConstant:
		return pythonConstant(t.constant)
	case kindList:
		return "List[" + w.typ(name+"Item", t.elements[0]) + "]"
	case kindMap:
		return "Dict[str, " + w.typ(name+"Value", t.elements[0]) + "]"
	case kindUnion:
		all := make([]string, 0, len(t.elements))
		for n, one := range t.elements {
			all = append(all, w.typ(name+strconv.Itoa(n+1), one))
		}
		return "Union[" + strings.Join(all, ", ") + "]"
	case kindRecord:
		class := w.names.take(name)
		w.record(class, t)
		return class
	case kindAny:
	}
	return "Any"
}

func pythonConstant(v any) string {
	switch v := v.(type) {
	case string:
		return "Literal[" + strconv.QuoteToASCII(v) + "]"
	case bool:
		if v {
			return "Literal[True]"
		}
		return "Literal[False]"
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return "Literal[" + strconv.FormatInt(n, 10) + "]"
		}
		return "float"
	}
	return "Any"
}

var pythonName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// keywords are the words that cannot be names in Python 3.
var keywords = strings.Fields("False None True and as assert async await break class continue def del elif else except finally for from " +
	"global if import in is lambda nonlocal not or pass raise return try while with yield")

// record writes a TypedDict. If a name is not a valid identifier in Python, it writes the TypedDict as a call with the types as strings.
func (w *pythonWriter) record(class string, t typ) {
	types := make([]string, len(t.members))
	plain := true
	for i, m := range t.members {
		types[i] = w.typ(class+pascal(m.name), m.typ)
		if !m.required {
			types[i] = "NotRequired[" + types[i] + "]"
		}
		plain = plain && pythonName.MatchString(m.name) && !slices.Contains(keywords, m.name)
	}
	b := &w.classes
	if !plain {
		fmt.Fprintf(b, "\n%s = TypedDict(\n    %q,\n    {\n", class, class)
		for i, m := range t.members {
			fmt.Fprintf(b, "        %s: %s,\n", strconv.QuoteToASCII(m.name), strconv.QuoteToASCII(types[i]))
		}
		b.WriteString("    },\n)\n")
		return
	}
	fmt.Fprintf(b, "\n\nclass %s(TypedDict):\n", class)
	if len(t.members) == 0 {
		b.WriteString("    pass\n")
	}
	for i, m := range t.members {
		if m.about != "" {
			fmt.Fprintf(b, "    # %s\n", m.about)
		}
		fmt.Fprintf(b, "    %s: %s\n", m.name, types[i])
	}
}
