package gateway_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/ledgerlog"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// rows returns the code in the first column of the tables below a heading of a document.
func rows(t *testing.T, file, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", file, heading)
	}
	below, _, _ = strings.Cut(below, "\n#")
	var cells []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(below, -1) {
		cells = append(cells, m[1])
	}
	slices.Sort(cells)
	return cells
}

// allMetrics returns metrics with at least one series of each metric.
func allMetrics() *record.Metrics {
	m := record.NewMetrics()
	m.Watch(time.Now, func() record.State {
		return record.State{ConfigHash: "h", CertificateExpires: time.Unix(1, 0), Log: &ledgerlog.State{
			Heads: map[string]store.LogHead{"s": {At: time.Unix(1, 0), CosignedAt: time.Unix(1, 0)}},
		}, Services: []record.ServiceState{
			{ID: "s", Concealed: map[string]int64{"i": 1}, Backlog: &store.Backlog{}, Tools: &upstream.ToolsReport{}},
		}}
	})
	m.StoreTook("begin", time.Millisecond)
	m.Request("/", 200, time.Millisecond, trace.Span{})
	m.Delivered("uagents", "delivered")
	m.Record(&execute.Event{
		Intent: "i", Decision: "deny", Reason: reason.NewcomersExhausted, Engine: "plan", Exceeded: "hour", Outcome: store.Done, Charge: &reason.Charge{State: "captured"},
		Unsettled: errors.New("away"), Upstream: time.Millisecond, Missing: []string{"a"}, UndeclaredCount: 1,
	})
	m.RecordAgreement(&agree.Event{Operation: agree.Agreement})
	m.RecordAgreement(&agree.Event{Operation: agree.Agreement, Reason: reason.AgentIDTaken})
	m.Payment(store.RailCard, store.PaymentCredited)
	m.Notice(config.AgentWaiting, true)
	m.Exported(1, true)
	m.WatchExport(func() time.Duration { return 0 })
	return m
}

// metricsText returns the metrics in the text format.
func metricsText(m *record.Metrics) string {
	w := httptest.NewRecorder()
	promhttp.HandlerFor(m.Registry(), promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func TestMetricsMatchReference(t *testing.T) {
	families, err := allMetrics().Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "uimgate_") {
			names = append(names, f.GetName())
		}
	}
	slices.Sort(names)
	if documented := rows(t, "../docs/reference/metrics.md", "## Metrics"); !slices.Equal(documented, names) {
		t.Errorf("docs/reference/metrics.md has\n%v\nThe metrics are\n%v", documented, names)
	}
}

func TestShedCausesMatchReference(t *testing.T) {
	var causes []string
	for _, c := range reason.Causes() {
		causes = append(causes, string(c))
	}
	slices.Sort(causes)
	if documented := rows(t, "../docs/reference/metrics.md", "## Causes of shed requests"); !slices.Equal(documented, causes) {
		t.Errorf("docs/reference/metrics.md has\n%v\nThe causes are\n%v", documented, causes)
	}
	if n := strings.Count(metricsText(record.NewMetrics()), "\nuimgate_shed_total{"); n != len(causes) {
		t.Errorf("%d series at zero, want %d", n, len(causes))
	}
	for _, c := range []connlimit.Cause{connlimit.All, connlimit.Address} {
		if !slices.Contains(causes, string(c)) {
			t.Errorf("%s is not a cause", c)
		}
	}
}

func TestMetricsCountEvents(t *testing.T) {
	for name, test := range map[string]struct {
		does func(*record.Metrics)
		want string
	}{
		"a call that is shed": {func(m *record.Metrics) { m.Record(&execute.Event{Shed: reason.ShedStoreQueue}) }, `shed_total{cause="store_queue"} 1`},
		"an agreement that is shed": {
			func(m *record.Metrics) { m.RecordAgreement(&agree.Event{Shed: reason.ShedSignatures}) }, `shed_total{cause="signatures"} 1`,
		},
		"an id that belongs to others": {
			func(m *record.Metrics) {
				m.RecordAgreement(&agree.Event{Operation: agree.Agreement, Reason: reason.AgentIDTaken})
			},
			`pat_refused_total{operation="agreement",reason="AGENT_ID_TAKEN"} 1`,
		},
		"a clock set forward":         {func(m *record.Metrics) { m.ClockStepped(time.Hour) }, `clock_steps_total{direction="forward"} 1`},
		"a clock set back":            {func(m *record.Metrics) { m.ClockStepped(-time.Hour) }, `clock_steps_total{direction="back"} 1`},
		"outcome stored late":         {func(m *record.Metrics) { m.Late(execute.LateEnd{Stored: true}) }, `late_ends_total{became="stored"} 1`},
		"outcome that was not stored": {func(m *record.Metrics) { m.Late(execute.LateEnd{}) }, `late_ends_total{became="given_up"} 1`},
		"members dropped": {
			func(m *record.Metrics) { m.Record(&execute.Event{Service: "s", Intent: "i", UndeclaredCount: 3}) },
			`undeclared_members_total{intent="i",service="s"} 3`,
		},
		"outputs missing": {
			func(m *record.Metrics) {
				m.Record(&execute.Event{Service: "s", Intent: "i", Missing: []string{"a", "b"}})
			},
			`missing_outputs_total{intent="i",service="s"} 2`,
		},
		"output not kept": {func(m *record.Metrics) { m.Record(&execute.Event{AnswerLost: true}) }, `answers_not_kept_total 1`},
		"no receipt": {
			func(m *record.Metrics) { m.Record(&execute.Event{Unreceipted: errors.New("no key")}) }, `receipts_missing_total 1`,
		},
		"output not kept, stored late": {
			func(m *record.Metrics) { m.Late(execute.LateEnd{Stored: true, AnswerLost: true}) }, `answers_not_kept_total 1`,
		},
	} {
		m := record.NewMetrics()
		test.does(m)
		if text := metricsText(m); !strings.Contains(text, "\nuimgate_"+test.want+"\n") {
			t.Errorf("%s: %s, want a text that contains %q", name, text, "\nuimgate_"+test.want+"\n")
		}
	}
}

func TestSampledRequestsAreExemplars(t *testing.T) {
	m := record.NewMetrics()
	span := trace.Continue("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	m.Request("/sampled", 200, time.Millisecond, span)
	m.Request("/not-sampled", 200, time.Millisecond, span.Sample(false))
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	promhttp.HandlerFor(m.Registry(), promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
	for line := range strings.Lines(w.Body.String()) {
		has := strings.Contains(line, span.ID()) && strings.Contains(line, span.TraceID())
		if has != (strings.Contains(line, `route="/sampled"`) && strings.Contains(line, `le="0.001"`)) {
			t.Errorf("got %s", line)
		}
	}
}
