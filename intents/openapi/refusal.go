package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

const maxExamples = 100 // examples of one operation that are read

// failures has the members of responses that report an error, with the values that do so.
var failures = []struct {
	member string
	values []any
}{
	{"ok", []any{false}},
	{"success", []any{false}},
	{"succeeded", []any{false}},
	{"successful", []any{false}},
	{"error", []any{true}},
	{"failed", []any{true}},
	{"failure", []any{true}},
	{"status", failedStates},
	{"result", failedStates},
	{"state", failedStates},
}

var failedStates = []any{"error", "fail", "failed", "failure"}

// refusalInExamples returns an error_when for services whose documentation has an example of a response with a 2xx status that reports an
// error, such as {"ok": false}. It returns "" if there is no such example.
func (c *call) refusalInExamples() string {
	for _, example := range c.examples() {
		for _, f := range failures {
			v, has := example[f.member]
			if has && slices.ContainsFunc(f.values, func(want any) bool { return sameWord(v, want) }) {
				return fmt.Sprintf("{pointer: /%s, equals: %s}", f.member, scalarOf(v))
			}
		}
	}
	return ""
}

// sameWord compares a value of an example with one of failures. It ignores case.
func sameWord(v, want any) bool {
	text, is := v.(string)
	other, wanted := want.(string)
	if is && wanted {
		return strings.EqualFold(text, other)
	}
	return v == want
}

func scalarOf(v any) string {
	if b, is := v.(bool); is {
		return strconv.FormatBool(b)
	}
	return strconv.Quote(read.Text(v))
}

// examples returns the objects that the document gives as examples of successful JSON responses.
func (c *call) examples() (out []map[string]any) {
	responses, err := c.Follow(c.op.tree["responses"], "responses")
	if err != nil {
		return nil
	}
	add := func(v any) {
		if m := read.Object(v); m != nil && len(out) < maxExamples {
			out = append(out, m)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		r, err := c.Follow(responses[status], "a response")
		if err != nil || len(status) != 3 || status[0] != '2' {
			continue
		}
		content := read.Object(r["content"])
		name, _ := jsonOf(content)
		media := read.Object(content[name])
		add(media["example"])
		named := read.Object(media["examples"])
		for _, key := range slices.Sorted(maps.Keys(named)) {
			if one, err := c.Follow(named[key], "an example"); err == nil {
				add(one["value"])
			}
		}
		c.schemaExamples(media["schema"], add)
	}
	return out
}

// schemaExamples adds the examples in a schema: its own examples, and an object made from the examples of its properties.
func (c *call) schemaExamples(v any, add func(any)) {
	if v == nil {
		return
	}
	schema, err := c.Follow(v, "a response")
	if err != nil {
		return
	}
	add(schema["example"])
	for _, example := range read.List(schema["examples"]) {
		add(example)
	}
	members := map[string]any{}
	properties := read.Object(schema["properties"])
	for _, f := range failures {
		if p, err := c.Follow(properties[f.member], "a property"); err == nil && properties[f.member] != nil && p["example"] != nil {
			members[f.member] = p["example"]
		}
	}
	if len(members) > 0 {
		add(members)
	}
}

// refusals returns the error_when that examples of offered intents suggest, by UID. It also has an entry for each intent that an offered
// one replaces. It omits an error_when that the whole service has.
func (i *Import) refusals(replaced lineage) map[string]string {
	out := map[string]string{}
	for _, in := range i.Intents {
		if in.refusal != "" && !strings.HasPrefix(i.ErrorWhen, in.refusal) {
			out[in.UID.String()] = in.refusal
		}
	}
	for uid, next := range replaced {
		if out[next] != "" {
			out[uid] = out[next]
		}
	}
	return out
}
