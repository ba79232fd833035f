package record

import (
	"cmp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// Metrics are the gateway's metrics. No agent id, token or other external value is ever a label.
type Metrics struct {
	registry    *prometheus.Registry
	requests    *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	decisions   *prometheus.CounterVec
	engines     *prometheus.CounterVec
	rejected    *prometheus.CounterVec
	outcomes    *prometheus.CounterVec
	upstream    *prometheus.HistogramVec
	store       *prometheus.HistogramVec
	charges     *prometheus.CounterVec
	issued      *prometheus.CounterVec
	refused     *prometheus.CounterVec
	shed        *prometheus.CounterVec
	unsettled   prometheus.Counter
	late        *prometheus.CounterVec
	delivered   *prometheus.CounterVec
	answersLost prometheus.Counter
	undeclared  *prometheus.CounterVec
	missing     *prometheus.CounterVec
	clockSteps  *prometheus.CounterVec
	lostCommits prometheus.Counter
	auditFailed prometheus.Counter
	auditLost   prometheus.Counter
	exportLost  *prometheus.CounterVec
	reload      prometheus.Gauge
	reloaded    prometheus.Gauge
	waiting     prometheus.Gauge // changed settings that need a restart
	calls       atomic.Int64
	done        atomic.Int64
}

// buckets start at half a millisecond: the gateway's own time is below the first.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// NewMetrics makes all metrics, at zero.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "uimgate", Name: name, Help: help}, labels)
	}
	count := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "uimgate", Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "uimgate", Name: name, Help: help})
	}
	histogram := func(name, help, label string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "uimgate", Name: name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{label})
	}
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		requests:  counter("http_requests_total", "Requests by route and status.", "route", "code"),
		durations: histogram("http_request_duration_seconds", "Time to answer, by route.", "route"),
		upstream:  histogram("upstream_request_duration_seconds", "Time of calls to the service, with all attempts.", "service"),
		store:     histogram("store_duration_seconds", "Time that calls waited for the store, by what was asked of it.", "operation"),
		decisions: counter("decisions_total", "Execute calls by door, intent, decision and reason.",
			"door", "service", "intent", "decision", "reason"),
		engines:   counter("policy_evaluations_total", "Decisions by what evaluated the policy: its plan, or OPA.", "engine"),
		rejected:  counter("limit_rejections_total", "Calls refused because a limit was used up, by period.", "service", "period"),
		outcomes:  counter("upstream_outcomes_total", "How upstream calls ended.", "service", "outcome"),
		charges:   counter("charges_total", "Charges by their state when the call ended.", "service", "state"),
		issued:    counter("pat_issued_total", "PATs issued, by how: agreement or renewal.", "how"),
		refused:   counter("pat_refused_total", "Refused requests for, and about, PATs, by operation and reason.", "operation", "reason"),
		shed:      counter("shed_total", "What was refused because the gateway had more to do than it can, by cause.", "cause"),
		unsettled: count("unsettled_total", "Calls whose end could not be stored when they ended."),
		late:      counter("late_ends_total", "Ends of calls that could not be stored at once: stored later, or given_up.", "became"),
		delivered: counter("answers_delivered_total",
			"Answers that were sent to agents after their requests, by outcome: delivered, or why not.", "door", "became"),
		answersLost: count("answers_not_kept_total",
			"Answers that are not returned again under their idempotency key, because of the bounds of what is kept."),
		undeclared: counter("undeclared_members_total",
			"Members of the service's answers that were dropped because no output is declared for them, by intent.", "service", "intent"),
		missing: counter("missing_outputs_total",
			"Required outputs that the service's answers did not have, where such answers are passed on, by intent.", "service", "intent"),
		clockSteps:  counter("clock_steps_total", "Times that the clock of the database was found set.", "direction"),
		lostCommits: count("lost_commits_total", "Commits that the database had acknowledged and lacks."),
		auditFailed: count("audit_write_failures_total", "Writes of the audit stream that failed. What was not written is tried again."),
		auditLost:   count("audit_records_lost_total", "Audit records that were lost, because too many waited to be written."),
		exportLost: counter("telemetry_lost_total", "Spans and log entries that the collector did not take, by signal: traces or logs.",
			"signal"),
		reload:   gauge("config_last_reload_successful", "1 if the last reload was taken over."),
		waiting:  gauge("config_settings_need_restart", "Settings that were changed and that only a restart takes over."),
		reloaded: gauge("config_last_reload_success_timestamp_seconds", "When a configuration was last taken over."),
	}
	m.zero()
	m.registry.MustRegister(
		m.requests, m.durations, m.decisions, m.engines, m.rejected, m.outcomes, m.upstream, m.store, m.charges, m.issued, m.refused, m.shed,
		m.unsettled, m.late, m.delivered, m.answersLost, m.undeclared, m.missing, m.clockSteps, m.lostCommits, m.auditFailed, m.auditLost, m.exportLost,
		m.reload, m.reloaded, m.waiting,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// zero creates the series whose labels are known, so that their first increase is one.
func (m *Metrics) zero() {
	for _, cause := range reason.Causes() {
		m.shed.WithLabelValues(string(cause))
	}
	for _, became := range []string{lateStored, lateGivenUp} {
		m.late.WithLabelValues(became)
	}
	for _, signal := range []string{"traces", "logs"} {
		m.exportLost.WithLabelValues(signal)
	}
	for _, direction := range []string{clockForward, clockBack} {
		m.clockSteps.WithLabelValues(direction)
	}
}

const (
	lateStored, lateGivenUp = "stored", "given_up"
	clockForward, clockBack = "forward", "back"
)

// Late counts the end of a call that could not be stored at once.
func (m *Metrics) Late(e execute.LateEnd) {
	became := lateGivenUp
	if e.Stored {
		became = lateStored
	}
	m.late.WithLabelValues(became).Inc()
	if e.AnswerLost {
		m.answersLost.Inc()
	}
}

// Delivered counts a reply that a door sent to an agent after its request, by delivered or the cause of its failure.
func (m *Metrics) Delivered(door, became string) { m.delivered.WithLabelValues(door, became).Inc() }

// CommitsLost counts commits that the database lacks although it had acknowledged them.
func (m *Metrics) CommitsLost(n int64) { m.lostCommits.Add(float64(n)) }

// ClockStepped records that the clock of the database was set, by this much; below zero it was set back.
func (m *Metrics) ClockStepped(by time.Duration) {
	direction := clockForward
	if by < 0 {
		direction = clockBack
	}
	m.clockSteps.WithLabelValues(direction).Inc()
}

// Request counts one request over HTTP.
func (m *Metrics) Request(route string, status int, took time.Duration, span trace.Span) {
	if route == "" {
		route = "other"
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	observe(m.durations.WithLabelValues(route), took, span)
}

// TelemetryLost counts spans or log entries that were not exported.
func (m *Metrics) TelemetryLost(signal string, n int) {
	m.exportLost.WithLabelValues(signal).Add(float64(n))
}

// observe adds a duration, with the trace of a sampled span as its exemplar.
func observe(h prometheus.Observer, took time.Duration, span trace.Span) {
	if with, ok := h.(prometheus.ExemplarObserver); ok && span.Sampled() {
		with.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": span.TraceID(), "span_id": span.ID()})
		return
	}
	h.Observe(took.Seconds())
}

// Shed counts a refusal due to overload. Without a cause it counts nothing.
func (m *Metrics) Shed(cause reason.Cause) {
	if cause != "" {
		m.shed.WithLabelValues(string(cause)).Inc()
	}
}

// Record counts one call.
func (m *Metrics) Record(v *execute.Event) {
	m.calls.Add(1)
	m.Shed(v.Shed)
	m.decisions.WithLabelValues(cmp.Or(v.Door, "http"), v.Service, v.Intent, v.Decision, string(v.Reason)).Inc()
	if v.Engine != "" {
		m.engines.WithLabelValues(v.Engine).Inc()
	}
	if v.Exceeded != "" {
		m.rejected.WithLabelValues(v.Service, string(v.Exceeded)).Inc()
	}
	if v.Outcome != "" {
		m.outcomes.WithLabelValues(v.Service, string(v.Outcome)).Inc()
	}
	if v.Outcome == store.Done {
		m.done.Add(1)
	}
	if v.Upstream > 0 {
		observe(m.upstream.WithLabelValues(v.Service), v.Upstream, v.Client)
	}
	if v.Charge != nil && !v.Replayed {
		m.charges.WithLabelValues(v.Service, v.Charge.State).Inc()
	}
	if v.Unsettled != nil {
		m.unsettled.Inc()
	}
	if v.AnswerLost {
		m.answersLost.Inc()
	}
	if v.UndeclaredCount > 0 {
		m.undeclared.WithLabelValues(v.Service, v.Intent).Add(float64(v.UndeclaredCount))
	}
	if len(v.Missing) > 0 {
		m.missing.WithLabelValues(v.Service, v.Intent).Add(float64(len(v.Missing)))
	}
}

// Calls returns the number of calls since the start, and of those that the service executed.
func (m *Metrics) Calls() (all, done int64) { return m.calls.Load(), m.done.Load() }

// StoreTook measures one operation of the store: begin, settle or lease.
func (m *Metrics) StoreTook(operation string, took time.Duration) {
	m.store.WithLabelValues(operation).Observe(took.Seconds())
}

// Reloaded records that a configuration was applied.
func (m *Metrics) Reloaded(at time.Time) {
	m.reload.Set(1)
	m.reloaded.Set(float64(at.Unix()))
}

// NeedRestart records the number of changed settings that need a restart.
func (m *Metrics) NeedRestart(settings int) { m.waiting.Set(float64(settings)) }

// ReloadRefused records that a configuration was refused.
func (m *Metrics) ReloadRefused() { m.reload.Set(0) }

// RecordAgreement counts one issued PAT, by its origin: agreement or renewal.
func (m *Metrics) RecordAgreement(e *agree.Event) {
	m.Shed(e.Shed)
	if e.Reason != "" {
		m.refused.WithLabelValues(string(e.Operation), string(e.Reason)).Inc()
	}
	issues := e.Operation == agree.Agreement || e.Operation == agree.Renewal
	if issues && e.Reason == "" && !e.Pending {
		m.issued.WithLabelValues(string(e.Operation)).Inc()
	}
}

// Registry gathers all metrics.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }
