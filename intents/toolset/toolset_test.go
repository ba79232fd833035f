package toolset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// catalogue is a Source of one agents.json.
type catalogue struct{ *intents.Catalog }

func (c catalogue) Find(q intents.Query) (found []toolset.Entry, total int) {
	page := c.Search(q)
	for _, in := range page.Intents {
		found = append(found, toolset.Entry{ID: in.UID.String(), Intent: in, Terms: "free"})
	}
	return found, page.TotalResults
}

func (c catalogue) Lookup(id string) (toolset.Entry, string, bool) {
	uid, err := intents.ParseUID(id)
	if err != nil {
		return toolset.Entry{}, "", false
	}
	in, ok := c.Catalog.Lookup(uid)
	return toolset.Entry{ID: id, Intent: in, Terms: "free"}, "shop.example:order:v1", ok
}

// withInputs returns the signature of an intent with these input parameters.
func withInputs(t *testing.T, inputs, more string) string {
	t.Helper()
	c, problems := intents.Parse([]byte(`{"intents": [{"intent_uid": "shop.example:order:v1", "intent_name": "Order", "description": "Order goods.",
		"input_parameters": [`+inputs+`]`+more+`}]}`), intents.Options{})
	if c == nil {
		t.Fatal(problems)
	}
	out, err := toolset.Signatures(catalogue{c}, strictjson.Object{"uids": []any{"shop.example:order:v1"}})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func TestTypesOfParameters(t *testing.T) {
	for schema, want := range map[string]string{
		`"type": "string"`:                                              "p?: string\n",
		`"type": "string", "required": true`:                            "p: string\n",
		`"type": "integer"`:                                             "p?: number // whole number\n",
		`"type": "boolean", "default": true`:                            "p?: boolean // default true\n",
		`"type": "array", "items": {"type": "string"}`:                  "p?: string[]\n",
		`"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3`: `p?: ("a" | "b")[] // at most 3 items` + "\n",
		`"type": ["string", "null"]`:                                    "p?: string | null\n",
		`"enum": ["a", 1, null]`:                                        `p?: "a" | 1 | null` + "\n",
		`"const": "a"`:                                                  `p?: "a"` + "\n",
		`"anyOf": [{"type": "string"}, {"type": "number"}]`:             "p?: string | number\n",
		`"type": "object"`:                                              "p?: object\n",
		`"type": "object", "additionalProperties": {"type": "number"}`:  "p?: Record<string, number>\n",
		`"type": "object", "properties": {"a": {"type": "string"}, "b-c": {}}, "required": ["b-c"]`:              `p?: {"b-c": unknown, a?: string}` + "\n",
		`"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}`: "p?: {next?: {next?: {next?: {next?: object}}}}\n",
		`"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a+$"`:                                    "p?: string // 1 to 9 characters; pattern ^a+$\n",
		`"type": "string", "format": "date", "description": "When\nit is"`:                                       "p?: string // format date; When it is\n",
	} {
		t.Run(schema, func(t *testing.T) {
			text := withInputs(t, `{"name": "p", `+schema+`}`, "")
			if !strings.Contains(text, "  "+want) {
				t.Errorf("got %s, want it to contain %s", text, want)
			}
		})
	}
}

// TestSignatureOfALargeIntent checks that the details give way before the required parameters do.
func TestSignatureOfALargeIntent(t *testing.T) {
	var inputs []string
	for i := range 100 {
		inputs = append(inputs, fmt.Sprintf(`{"name": "optional_%d", "type": "string", "description": %q}`, i, strings.Repeat("words ", 50)))
	}
	inputs = append(inputs, `{"name": "needed", "type": "string", "required": true, "constraints": {"enum": ["a", "b"]}}`)
	text := withInputs(t, strings.Join(inputs, ","), `, "output_parameters": [{"name": "id", "type": "string", "required": true}]`)
	for _, part := range []string{`needed: "a" | "b"`, "// optional: optional_0, ", "…", "=> {id}", `Example parameters: {"needed":"a"}`, "Terms: free."} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing from %s", part, text)
		}
	}
	if len(text) > 1400 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestTextOfOperatorsIsShownInOneLine(t *testing.T) {
	text := withInputs(t, `{"name": "a\u202eb", "type": "string", "description": "one\u202e\r\n\u0007two"}`, "")
	if strings.ContainsAny(text, "\u202e\u0007\r") || !strings.Contains(text, "onetwo") && !strings.Contains(text, "one two") {
		t.Errorf("got %q", text)
	}
}

func TestInvalidArguments(t *testing.T) {
	c, _ := intents.Parse([]byte(`{"intents": []}`), intents.Options{})
	for name, row := range map[string]struct {
		tool      string
		arguments string
	}{
		"query is a number":     {toolset.Search, `{"query": 1}`},
		"long query":            {toolset.Search, `{"query": "` + strings.Repeat("x", 501) + `"}`},
		"tags is a string":      {toolset.Search, `{"tags": "a"}`},
		"too many tags":         {toolset.Search, `{"tags": ["1","2","3","4","5","6","7","8","9","10","11"]}`},
		"limit of 0":            {toolset.Search, `{"limit": 0}`},
		"limit of 21":           {toolset.Search, `{"limit": 21}`},
		"limit is not whole":    {toolset.Search, `{"limit": 1.5}`},
		"limit is a string":     {toolset.Search, `{"limit": "1"}`},
		"unknown argument":      {toolset.Search, `{"page": 1}`},
		"no uids":               {toolset.Describe, `{}`},
		"empty uids":            {toolset.Describe, `{"uids": []}`},
		"uids of a number":      {toolset.Describe, `{"uids": [1]}`},
		"eleven uids":           {toolset.Describe, `{"uids": ["1","2","3","4","5","6","7","8","9","10","11"]}`},
		"no uid":                {toolset.Call, `{"parameters": {}}`},
		"uid is a number":       {toolset.Call, `{"uid": 1}`},
		"parameters are a list": {toolset.Call, `{"uid": "a", "parameters": []}`},
		"arguments beside":      {toolset.Call, `{"uid": "a", "query": "x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			arguments, err := strictjson.DecodeObject([]byte(row.arguments))
			if err != nil {
				t.Fatal(err)
			}
			switch row.tool {
			case toolset.Search:
				_, err = toolset.Find(catalogue{c}, arguments)
			case toolset.Describe:
				_, err = toolset.Signatures(catalogue{c}, arguments)
			case toolset.Call:
				_, _, err = toolset.ParseCall(arguments)
			}
			if _, ok := errors.AsType[*toolset.ArgumentError](err); !ok {
				t.Errorf("got %v, want an ArgumentError", err)
			}
		})
	}
}

func TestChoices(t *testing.T) {
	for _, text := range []string{"some", "tag:", "tag:a,b", "all,search", "tag:1,tag:2,tag:3,tag:4,tag:5,tag:6,tag:7,tag:8,tag:9,tag:10,tag:11"} {
		if c, err := toolset.ParseChoice(text); !errors.Is(err, toolset.ErrChoice) {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
}
