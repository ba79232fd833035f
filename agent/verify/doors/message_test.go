package doors

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
)

// A reply is either the response to the message that was sent, or odd for a stated cause.
func TestReadReply(t *testing.T) {
	t.Parallel()
	const kind, stream = "application/json", "text/event-stream; charset=utf-8"
	for name, tt := range map[string]struct {
		kind, body string
		want       string // result, failure, or the cause
	}{
		"a result":                {kind, `{"jsonrpc": "2.0", "id": "1", "result": {}}`, "result"},
		"an error":                {kind, `{"jsonrpc": "2.0", "id": "1", "error": {"code": -32601, "message": "No."}}`, "failure"},
		"an error with a null id": {kind, `{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "No."}}`, "failure"},
		"a result without an id":  {kind, `{"jsonrpc": "2.0", "id": null, "result": {}}`, "its id is not the one that was sent"},
		"another id":              {kind, `{"jsonrpc": "2.0", "id": "2", "result": {}}`, "its id is not the one that was sent"},
		"a numeric id":            {kind, `{"jsonrpc": "2.0", "id": 1, "result": {}}`, "its id is not the one that was sent"},
		"both":                    {kind, `{"jsonrpc": "2.0", "id": "1", "result": {}, "error": {}}`, "it does not have either result or error"},
		"neither":                 {kind, `{"jsonrpc": "2.0", "id": "1"}`, "it does not have either result or error"},
		"a result that is text":   {kind, `{"jsonrpc": "2.0", "id": "1", "result": "x"}`, "its result or error is not an object"},
		"a result that is null":   {kind, `{"jsonrpc": "2.0", "id": "1", "result": null}`, "its result or error is not an object"},
		"an error that is text":   {kind, `{"jsonrpc": "2.0", "id": "1", "error": "x"}`, "its result or error is not an object"},
		"an error without a code": {kind, `{"jsonrpc": "2.0", "id": "1", "error": {"message": "x"}}`, "its error does not have a code and a message"},
		"a fractional code": {
			kind, `{"jsonrpc": "2.0", "id": "1", "error": {"code": 1.5, "message": "x"}}`,
			"its error does not have a code and a message",
		},
		"another version":    {kind, `{"id": "1", "result": {}}`, "it is not a JSON-RPC 2.0 message"},
		"a list":             {kind, `[{"jsonrpc": "2.0", "id": "1", "result": {}}]`, "it is not a JSON object"},
		"a duplicate member": {kind, `{"jsonrpc": "2.0", "id": "1", "result": {}, "result": {}}`, "it is not a JSON object"},
		"deep":               {kind, strings.Repeat(`{"a":`, 100_000), "it is not a JSON object"},
		"empty":              {kind, ``, "it is not a JSON object"},
		"a page":             {"text/html", `<html>`, "it is text/html, not JSON"},
		"no content type":    {"", `{}`, "it has no media type"},
		"a stream": {
			stream,
			": hello\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"1\",\"result\":{}}\n\n",
			"result",
		},
		"a stream of carriage returns": {stream, "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\r\r", "result"},
		"a stream without the answer": {
			stream, "data: {\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":{}}\n\n",
			"its id is not the one that was sent",
		},
		"an empty stream": {stream, "\n\n\n", "no event of the stream is the response"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reply{Answer: fetch.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {tt.kind}}, Body: []byte(tt.body)}}
			r.read("1")
			got := r.odd
			if r.odd == "" && r.result != nil {
				got = "result"
			} else if r.odd == "" && r.failed != nil {
				got = "failure"
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if f := r.answered(); f.Ok() != (tt.want == "result") {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func TestRateLimitStates(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]map[string]limitState{
		``:                                  {},
		`"hour";r=9;t=30, "second";r=1;t=1`: {"hour": {9, 30 * time.Second}, "second": {1, time.Second}},
		`"hour";r=9`:                        {}, // without t
		`"hour";r=x;t=1`:                    {},
		`"hour";r=1;t=-1`:                   {},
		`(1 2);r=1;t=1`:                     {},
		`7;r=1;t=1`:                         {},
		`"hour`:                             {},
		strings.Repeat(`"hour";r=9;t=30, `, 1000) + `"hour";r=9;t=30`: {},
	} {
		got := standings(http.Header{"Ratelimit": {field}})
		if len(got) != len(want) {
			t.Errorf("%.60q: got %v, want %v", field, got, want)
		}
		for name, s := range want {
			if got[name] != s {
				t.Errorf("%.60q: got %v, want %v", field, got[name], s)
			}
		}
	}
}

func TestSchemaFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schema any
		good   bool
	}{
		"an object":            {map[string]any{"type": "object"}, true},
		"a local reference":    {map[string]any{"type": "object", "$ref": "#/$defs/a", "$defs": map[string]any{"a": true}}, true},
		"a circular reference": {map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"$ref": "#"}}}, true},
		"none":                 {nil, false},
		"text":                 {"object", false},
		"a list":               {map[string]any{"type": "array"}, false},
		"unknown type":         {map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "thing"}}}, false},
		"a file":               {map[string]any{"type": "object", "$ref": "file:///etc/passwd"}, false},
		"an address":           {map[string]any{"type": "object", "$ref": "http://127.0.0.1:9/schema"}, false},
		"dangling reference":   {map[string]any{"type": "object", "$ref": "#/$defs/none"}, false},
	} {
		if what := schemaFault(tt.schema); (what == "") != tt.good {
			t.Errorf("%s: %q", name, what)
		}
	}
}
