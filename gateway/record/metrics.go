package record

import (
	"cmp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// Metrics are the gateway's metrics. Labels never contain an agent id, a token or another external value. Metrics is safe for concurrent
// use.
type Metrics struct {
	registry     *prometheus.Registry
	requests     *prometheus.CounterVec
	durations    *prometheus.HistogramVec
	decisions    *prometheus.CounterVec
	engines      *prometheus.CounterVec
	rejected     *prometheus.CounterVec
	exhausted    *prometheus.CounterVec
	payments     *prometheus.CounterVec
	outcomes     *prometheus.CounterVec
	upstream     *prometheus.HistogramVec
	store        *prometheus.HistogramVec
	charges      *prometheus.CounterVec
	issued       *prometheus.CounterVec
	refused      *prometheus.CounterVec
	shed         *prometheus.CounterVec
	unsettled    prometheus.Counter
	late         *prometheus.CounterVec
	delivered    *prometheus.CounterVec
	answersLost  prometheus.Counter
	unreceipted  prometheus.Counter
	undeclared   *prometheus.CounterVec
	missing      *prometheus.CounterVec
	clockSteps   *prometheus.CounterVec
	lostCommits  prometheus.Counter
	auditFailed  prometheus.Counter
	auditLost    prometheus.Counter
	indexSkipped prometheus.Counter
	exportLost   *prometheus.CounterVec
	notices      *prometheus.CounterVec
	ordered      *prometheus.CounterVec
	exported     *prometheus.CounterVec
	reload       prometheus.Gauge
	reloaded     prometheus.Gauge
	waiting      prometheus.Gauge // changed settings that need a restart
	calls        atomic.Int64
	done         atomic.Int64
}

// buckets are the upper bounds of the histograms, in seconds. The gateway's own processing time is below the first bound.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// NewMetrics returns Metrics with all counters at zero.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	auto := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Namespace: "uimgate", Name: name, Help: help}, labels)
	}
	count := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Namespace: "uimgate", Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return auto.NewGauge(prometheus.GaugeOpts{Namespace: "uimgate", Name: name, Help: help})
	}
	histogram := func(name, help, label string) *prometheus.HistogramVec {
		return auto.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "uimgate", Name: name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{label})
	}
	m := &Metrics{
		registry:  registry,
		requests:  counter("http_requests_total", "HTTP requests by route and status.", "route", "code"),
		durations: histogram("http_request_duration_seconds", "Time to respond to HTTP requests, by route.", "route"),
		upstream:  histogram("upstream_request_duration_seconds", "Duration of calls to the service, including all attempts.", "service"),
		store:     histogram("store_duration_seconds", "Time that calls waited for the store, by operation.", "operation"),
		decisions: counter("decisions_total", "Execute calls by door, intent, decision and reason.",
			"door", "service", "intent", "decision", "reason"),
		engines:   counter("policy_evaluations_total", "Decisions by the engine that evaluated the policy: plan or opa.", "engine"),
		rejected:  counter("limit_rejections_total", "Calls refused because a limit was exhausted, by period.", "service", "period"),
		exhausted: counter("newcomers_exhausted_total", "Calls refused because the credit that unapproved agents share was used up.", "service"),
		payments:  counter("payments_total", "Payments by the way in which they reached the gateway, and by the state that they reached.", "rail", "state"),
		outcomes:  counter("upstream_outcomes_total", "Calls to the service by outcome.", "service", "outcome"),
		charges:   counter("charges_total", "Charges by the state that they had when the call ended.", "service", "state"),
		issued:    counter("pat_issued_total", "Issued PATs by origin: agreement or renewal.", "how"),
		refused:   counter("pat_refused_total", "Refused requests that concern PATs, by operation and reason.", "operation", "reason"),
		shed:      counter("shed_total", "Valid requests that the gateway shed, by cause.", "cause"),
		unsettled: count("unsettled_total", "Calls whose outcome could not be stored when they ended."),
		late:      counter("late_ends_total", "Outcomes of calls that could not be stored when the calls ended, by what followed: stored or given_up.", "became"),
		delivered: counter("answers_delivered_total",
			"Replies that were sent to agents after their requests, by outcome: delivered or the cause of the failure.", "door", "became"),
		answersLost: count("answers_not_kept_total",
			"Responses that were not stored under their idempotency key, because they exceeded the limits on stored responses."),
		unreceipted: count("receipts_missing_total",
			"Responses about ended charges that have no receipt, because none could be signed."),
		undeclared: counter("undeclared_members_total",
			"Members of the service's responses that were dropped because the intent declares no such output, by intent.", "service", "intent"),
		missing: counter("missing_outputs_total",
			"Required outputs that were missing from responses that the gateway passed on nevertheless, by intent.", "service", "intent"),
		clockSteps:   counter("clock_steps_total", "Changes of the database clock that the gateway detected, by direction.", "direction"),
		lostCommits:  count("lost_commits_total", "Commits that the database acknowledged but no longer contains."),
		auditFailed:  count("audit_write_failures_total", "Failed writes to the audit stream. The gateway retries them."),
		auditLost:    count("audit_records_lost_total", "Audit records that were lost because too many were waiting to be written."),
		indexSkipped: count("index_skipped_total", "Requests that uimgate why does not find, because audit.index.limit was reached or the store was unavailable."),
		exportLost:   counter("telemetry_lost_total", "Spans and log entries that were not exported, by signal: traces or logs.", "signal"),
		notices:      counter("notices_total", "Attempts to post notices to webhooks, by event and result: delivered or failed.", "event", "result"),
		ordered:      counter("certificate_orders_total", "Orders of certificates from the CA, by result: obtained or failed.", "result"),
		exported:     counter("audit_exported_total", "Audit records that were sent to the collector, by result of the attempt: delivered or failed.", "result"),
		reload:       gauge("config_last_reload_successful", "1 if the last reload was applied, otherwise 0."),
		waiting:      gauge("config_settings_need_restart", "Changed settings that only a restart applies."),
		reloaded:     gauge("config_last_reload_success_timestamp_seconds", "Time when a configuration was last applied."),
	}
	m.zero()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// zero creates the series whose labels are known in advance, so that they start at zero and no increase is lost.
func (m *Metrics) zero() {
	for _, cause := range reason.Causes() {
		m.shed.WithLabelValues(string(cause))
	}
	for vec, values := range map[*prometheus.CounterVec][]string{
		m.late: {lateStored, lateGivenUp}, m.exportLost: {"traces", "logs"}, m.ordered: {orderObtained, orderFailed},
		m.clockSteps: {clockForward, clockBack},
	} {
		for _, value := range values {
			vec.WithLabelValues(value)
		}
	}
}

const (
	lateStored, lateGivenUp = "stored", "given_up"
	clockForward, clockBack = "forward", "back"

	orderObtained, orderFailed = "obtained", "failed"
)

// Late counts an outcome that could not be stored when its call ended, by whether it was stored later.
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

// Delivered counts a reply that a door sent to an agent after the agent's request. became is "delivered" or the cause of the failure.
func (m *Metrics) Delivered(door, became string) { m.delivered.WithLabelValues(door, became).Inc() }

// CommitsLost counts n commits that the database acknowledged but no longer contains.
func (m *Metrics) CommitsLost(n int64) { m.lostCommits.Add(float64(n)) }

// ClockStepped counts a change of the database clock. by is negative if the clock was set back.
func (m *Metrics) ClockStepped(by time.Duration) {
	direction := clockForward
	if by < 0 {
		direction = clockBack
	}
	m.clockSteps.WithLabelValues(direction).Inc()
}

// Request counts one HTTP request. An empty route is counted as "other".
func (m *Metrics) Request(route string, status int, took time.Duration, span trace.Span) {
	if route == "" {
		route = "other"
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	observe(m.durations.WithLabelValues(route), took, span)
}

// Exported counts the records of an attempt to send audit records to the collector.
func (m *Metrics) Exported(records int, delivered bool) {
	m.exported.WithLabelValues(resultOf(delivered)).Add(float64(records))
}

// WatchExport registers a gauge for the lag of the export of the audit stream. It must be called at most once.
func (m *Metrics) WatchExport(lag func() time.Duration) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "uimgate", Name: "audit_export_lag_seconds", Help: "Age of the oldest audit record that the collector has not accepted.",
	}, func() float64 { return lag().Seconds() }))
}

func resultOf(delivered bool) string {
	if delivered {
		return "delivered"
	}
	return "failed"
}

// Notice counts an attempt to post a notice to a webhook.
func (m *Metrics) Notice(event config.Event, delivered bool) {
	m.notices.WithLabelValues(string(event), resultOf(delivered)).Inc()
}

// Ordered counts an order of a certificate.
func (m *Metrics) Ordered(obtained bool) {
	result := orderFailed
	if obtained {
		result = orderObtained
	}
	m.ordered.WithLabelValues(result).Inc()
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

// Shed counts a shed request. It does nothing if cause is empty.
func (m *Metrics) Shed(cause reason.Cause) {
	if cause != "" {
		m.shed.WithLabelValues(string(cause)).Inc()
	}
}

// Record implements execute.Recorder: it counts one call.
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
	if v.Reason == reason.NewcomersExhausted {
		m.exhausted.WithLabelValues(v.Service).Inc()
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
	if v.Unreceipted != nil {
		m.unreceipted.Inc()
	}
	if v.UndeclaredCount > 0 {
		m.undeclared.WithLabelValues(v.Service, v.Intent).Add(float64(v.UndeclaredCount))
	}
	if len(v.Missing) > 0 {
		m.missing.WithLabelValues(v.Service, v.Intent).Add(float64(len(v.Missing)))
	}
}

// Payment counts a payment that has reached a state.
func (m *Metrics) Payment(rail string, state store.PaymentState) {
	m.payments.WithLabelValues(rail, string(state)).Inc()
}

// Calls returns the number of all calls since the process started, and the number of those that the service executed.
func (m *Metrics) Calls() (all, done int64) { return m.calls.Load(), m.done.Load() }

// StoreTook records the duration of one operation of the store: begin, settle or lease.
func (m *Metrics) StoreTook(operation string, took time.Duration) {
	m.store.WithLabelValues(operation).Observe(took.Seconds())
}

// Reloaded records that a configuration was applied.
func (m *Metrics) Reloaded(at time.Time) {
	m.reload.Set(1)
	m.reloaded.Set(float64(at.Unix()))
}

// NeedRestart records the number of changed settings that only a restart applies.
func (m *Metrics) NeedRestart(settings int) { m.waiting.Set(float64(settings)) }

// ReloadRefused records that a new configuration was rejected.
func (m *Metrics) ReloadRefused() { m.reload.Set(0) }

// RecordAgreement implements agree.Recorder: it counts an issued PAT by its origin, or a refused request by its reason.
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

// Registry returns the registry that gathers all metrics.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }
