package daemon_test

import (
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	span "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/uimgate/uimgate/internal/test/collector"
)

const (
	tracedID   = "4bf92f3577b34da6a3ce929d0e0e4736"
	senderID   = "00f067aa0ba902b7"
	sampled    = "00-" + tracedID + "-" + senderID + "-01"
	notSampled = "00-" + tracedID + "-" + senderID + "-00"
	stepNames  = "authenticate resolve validate prove decide begin call shape settle"
)

// traced returns the configuration of a gateway that exports to a collector, and serves agents of other protocols.
func traced(c *collector.Collector, more string) string {
	return testConfig + "  doors: {mcp: {}, a2a: {}}\ntelemetry: {otlp: {endpoint: " + c.URL +
		`, headers: {X-Collector: canary-collector-key}` + more + "}}\n"
}

// find returns the only span with a name.
func find(t *testing.T, spans []collector.Span, name string) collector.Span {
	t.Helper()
	var found []collector.Span
	for _, s := range spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans are named %q; the spans are %v", len(found), name, names(spans))
	}
	return found[0]
}

func names(spans []collector.Span) (out []string) {
	for _, s := range spans {
		out = append(out, s.Name)
	}
	return out
}

// below returns the names of the spans below a span, in the order of their start.
func below(spans []collector.Span, parent string) string {
	var found []collector.Span
	for _, s := range spans {
		if s.ParentID == parent {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b collector.Span) int { return a.Start.Compare(b.Start) })
	return strings.Join(names(found), " ")
}

func TestTracesOfACall(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	g := startGate(t, setup{config: traced(c, "")})
	a := g.newAgent("agent-1").agree()
	parameters := map[string]any{"product_id": "canary-parameter"}
	got := a.execute(order, parameters, header{
		"Traceparent": sampled, "UIM-Proof": a.proof(order, parameters), "Idempotency-Key": "canary-key", "UIM-Request-ID": "r-1",
	})
	if got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	calls := g.upstream.calls()
	g.stop()
	spans := c.Spans()
	server := find(t, spans, "POST /api/intents/execute")
	if server.TraceID != tracedID || server.ParentID != senderID || server.Kind != span.Span_SPAN_KIND_SERVER || server.Failed {
		t.Errorf("got %+v", server)
	}
	execution := server.Attributes["uimgate.execution"]
	want := map[string]string{
		"http.request.method": "POST", "http.route": "/api/intents/execute", "http.response.status_code": "200",
		"uimgate.request_id": "r-1", "uimgate.service": "default", "uimgate.intent": order, "uimgate.decision": "permit",
		"uimgate.outcome": "done", "uimgate.execution": execution, "uimgate.agreement": server.Attributes["uimgate.agreement"],
	}
	if diff := cmp.Diff(want, server.Attributes); diff != "" || execution == "" || want["uimgate.agreement"] == "" {
		t.Errorf("attributes of the request: %s", diff)
	}
	if server.Resource["service.name"] != "uimgate" {
		t.Errorf("resource: %v", server.Resource)
	}
	if got := below(spans, server.ID); got != stepNames {
		t.Errorf("steps: %s, want %s", got, stepNames)
	}
	step, client := find(t, spans, "call"), find(t, spans, "POST /orders")
	if client.ParentID != step.ID || client.Kind != span.Span_SPAN_KIND_CLIENT || client.Attributes["http.response.status_code"] != "200" ||
		client.Attributes["server.address"] != "127.0.0.1" || client.Attributes["url.template"] != "/orders" {
		t.Errorf("%+v is not the call to the service below %+v", client, step)
	}
	if sent, want := calls[0].header.Get("Traceparent"), "00-"+tracedID+"-"+client.ID+"-01"; sent != want {
		t.Errorf("the service got the traceparent %s, want %s", sent, want)
	}
	for _, s := range spans {
		if s.TraceID == tracedID && (s.Start.Before(server.Start) || s.End.After(server.End) || s.End.Before(s.Start)) {
			t.Errorf("%s lasts from %v to %v, its request from %v to %v", s.Name, s.Start, s.End, server.Start, server.End)
		}
	}
	for _, secret := range []string{
		"canary-parameter", "canary-key", "upstream-secret-canary", a.token, a.publicKey(), "canary-collector-key",
	} {
		if c.Contains(secret) {
			t.Errorf("the collector received %q", secret)
		}
	}
	if h := c.Headers()[0].Get("X-Collector"); h != "canary-collector-key" {
		t.Errorf("X-Collector = %q, want %q", h, "canary-collector-key")
	}
	if !strings.Contains(g.log.String(), `"trace_id":"`+tracedID+`","span_id":"`+server.ID+`"`) {
		t.Error("the log does not name the trace and the span of the request")
	}
}

func TestTraceEndsAtTheRefusingStep(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	g := startGate(t, setup{config: traced(c, "")})
	a := g.newAgent("agent-1").agree()
	a.execute(search, map[string]any{"query": 7}, header{"Traceparent": strings.Replace(sampled, "4bf9", "5bf9", 1)})
	g.stop()
	var of []collector.Span
	for _, s := range c.Spans() {
		if strings.HasPrefix(s.TraceID, "5bf9") {
			of = append(of, s)
		}
	}
	server, last := find(t, of, "POST /api/intents/execute"), find(t, of, "validate")
	if got := below(of, server.ID); got != "authenticate resolve validate" {
		t.Errorf("steps: %s, want %q", got, "authenticate resolve validate")
	}
	for _, s := range []collector.Span{server, last} {
		if s.Attributes["uimgate.reason"] != "INVALID_PARAMETER" || s.Failed {
			t.Errorf("%+v: want the reason, and not an error of the gateway", s)
		}
	}
}

func TestTracesOfOtherProtocols(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	g := startGate(t, setup{config: traced(c, "")})
	a := g.newAgent("agent-1").agree()
	of := header{"Content-Type": "application/json", "Authorization": "Bearer " + a.token, "Accept": "application/json, text/event-stream"}
	with := func(more header) header {
		maps.Copy(more, of)
		return more
	}
	for _, r := range []struct {
		path, body string
		header     header
	}{
		{"/mcp", `{"jsonrpc":"2.0","id":"call-7","method":"tools/call","params":{"name":"search-products_v1","arguments":{"query":"canary-parameter"},
			"_meta":{"traceparent":"` + sampled + `"}}}`, with(header{"MCP-Protocol-Version": "2025-11-25"})},
		{"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"canary-tool","arguments":{},
			"_meta":{"traceparent":"` + strings.Replace(sampled, "4bf9", "5bf9", 1) + `"}}}`, with(header{"MCP-Protocol-Version": "2025-11-25"})},
		{"/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","role":"ROLE_USER",
			"metadata":{"traceparent":"` + strings.Replace(sampled, "4bf9", "6bf9", 1) + `"},
			"parts":[{"data":{"intent_uid":"` + search + `","parameters":{"query":"canary-parameter"}}}]}}}`, with(header{"A2A-Version": "1.0"})},
	} {
		if got := g.do("POST", r.path, []byte(r.body), r.header); got.status != http.StatusOK {
			t.Fatalf("%s: got %d %s; want %v", r.path, got.status, got.body, http.StatusOK)
		}
	}
	for fault, want := range map[string]string{"": "1", "-32602": "1"} {
		series := `mcp_server_operation_duration_seconds_count{error_type="` + fault + `",mcp_method_name="tools/call"}`
		if got := g.metric(series); got != want {
			t.Errorf("%s is %q, want %s", series, got, want)
		}
	}
	g.stop()
	spans := c.Spans()
	tool := find(t, spans, "tools/call search-products_v1")
	if tool.TraceID != tracedID || tool.ParentID != senderID || tool.Kind != span.Span_SPAN_KIND_SERVER {
		t.Errorf("got %+v; want TraceID %v, ParentID %v and Kind %v", tool, tracedID, senderID, span.Span_SPAN_KIND_SERVER)
	}
	for name, want := range map[string]string{
		"mcp.method.name": "tools/call", "mcp.protocol.version": "2025-11-25", "gen_ai.tool.name": "search-products_v1",
		"gen_ai.operation.name": "execute_tool", "jsonrpc.request.id": `"call-7"`, "uimgate.intent": search, "uimgate.door": "mcp",
	} {
		if got := tool.Attributes[name]; got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	if got := below(spans, tool.ID); got != strings.Replace(stepNames, "prove ", "", 1) {
		t.Errorf("steps: %s", got)
	}
	if unknown := find(t, spans, "tools/call"); !strings.HasPrefix(unknown.TraceID, "5bf9") {
		t.Errorf("got %+v, want TraceID a text that starts with %q", unknown, "5bf9")
	}
	if message := find(t, spans, "SendMessage"); !strings.HasPrefix(message.TraceID, "6bf9") || message.ParentID != senderID {
		t.Errorf("got %+v; want TraceID a text that starts with %q and ParentID %v", message, "6bf9", senderID)
	}
	if c.Contains("canary") {
		t.Error("the collector received a parameter, or the name of a tool that does not exist")
	}
}

func TestExportedTraces(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	g := startGate(t, setup{config: traced(c, ", sample_one_in: 1000000"), upstream: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/products" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"p1"}`))
	}})
	a := g.newAgent("agent-1").agree()
	for range 20 {
		a.execute(details, map[string]any{"id": "p1"}, nil)
	}
	a.execute(details, map[string]any{"id": "p1"}, header{"Traceparent": notSampled})
	a.execute(search, map[string]any{"query": "lamp"}, header{"Traceparent": notSampled})
	g.stop()
	spans := c.Spans()
	if server := find(t, spans, "POST /api/intents/execute"); !server.Failed || server.Attributes["error.type"] != "502" ||
		server.TraceID != tracedID || server.Attributes["uimgate.reason"] != "UPSTREAM_ERROR" {
		t.Errorf("got %+v", server)
	}
	if step := find(t, spans, "settle"); !step.Failed || step.Attributes["error.type"] != "UPSTREAM_ERROR" {
		t.Errorf("got %+v", step)
	}
	if client := find(t, spans, "GET /products"); !client.Failed || client.Attributes["http.response.status_code"] != "500" {
		t.Errorf("got %+v", client)
	}
}

func TestEnvironmentSelectsTheExports(t *testing.T) {
	for name, test := range map[string]struct {
		set                   map[string]string
		traces, metrics, logs bool
	}{
		"nothing":       {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, false, false, false},
		"all":           {map[string]string{}, true, true, true},
		"disabled":      {map[string]string{"OTEL_SDK_DISABLED": "true"}, false, false, false},
		"no metrics":    {map[string]string{"OTEL_METRICS_EXPORTER": "none"}, true, false, true},
		"unknown":       {map[string]string{"OTEL_LOGS_EXPORTER": "console"}, true, true, false},
		"never sampled": {map[string]string{"OTEL_TRACES_SAMPLER": "always_off"}, false, true, true},
		"ratio 0":       {map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := collector.New(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL) // the exporters read it
			if _, given := test.set["OTEL_EXPORTER_OTLP_ENDPOINT"]; !given {
				test.set["OTEL_EXPORTER_OTLP_ENDPOINT"] = c.URL
			}
			g := startGate(t, setup{environment: test.set})
			a := g.newAgent("agent-1").agree()
			a.execute(search, map[string]any{"query": "lamp"}, nil)
			g.stop()
			if got := len(c.Spans()) > 0; got != test.traces {
				t.Errorf("traces: %v", names(c.Spans()))
			}
			if got := c.HasMetric("uimgate_decisions_total") && c.HasMetric("uimgate_http_request_duration_seconds"); got != test.metrics {
				t.Errorf("metrics: %v, want %v", got, test.metrics)
			}
			if got := slices.Contains(c.Logs(), "request"); got != test.logs {
				t.Errorf("logs: %v", c.Logs())
			}
		})
	}
}

func TestUnreachableCollectorDelaysNothing(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	t.Cleanup(c.Hold())
	for name, endpoint := range map[string]string{"refuses": "http://127.0.0.1:1", "hangs": c.URL, "unknown CA": secureEndpoint(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGate(t, setup{config: testConfig + "telemetry: {otlp: {endpoint: " + endpoint +
				", logs: true, metrics: true, headers: {X-Key: canary-key}}}\n"})
			a := g.newAgent("agent-1").agree()
			for range 10 {
				if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
					t.Errorf("got %d %s; want %v", got.status, got.body, http.StatusOK)
				}
			}
			g.stop()
			if log := g.log.String(); !strings.Contains(log, "telemetry is not exported") || strings.Contains(log, "canary-key") {
				t.Error("the log does not report the lost telemetry, or contains a secret")
			}
		})
	}
}

// secureEndpoint serves https with the certificate of an unknown CA.
func secureEndpoint(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Close)
	return s.URL
}
