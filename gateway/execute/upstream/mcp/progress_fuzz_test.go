package mcp

import (
	"encoding/json"
	"testing"
	"time"
)

// FuzzProgress checks that a notification that is passed on has the token of the call, and numbers that are JSON.
func FuzzProgress(f *testing.F) {
	for _, seed := range []string{
		`{"progressToken":7,"progress":0.5,"total":1,"message":"x"}`, `{"progressToken":"7","progress":1}`, `{"progress":-1e9,"progressToken":7}`,
		`{"progressToken":7,"progress":-}`, `[]`, ``, `{"progressToken":7,"progress":1,"progress":"2"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var of reports
		p, ok := of.pass(&response{method: progressMethod, params: data}, 7, time.Now())
		if !ok {
			return
		}
		if token, _, _ := readProgress(data); token != "7" {
			t.Fatalf("the token is %q", token)
		}
		if out, err := json.Marshal([]json.Number{p.Progress, "0" + p.Total[:0]}); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if p.Total != "" && !json.Valid([]byte(p.Total)) {
			t.Fatalf("the total is %q", p.Total)
		}
	})
}
