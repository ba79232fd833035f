package openapi

import (
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/media"
	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/problem"
)

const maxOutputs = 200

// answer maps the response of a successful call to outputs: the members of its object, or one output for the whole response.
func (c *call) answer() error {
	var responses map[string]any
	if v := c.op.tree["responses"]; v != nil {
		var err error
		if responses, err = c.Follow(v, "responses"); err != nil {
			return err
		}
	}
	var good []string
	other := false
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		switch {
		case len(status) == 3 && status[0] == '2':
			good = append(good, status)
		case status == "default" || len(status) == 3 && status[0] != '3':
		default:
			other = other || len(status) == 3
		}
	}
	if len(good) == 0 {
		if other {
			return errors.New("it responds with a redirect, which the gateway does not follow for agents")
		}
		return nil // a response that the document does not describe is passed on unchanged
	}
	var schema any
	var kinds []string
	file := false
	found, empty := false, false
	for _, status := range good {
		r, err := c.Follow(responses[status], "a response")
		if err != nil {
			return err
		}
		content := read.Object(r["content"])
		if len(content) == 0 {
			empty = true
			continue
		}
		name, all := jsonOf(content)
		kinds = append(kinds, all...)
		if name != "" && !found {
			schema, found = read.Object(content[name])["schema"], true
			file = c.isBytes(schema)
		}
	}
	switch {
	case file: // the schema describes a file, although the document declares JSON
		return c.content([]string{"*/*"}, !empty && len(good) == 1)
	case found && c.op.method != "HEAD":
		return c.shape(schema, len(good) == 1 && len(kinds) > 0 && (c.op.method == "GET"))
	case len(kinds) > 0 && c.op.method != "HEAD":
		if err := c.content(kinds, !empty && len(good) == 1); err != nil && !empty {
			return err
		}
	}
	return nil
}

// content maps a response that is a file or text to outputs. certain means that every successful response is a file or text.
func (c *call) content(kinds []string, certain bool) error {
	accept, isText, isFile := media.Accept(kinds)
	if len(accept) == 0 {
		return fmt.Errorf("it responds with %s, which the gateway does not pass on", read.Line(strings.Join(kinds, ", "), 150))
	}
	c.accept = strings.Join(accept, ", ")
	words, encoding := "The file, as base64 (RFC 4648).", "base64 if content is encoded as base64; otherwise absent."
	content := map[string]any{"type": "string"}
	switch {
	case isText:
		words = "The text. If it is not UTF-8, it is encoded as base64 (RFC 4648), and content_encoding is base64."
	case isFile:
		content["contentEncoding"] = "base64"
	default:
		words = "The content: text, or base64 (RFC 4648) if content_encoding is base64."
	}
	if len(accept) == 1 && !strings.Contains(c.accept, "*") {
		content["contentMediaType"] = c.accept
	}
	content["description"] = words
	kind := output("content_type", map[string]any{"type": "string", "description": "The media type of the content."})
	c.outputs = []any{
		output("content", content), kind, output("content_encoding", map[string]any{"type": "string", "description": encoding}),
	}
	if certain {
		read.Object(c.outputs[0])["required"], kind["required"] = true, true
	}
	return nil
}

// jsonOf returns the first media type that is JSON, or a range that includes JSON, and the names of all media types. name is empty if there
// is none.
func jsonOf(content map[string]any) (name string, all []string) {
	for _, offered := range slices.Sorted(maps.Keys(content)) {
		all = append(all, offered)
		kind, _, err := mime.ParseMediaType(offered)
		if err == nil && name == "" &&
			(kind == media.JSON || strings.HasSuffix(kind, "+json") || kind == "*/*" || kind == "application/*" || kind == "text/json") {
			name = offered
		}
	}
	return name, all
}

// shape maps a JSON response to outputs. The outputs have types but no limits, because agents would not receive a value beyond a limit. An
// output is required only if the document always requires it, and certain is true.
func (c *call) shape(raw any, certain bool) error {
	if raw == nil {
		return nil
	}
	schema, err := readSchema(c.Document, raw, true, func(string) {})
	if err != nil {
		return err
	}
	properties := read.Object(schema["properties"])
	combined := schema["anyOf"] != nil || schema["oneOf"] != nil || schema["additionalProperties"] != nil
	if len(properties) == 0 || len(properties) > maxOutputs || combined || schema["type"] != nil && schema["type"] != "object" {
		if len(schema) == 0 {
			return nil
		}
		out := output("result", schema)
		out["from"] = ""
		c.outputs = []any{out}
		return nil
	}
	needed := c.alwaysPresent(raw)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !nameable(name) {
			continue
		}
		out := output(name, read.Object(properties[name]))
		if sub := read.Object(properties[name]); certain && needed[name] && sub["type"] != nil && !isNull(sub) {
			out["required"] = true
		}
		c.outputs = append(c.outputs, out)
	}
	return nil
}

func output(name string, schema map[string]any) map[string]any {
	out := maps.Clone(schema)
	if out == nil {
		out = map[string]any{}
	}
	out["name"] = name
	return typed(out, "type", "anyOf", "$ref", "allOf")
}

// refusals looks for a member of the responses that reports whether the call succeeded, because some services refuse calls with status 200.
// If all operations have such a member, or at least three of them and half of all, it sets ErrorWhen.
func (w *work) refusals() {
	const least = 3           // operations with the member
	count := map[string]int{} // operations, by the name of a boolean output
	for _, in := range w.out.Intents {
		for _, v := range read.List(in.Tree["output_parameters"]) {
			if p := read.Object(v); p["type"] == "boolean" {
				count[read.Text(p["name"])]++
			}
		}
	}
	for _, name := range []string{"ok", "success"} {
		if n := count[name]; n > 0 && n == len(w.out.Intents) || n >= least && 2*n >= len(w.out.Intents) {
			w.out.ErrorWhen = "{pointer: /" + name + ", equals: false} # " + problem.Counted(n, "operation") + " return this member"
			return
		}
	}
}

// alwaysPresent returns the members that an object schema requires, through its references and allOf.
func (c *call) alwaysPresent(v any) map[string]bool {
	out := map[string]bool{}
	c.collectRequired(v, out, 0)
	return out
}

func (c *call) collectRequired(v any, out map[string]bool, depth int) {
	m, err := c.Follow(v, "a response")
	if err != nil || depth > read.MaxHops {
		return
	}
	for _, name := range read.List(m["required"]) {
		out[read.Text(name)] = true
	}
	for _, part := range read.List(m["allOf"]) {
		c.collectRequired(part, out, depth+1)
	}
}
