package daemon_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// checkMetrics checks that the metrics have these series.
func (g *gate) checkMetrics(metrics string, series ...string) {
	g.t.Helper()
	for _, want := range series {
		if !strings.Contains(metrics, "\n"+want) {
			g.t.Errorf("no %s", want)
		}
	}
}

func TestProcessMetrics(t *testing.T) {
	cert, key, pool := selfSigned(t)
	g := startGate(t, setup{
		config: strings.Replace(testConfig, "server: {", "server: {tls: {cert: cert.pem, key: key.pem}, ", 1),
		files:  map[string]string{"cert.pem": cert, "key.pem": key},
	})
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := secure.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil || response.Body.Close() != nil {
		t.Fatal(err)
	}
	g.checkMetrics(string(text), `uimgate_unresolved_charges{service="default"} 0`, `uimgate_agents_waiting{service="default"} 0`,
		`uimgate_upstream_breakers{service="default",state="open"} 0`, "uimgate_build_info{", `uimgate_config_info{hash="`,
		"uimgate_certificate_expires_timestamp_seconds ")
}

// The last line of the log has the number of calls by outcome.
func TestStopLogsOneLine(t *testing.T) {
	t.Parallel()
	began, held := make(chan struct{}), make(chan struct{})
	g := startGate(t, setup{
		config: strings.Replace(testConfig, "server: {", "server: {drain_timeout: 10ms, ", 1),
		upstream: func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				close(began)
				<-held
			}
			_, _ = fmt.Fprint(w, `{"products":[{"id":"p1"}],"total":1}`)
		},
	})
	a := g.newAgent("agent-1").agree()
	for range 3 {
		if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
		}
	}
	a.execute(search, map[string]any{"query": "x"}, nil) // refused
	answered := make(chan struct{})
	go func() { // the stop cancels this call
		defer close(answered)
		_, _ = try(context.WithoutCancel(t.Context()), http.MethodPost, g.url+"/api/intents/execute",
			[]byte(`{"intent_uid":"`+order+`","parameters":{"product_id":"p1"}}`),
			header{"Authorization": "Bearer " + a.token, "Content-Type": "application/json"})
	}()
	<-began
	g.checkMetrics(string(g.adminDo("GET", "/metrics", nil).body), `uimgate_upstream_calls{service="default",state="under_way"} 1`,
		`uimgate_upstream_request_duration_seconds_count{service="default"} 3`,
		`uimgate_store_duration_seconds_count{operation="begin"} `, `uimgate_store_duration_seconds_count{operation="lease"} `,
		`uimgate_decisions_total{decision="permit",door="http",intent="`+search+`",reason="",service="default"} 3`)
	g.stop()
	close(held)
	<-answered
	var ends []string
	for line := range strings.SplitSeq(g.log.String(), "\n") {
		if strings.Contains(line, `"msg":"stopped"`) {
			ends = append(ends, line)
		}
	}
	if len(ends) != 1 || !strings.Contains(ends[0], `"calls":4,"done":3,"cut_off":1,"not_stored":0`) {
		t.Errorf("got %v; want length 1 and [0] containing %q", ends, `"calls":4,"done":3,"cut_off":1,"not_stored":0`)
	}
}
