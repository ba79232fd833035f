package upstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/store"
)

// A response with status 200 that matches error_when is a rejection.
func TestErrorWhen(t *testing.T) {
	for name, tt := range map[string]struct {
		body    string
		when    config.ErrorWhen
		refused bool
	}{
		"none":                             {`{"ok":false}`, config.ErrorWhen{}, false},
		"ok is false":                      {`{"ok":false}`, config.ErrorWhen{Pointer: "/ok", Equals: value(false)}, true},
		"ok is true":                       {`{"ok":true}`, config.ErrorWhen{Pointer: "/ok", Equals: value(false)}, false},
		"ok is missing":                    {`{}`, config.ErrorWhen{Pointer: "/ok", Equals: value(false)}, false},
		"ok is a text":                     {`{"ok":"false"}`, config.ErrorWhen{Pointer: "/ok", Equals: value(false)}, false},
		"ok is null":                       {`{"ok":null}`, config.ErrorWhen{Pointer: "/ok", Equals: value(false)}, false},
		"a number in another notation":     {`{"code":1e1}`, config.ErrorWhen{Pointer: "/code", Equals: value(json.Number("10"))}, true},
		"a number, very long":              {`{"code":10000000000000000001}`, config.ErrorWhen{Pointer: "/code", Equals: value(json.Number("10000000000000000001"))}, true},
		"another number, very long":        {`{"code":10000000000000000002}`, config.ErrorWhen{Pointer: "/code", Equals: value(json.Number("10000000000000000001"))}, false},
		"a tree":                           {`{"s":{"b":[1],"a":2}}`, config.ErrorWhen{Pointer: "/s", Equals: value(map[string]any{"a": json.Number("2"), "b": []any{json.Number("1")}})}, true},
		"anything: errors":                 {`{"errors":[{"message":"x"}]}`, config.ErrorWhen{Pointer: "/errors"}, true},
		"anything: no errors":              {`{"errors":[]}`, config.ErrorWhen{Pointer: "/errors"}, false},
		"anything: null":                   {`{"error":null}`, config.ErrorWhen{Pointer: "/error"}, false},
		"anything: text":                   {`{"error":"x"}`, config.ErrorWhen{Pointer: "/error"}, true},
		"anything: 0":                      {`{"error":0}`, config.ErrorWhen{Pointer: "/error"}, false},
		"in a list":                        {`[{"error":"x"}]`, config.ErrorWhen{Pointer: "/0/error"}, true},
		"in a value that is not an object": {`"x"`, config.ErrorWhen{Pointer: "/error"}, false},
		"anything: false, and empty":       {`{"error":false,"e":{}}`, config.ErrorWhen{Pointer: "/error"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool {
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(tt.body), tt.body)
				return true
			})
			u := open(t, settings(t, s.URL))
			r, err := u.Route(upstream.Endpoint{
				IntentUID: "shop.example:try:v1", URL: "https://shop.example/try", Method: "GET", ErrorWhen: tt.when,
			})
			if err != nil {
				t.Fatal(err)
			}
			p, _ := r.Prepare(map[string]any{})
			answer, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
			_, refused := errors.AsType[*upstream.RejectedError](err)
			if refused != tt.refused || refused != (outcome == store.Failed) || refused != (answer.JSON == nil) {
				t.Errorf("got %v %s %s, want refused %t", err, outcome, answer.JSON, tt.refused)
			}
		})
	}
}

func value(tree any) (v config.Value) {
	if err := v.SetTree(tree); err != nil {
		panic(err)
	}
	return v
}
