package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// The length of a log line is bounded, whatever the client sends.
func TestLogLinesAreShort(t *testing.T) {
	g := gatetest.New(t, "")
	long := strings.Repeat("A", 30_000)
	for name, r := range map[string]*http.Request{
		"method":     {Method: long},
		"path":       {Method: http.MethodGet, URL: g.Parse("/" + long + "?" + long)},
		"host":       {Method: http.MethodGet, Host: long},
		"request id": {Method: http.MethodGet, Header: http.Header{"Uim-Request-Id": {long}, "Traceparent": {long}}},
		"address":    {Method: http.MethodGet, Header: http.Header{"X-Forwarded-For": {long}, "X-Forwarded-Host": {long}}},
	} {
		g.Logs.TakeAll()
		if r.URL == nil {
			r.URL = g.Parse("/")
		}
		if r.Header == nil {
			r.Header = http.Header{}
		}
		g.Send(r.WithContext(t.Context()))
		lines := g.Logs.All()
		if len(lines) != 1 || len(fmt.Sprint(lines[0].ContextMap())) > 1000 {
			t.Errorf("%s: %d lines, the first %.300v", name, len(lines), lines)
		}
	}
}

// Of many refusals of unauthenticated clients, only the first are logged; the rest are counted. Refusals of agents are always logged.
func TestManyRefusalsAreSummarized(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	g.Logs.TakeAll()
	for range 80 {
		g.Get("/wp-login.php")
		g.Call("/api/intents/execute", a.Token, map[string]any{"intent_uid": "shop.example:unknown:v1"})
	}
	g.Call("/api/intents/execute", "x.y.z", map[string]any{})
	reasons := map[any]int{}
	for _, line := range g.Logs.FilterMessage("request").All() {
		reasons[line.ContextMap()["reason"]]++
	}
	if reasons["NO_SUCH_PATH"] != 50 || reasons["INTENT_NOT_FOUND"] != 80 || reasons["INVALID_TOKEN"] != 1 {
		t.Errorf("logged: %v, want 50 of unauthenticated clients and all others", reasons)
	}
	g.Later(10 * time.Second)
	g.Get("/wp-login.php")
	sums := g.Logs.FilterMessage("refusals not logged individually").All()
	if len(sums) != 1 || sums[0].ContextMap()["reason"] != "NO_SUCH_PATH" || sums[0].ContextMap()["refused"] != int64(30) {
		t.Errorf("summaries: %v, want 30 with one reason", sums)
	}
}
