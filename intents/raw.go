package intents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A member is one member of an object, with its offsets in the JSON text that was split.
type member struct {
	name     string
	start    int // offset of the name
	from, to int // offsets of the value
	value    []byte
}

var errShape = errors.New("not an object")

// members splits an object into its members.
func members(data []byte) ([]member, error) { return split(data, "{") }

// split splits an object into its members, or an array into its elements, which are members without a name. The first character must be
// one of opening. split accepts duplicate names and invalid UTF-8, because package strictjson also checks the same text.
func split(data []byte, opening string) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	kind := dec.PeekKind()
	if !strings.ContainsRune(opening, rune(kind)) {
		return nil, errShape
	}
	_, err := dec.ReadToken()
	var out []member
	for k := dec.PeekKind(); err == nil && k != '}' && k != ']' && k != 0; k = dec.PeekKind() {
		m := member{}
		if m.value, err = dec.ReadValue(); err != nil {
			break
		}
		m.start = int(dec.InputOffset()) - len(m.value)
		if kind == '{' {
			var name any
			if name, err = strictjson.Decode(m.value); err != nil {
				break
			}
			m.name, _ = name.(string)
			if m.value, err = dec.ReadValue(); err != nil {
				break
			}
		}
		m.to = int(dec.InputOffset())
		m.from = m.to - len(m.value)
		m.value = data[m.from:m.to:m.to]
		out = append(out, m)
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	if err != nil {
		return nil, fmt.Errorf("splitting JSON: %w", err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errShape
	}
	return out, nil
}

// parameterOrder returns the names of input_parameters and of output_parameters in the order of the document, if they are written as a map.
func parameterOrder(raw []byte) map[string][]string {
	out := map[string][]string{}
	all, err := members(raw)
	if err != nil {
		return out
	}
	for _, m := range all {
		if (m.name != "input_parameters" && m.name != "output_parameters") || len(m.value) == 0 || m.value[0] != '{' {
			continue
		}
		inner, err := members(m.value)
		if err != nil {
			continue
		}
		for _, p := range inner {
			out[m.name] = append(out[m.name], p.name)
		}
	}
	return out
}

// An edit replaces the bytes between two offsets with others.
type edit struct {
	from, to int
	with     []byte
}

// apply applies edits, which must be in order and must not overlap. It returns data itself if there are none.
func apply(data []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return data
	}
	out := make([]byte, 0, len(data))
	at := 0
	for _, e := range edits {
		out = append(append(out, data[at:e.from]...), e.with...)
		at = e.to
	}
	return append(out, data[at:]...)
}

// withoutSources removes the from members of an intent's output parameters. It leaves all other bytes unchanged.
func withoutSources(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`from"`)) && !bytes.Contains(raw, []byte(`\`)) {
		return raw // the name occurs nowhere, with or without escapes
	}
	all, err := members(raw)
	if err != nil {
		return raw
	}
	var edits []edit
	for _, m := range all {
		if m.name == "output_parameters" {
			outputs, _ := split(m.value, "{[")
			for _, p := range outputs {
				edits = append(edits, cut(p.value, m.from+p.from, "from")...)
			}
		}
	}
	return apply(raw, edits)
}

// cut returns the edit that removes the member with this name from an object, together with a comma. It returns nil if there is no such
// member. base is the offset of the object.
func cut(object []byte, base int, name string) []edit {
	all, err := members(object)
	if err != nil {
		return nil
	}
	for i, m := range all {
		switch {
		case m.name != name:
		case i+1 < len(all):
			return []edit{{from: base + m.start, to: base + all[i+1].start}}
		case i > 0:
			return []edit{{from: base + all[i-1].to, to: base + m.to}}
		default:
			return []edit{{from: base + m.start, to: base + m.to}}
		}
	}
	return nil
}

// withoutInputs removes the inputs with these names from the text of an intent. Unless endpoint is true, it also removes the endpoint. If
// only the method of the removed endpoint shows that the intent is safe, "safe": true replaces the endpoint.
func withoutInputs(raw []byte, names []string, endpoint, safe bool) []byte {
	all, err := members(raw)
	if err != nil {
		return raw
	}
	stated := slices.ContainsFunc(all, func(m member) bool { return m.name == "safe" })
	var edits []edit
	for _, m := range all {
		switch {
		case m.name == "input_parameters":
			edits = append(edits, edit{from: m.from, to: m.to, with: inputsWithout(m.value, names)})
		case m.name == "endpoint" && !endpoint && safe && !stated:
			edits = append(edits, edit{from: m.start, to: m.to, with: []byte(`"safe": true`)})
		case m.name == "endpoint" && !endpoint:
			edits = append(edits, cut(raw, 0, m.name)...)
		}
	}
	return apply(raw, edits)
}

// withEndpoint replaces the endpoint in the text of an intent with a POST to a URL. If only the method of the replaced endpoint shows that
// the intent is safe, it adds "safe": true.
func withEndpoint(raw []byte, address string, safe bool) []byte {
	all, err := members(raw)
	if err != nil {
		return raw
	}
	with, err := jsontext.AppendQuote([]byte(`{"url": `), address)
	if err != nil {
		return raw
	}
	with = append(with, `, "method": "POST", "content_type": "application/json"}`...)
	if safe && !slices.ContainsFunc(all, func(m member) bool { return m.name == "safe" }) {
		with = append(with, `, "safe": true`...)
	}
	for _, m := range all {
		if m.name == "endpoint" {
			return apply(raw, []edit{{from: m.from, to: m.to, with: with}})
		}
	}
	return raw
}

// inputsWithout removes the parameters with these names from a list or a map of parameters.
func inputsWithout(inputs []byte, names []string) []byte {
	all, err := split(inputs, "{[")
	if err != nil {
		return inputs
	}
	var kept [][]byte
	for _, m := range all {
		if one, err := strictjson.DecodeObject(m.value); err == nil && inputs[0] == '[' {
			m.name = one.Text("name")
		}
		if !slices.Contains(names, m.name) {
			kept = append(kept, inputs[m.start:m.to])
		}
	}
	return slices.Concat(inputs[:1], bytes.Join(kept, []byte(", ")), inputs[len(inputs)-1:])
}
