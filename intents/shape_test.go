package intents_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/intents"
)

func TestShape(t *testing.T) {
	for _, tt := range []struct{ name, outputs, body, want, fails string }{
		{name: "no outputs: unchanged", outputs: `[]`, body: `[1, {"a": 2}]`, want: `[1, {"a": 2}]`},
		{name: "undeclared members are dropped", outputs: `[{"name": "a", "type": "any"}]`, body: `{"a": 1, "secret": 2}`, want: `{"a": 1}`},
		{name: "from", outputs: `[{"name": "a", "type": "any", "from": "/x/0/y~1z"}]`, body: `{"x": [{"y/z": 5}], "a": 1}`, want: `{"a": 5}`},
		{name: "from the whole response", outputs: `[{"name": "a", "type": "object", "from": ""}]`, body: `{"x": 1}`, want: `{"a": {"x": 1}}`},
		{name: "from not found", outputs: `[{"name": "a", "type": "any", "from": "/x"}]`, body: `{"a": 1}`, want: `{}`},
		{
			name: "required, from not found", outputs: `[{"name": "a", "type": "any", "from": "/x", "required": true}]`, body: `{"a": 1}`,
			fails: "/x",
		},
		{name: "not an object, one output", outputs: `[{"name": "a", "type": "array"}]`, body: `[1, 2]`, want: `{"a": [1, 2]}`},
		{name: "not an object, from", outputs: `[{"name": "a", "type": "any", "from": "/1"}]`, body: `[1, 2]`, want: `{"a": 2}`},
		{name: "not an object, two outputs", outputs: `[{"name": "a", "type": "any"}, {"name": "b", "type": "any"}]`, body: `[1]`, fails: ""},
		{name: "null, two outputs", outputs: `[{"name": "a", "type": "any"}, {"name": "b", "type": "any"}]`, body: `null`, fails: ""},
		{name: "required and absent", outputs: `[{"name": "a", "type": "any", "required": true}]`, body: `{}`, fails: "/a"},
		{name: "optional and absent", outputs: `[{"name": "a", "type": "any"}]`, body: `{}`, want: `{}`},
		{
			name: "string to number", outputs: `[{"name": "a", "type": "number", "required": true}]`, body: `{"a": "1500.50"}`,
			want: `{"a": 1500.50}`,
		},
		{
			name: "string to integer, exactly", outputs: `[{"name": "a", "type": "integer", "required": true}]`,
			body: `{"a": "123456789012345678901"}`, want: `{"a": 123456789012345678901}`,
		},
		{name: "padded string", outputs: `[{"name": "a", "type": "number", "required": true}]`, body: `{"a": " 1 "}`, fails: "/a"},
		{
			name: "leading zeros are not lossless", outputs: `[{"name": "a", "type": "number", "required": true}]`, body: `{"a": "007"}`,
			fails: "/a",
		},
		{name: "hexadecimal", outputs: `[{"name": "a", "type": "number", "required": true}]`, body: `{"a": "0x10"}`, fails: "/a"},
		{name: "huge exponent", outputs: `[{"name": "a", "type": "number", "required": true}]`, body: `{"a": "1e999999999"}`, fails: "/a"},
		{name: "fraction to integer", outputs: `[{"name": "a", "type": "integer", "required": true}]`, body: `{"a": "1.5"}`, fails: "/a"},
		{name: "number to string", outputs: `[{"name": "a", "type": "string", "required": true}]`, body: `{"a": 1.50}`, want: `{"a": "1.50"}`},
		{name: "string to boolean", outputs: `[{"name": "a", "type": "boolean", "required": true}]`, body: `{"a": "true"}`, want: `{"a": true}`},
		{name: "True is not boolean", outputs: `[{"name": "a", "type": "boolean", "required": true}]`, body: `{"a": "True"}`, fails: "/a"},
		{name: "boolean to string", outputs: `[{"name": "a", "type": "string", "required": true}]`, body: `{"a": false}`, want: `{"a": "false"}`},
		{name: "number to boolean", outputs: `[{"name": "a", "type": "boolean", "required": true}]`, body: `{"a": 1}`, fails: "/a"},
		{name: "boolean to number", outputs: `[{"name": "a", "type": "number", "required": true}]`, body: `{"a": true}`, fails: "/a"},
		{name: "array to string", outputs: `[{"name": "a", "type": "string", "required": true}]`, body: `{"a": ["x"]}`, fails: "/a"},
		{
			name: "null stays null", outputs: `[{"name": "a", "type": ["string", "null"], "required": true}]`, body: `{"a": null}`,
			want: `{"a": null}`,
		},
		{name: "inside lists", outputs: `[{"name": "a", "type": "array", "required": true, "items": {"type": "object", "properties": {"p": ` +
			`{"type": "number"}}}}]`, body: `{"a": [{"p": "1", "q": "2"}]}`, want: `{"a": [{"p": 1, "q": "2"}]}`},
		{
			name:    "invalid item in a required output",
			outputs: `[{"name": "a", "type": "array", "required": true, "items": {"type": "number"}, "from": "/x"}]`, body: `{"x": [1, "y"]}`,
			fails: "/x/1",
		},
		{
			name:    "invalid item in an optional output",
			outputs: `[{"name": "a", "type": "array", "items": {"type": "number"}}, {"name": "b", "type": "any"}]`, body: `{"a": [1, "y"], "b": 1}`,
			want: `{"b": 1}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := strict(t, one(`"output_parameters": `+tt.outputs)).Intents()[0]
			body := tree(t, tt.body)
			got, err := shaped(i, body)
			if tt.want == "" {
				bad, ok := errors.AsType[*intents.ResponseError](err)
				if !ok || !errors.Is(err, intents.ErrResponse) || bad.Pointer != tt.fails || got != nil {
					t.Fatalf("%v, %v; want a failure at %q", got, err, tt.fails)
				}
				return
			}
			if diff := cmp.Diff(tree(t, tt.want), got); err != nil || diff != "" {
				t.Errorf("got %v %s; want nil, an empty string", err, diff)
			}
			if !cmp.Equal(body, tree(t, tt.body)) {
				t.Error("the body was changed")
			}
		})
	}
}

func TestFitReportsDroppedOutputs(t *testing.T) {
	i := strict(t, one(`"output_parameters": [{"name": "a", "type": "integer", "from": "/x"}]`)).Intents()[0]
	fitted, err := i.Fit(map[string]any{"x": "many"}, false)
	dropped := fitted.Dropped
	if err != nil || len(fitted.Output.(map[string]any)) != 0 {
		t.Fatalf("got %v %v", fitted.Output, err)
	}
	if len(dropped) != 1 || dropped[0].Pointer != "/x" || dropped[0].Keyword != "type" {
		t.Errorf("got %v; want length 1, [0].Pointer %q and [0].Keyword %q", dropped, "/x", "type")
	}
	if _, err := i.Fit(map[string]any{"x": json.Number("1")}, false); err != nil {
		t.Error(err)
	}
}

// Lenient Fit omits required outputs that are absent or invalid, and reports them. It reports undeclared members separately.
func TestLenientFitReportsMissing(t *testing.T) {
	i := strict(t, one(`"output_parameters": [
		{"name": "a", "type": "integer", "required": true}, {"name": "b", "type": "string", "required": true, "from": "/in~1side/b"},
		{"name": "c", "type": "integer", "required": true}, {"name": "d", "type": "boolean"}]`)).Intents()[0]
	body := tree(t, `{"a":"many","in/side":{"b":"x","e":1},"d":[],"z":1,"y":"secret"}`)
	f, err := i.Fit(body, true)
	want := intents.FitResult{
		Output: map[string]any{"b": "x"}, Undeclared: intents.UndeclaredMembers{Names: []string{"y", "z"}, Count: 2},
		Missing: []intents.MissingOutput{{Name: "a", Message: `must be of type "integer"`}, {Name: "c", Message: "is absent"}},
	}
	if diff := cmp.Diff(want, f, cmpopts.IgnoreFields(intents.FitResult{}, "Dropped")); err != nil || diff != "" || len(f.Dropped) != 1 {
		t.Errorf("got %v %s %v; want nil, an empty string, length 1", err, diff, f.Dropped)
	}
	if _, err := i.Fit(body, false); !errors.Is(err, intents.ErrResponse) {
		t.Errorf("strict: %v, want %v", err, intents.ErrResponse)
	}
	many := map[string]any{strings.Repeat("0", 500): 1}
	for n := range 40 {
		many[strconv.Itoa(1000+n)] = 1
	}
	if f, err := i.Fit(many, true); err != nil || len(f.Undeclared.Names) != intents.MaxUndeclared ||
		f.Undeclared.Count != intents.MaxUndeclared+25 || len(f.Undeclared.Names[0]) != 128 {
		t.Errorf("got %v %v", err, f)
	}
}

// shaped returns the output of a strict Fit.
func shaped(i *intents.Intent, body any) (any, error) {
	fitted, err := i.Fit(body, false)
	return fitted.Output, err
}
