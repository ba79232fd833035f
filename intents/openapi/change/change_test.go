package change_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/openapi/change"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestBreaking(t *testing.T) {
	inputs := func(list string) string { return `{"input_parameters": [` + list + `]}` }
	outputs := func(list string) string { return `{"output_parameters": [` + list + `]}` }
	for name, tt := range map[string]struct{ old, next, want string }{
		"new required":     {inputs(``), inputs(`{"name": "a", "type": "string", "required": true}`), `the new parameter "a" is required`},
		"new with default": {inputs(``), inputs(`{"name": "a", "type": "string", "required": true, "default": "x"}`), ""},
		"new optional":     {inputs(``), inputs(`{"name": "a", "type": "string"}`), ""},
		"now required":     {inputs(`{"name": "a"}`), inputs(`{"name": "a", "required": true}`), `the parameter "a" is now required`},
		"now optional":     {inputs(`{"name": "a", "required": true}`), inputs(`{"name": "a"}`), ""},
		"renamed": {
			inputs(`{"name": "a", "type": "string", "description": "x", "required": true}`), inputs(`{"name": "b", "type": "string", "required": true}`),
			`the parameter "a" is renamed to "b"`,
		},
		"gone": {inputs(`{"name": "a"}, {"name": "b"}`), inputs(`{"name": "b"}`), `the parameter "a" is gone`},
		"a lower maximum": {
			inputs(`{"name": "a", "type": "integer", "maximum": 10}`), inputs(`{"name": "a", "type": "integer", "maximum": 9.5}`),
			`the parameter "a" has maximum 19/2 instead of 10`,
		},
		"a higher maximum": {inputs(`{"name": "a", "maximum": 10}`), inputs(`{"name": "a", "maximum": 11}`), ""},
		"a new limit":      {inputs(`{"name": "a"}`), inputs(`{"name": "a", "maxLength": 5}`), `the parameter "a" has the new limit maxLength 5`},
		"no more limit":    {inputs(`{"name": "a", "maxLength": 5}`), inputs(`{"name": "a"}`), ""},
		"an empty limit":   {inputs(`{"name": "a"}`), inputs(`{"name": "a", "minLength": 0}`), ""},
		"a new minimum":    {inputs(`{"name": "a"}`), inputs(`{"name": "a", "minimum": 0}`), `the parameter "a" has the new limit minimum 0`},
		"another type":     {inputs(`{"name": "a", "type": "number"}`), inputs(`{"name": "a", "type": "integer"}`), `the parameter "a" has the type integer instead of number`},
		"a wider type":     {inputs(`{"name": "a", "type": "integer"}`), inputs(`{"name": "a", "type": "number"}`), ""},
		"fewer values":     {inputs(`{"name": "a", "enum": ["x", "y"]}`), inputs(`{"name": "a", "enum": ["y", "z"]}`), `the parameter "a" no longer permits the value "x"`},
		"a pattern":        {inputs(`{"name": "a"}`), inputs(`{"name": "a", "pattern": "x"}`), `the parameter "a" has another "pattern"`},
		"inside": {
			inputs(`{"name": "a", "type": "array", "items": {"type": "object", "properties": {"b": {"maxLength": 5}}}}`),
			inputs(`{"name": "a", "type": "array", "items": {"type": "object", "properties": {"b": {"maxLength": 4}}, "required": ["b"]}}`),
			`the member "b" of the items of the parameter "a" has maxLength 4 instead of 5; the items of the parameter "a": the member "b" is now required`,
		},
		"a map": {`{"input_parameters": {"a": {"type": "string"}}}`, inputs(`{"name": "a", "type": "string", "description": "new"}`), ""},

		"an output gone":       {outputs(`{"name": "a"}, {"name": "b"}`), outputs(`{"name": "b"}`), `the output "a" is gone`},
		"an optional output":   {outputs(`{"name": "a", "required": true}`), outputs(`{"name": "a"}`), `the output "a" is no longer always present`},
		"an output's type":     {outputs(`{"name": "a", "type": "integer"}`), outputs(`{"name": "a", "type": "string"}`), `the output "a" has the type string instead of integer`},
		"a narrower output":    {outputs(`{"name": "a", "type": "number"}`), outputs(`{"name": "a", "type": "integer"}`), ""},
		"a new output":         {outputs(`{"name": "a"}`), outputs(`{"name": "a"}, {"name": "b", "required": true}`), ""},
		"undescribed":          {outputs(`{"name": "a"}`), `{}`, ""},
		"description and path": {`{"description": "a", "endpoint": {"url": "https://x/a"}}`, `{"description": "b", "endpoint": {"url": "https://x/b"}}`, ""},
	} {
		old, err := strictjson.DecodeObject([]byte(tt.old))
		if err != nil {
			t.Fatal(err)
		}
		next, err := strictjson.DecodeObject([]byte(tt.next))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(change.Breaking(old, next), "; "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if got := change.Breaking(next, next); len(got) > 0 {
			t.Errorf("%s: the same intent: %q, want no reasons", name, got)
		}
	}
}

func TestReasonsAreBounded(t *testing.T) {
	old := map[string]any{}
	for i := range 100 {
		old[fmt.Sprintf("p%d", i)] = map[string]any{"type": "string"}
	}
	got := change.Breaking(map[string]any{"input_parameters": old}, map[string]any{})
	if len(got) != 20 || got[19] != "and 81 more" {
		t.Errorf("%d reasons, the last %q, want 20 and %q", len(got), got[len(got)-1], "and 81 more")
	}
}
