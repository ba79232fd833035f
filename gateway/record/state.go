package record

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/ledgerlog"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A State is the state of the process at one time, which metrics show.
type State struct {
	Version, Commit, Go string
	ConfigHash          string    // hash of the configuration in use
	CertificateExpires  time.Time // expiry of the certificate of the listeners; zero: they have no certificate
	Services            []ServiceState
	Log                 *ledgerlog.State // nil: none, or it cannot be read
	Stops               map[string]int   // stops in force, by kind
}

// A ServiceState is the present state of one service.
type ServiceState struct {
	ID                string
	UnderWay, Waiting int                   // calls in progress, and calls that wait for a place
	Breakers          map[string]int        // number of intents whose breaker is not closed, by state of the breaker
	Concealed         map[string]int64      // responses that contained a credential or a fixed value, by intent
	Backlog           *store.Backlog        // nil: it cannot be read
	Tools             *upstream.ToolsReport // nil: the service is not an MCP server
}

// stateFor is how long a State is cached. Reading a State is expensive, and anyone who can reach the listener may request the metrics.
const stateFor = time.Second

// Watch registers the metrics that show the State. When they are gathered, they call read, at most once a second. Watch
// must be called at most once.
func (m *Metrics) Watch(now func() time.Time, read func() State) {
	m.registry.MustRegister(&watchedState{now: now, read: read})
}

type watchedState struct {
	now  func() time.Time
	read func() State
	mu   sync.Mutex
	at   time.Time
	last State
}

func (w *watchedState) state() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.now(); w.at.IsZero() || now.Sub(w.at).Abs() >= stateFor {
		w.last, w.at = w.read(), now
	}
	return w.last
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("uimgate_"+name, help, labels, nil)
}

var (
	buildInfo   = describe("build_info", "Version of the running program; always 1.", "version", "commit", "go")
	configInfo  = describe("config_info", "Hash over the files of the configuration in use; always 1.", "hash")
	certificate = describe("certificate_expires_timestamp_seconds", "Time when the certificate of the listeners expires.")
	calls       = describe("upstream_calls", "Calls to the service, by state: under_way, or waiting for a place.", "service", "state")
	breakers    = describe("upstream_breakers", "Intents whose breaker is not closed, by the state of the breaker.", "service", "state")
	concealed   = describe("concealed_answers_total",
		"Responses of the service that contained a credential or a fixed value, which was withheld from agents, by intent.", "service", "intent")
	misfits  = describe("upstream_tool_misfits", "Intents that do not fit their tool of an MCP server.", "service")
	unlisted = describe("upstream_tools_unlisted", "1 if the tools of an MCP server cannot be listed, otherwise 0.", "service")
	restarts = describe("upstream_restarts_total", "How often a process of an MCP server was started again since the configuration was loaded.",
		"service")
	stops      = describe("stops", "Stops in force, by kind: charging, consent, agent, intent, door or service.", "kind")
	waiting    = describe("agents_waiting", "Agents that have agreed and wait for the operator's approval.", "service")
	logLines   = describe("log_lag_lines", "Lines of the ledger that are in no log yet.")
	logSeconds = describe("log_lag_seconds", "Waiting time of the oldest line of the ledger that is in no log yet.")
	logSize    = describe("log_size", "Entries in the log of a service, in its present epoch.", "service")
	logAt      = describe("log_checkpoint_timestamp_seconds", "Time of the newest checkpoint of the log of a service.", "service")
	cosignedAt = describe("log_cosigned_timestamp_seconds", "Time of the newest cosignature on a checkpoint of the log of a service.", "service")
	unresolved = describe("unresolved_charges", "Charges of calls whose outcome is unknown.", "service")
)

// Describe implements prometheus.Collector.
func (*watchedState) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		buildInfo, configInfo, certificate, calls, breakers, concealed, waiting, unresolved, logLines, logSeconds, logSize, logAt, cosignedAt,
		stops, misfits, unlisted, restarts,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (w *watchedState) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	s := w.state()
	gauge(buildInfo, 1, s.Version, s.Commit, s.Go)
	gauge(configInfo, 1, s.ConfigHash)
	if !s.CertificateExpires.IsZero() {
		gauge(certificate, float64(s.CertificateExpires.Unix()))
	}
	if l := s.Log; l != nil {
		gauge(logLines, float64(l.Waiting))
		gauge(logSeconds, l.Lag(w.now()).Seconds())
		for id, h := range l.Heads {
			gauge(logSize, float64(h.Size), id)
			gauge(logAt, float64(h.At.Unix()), id)
			if !h.CosignedAt.IsZero() {
				gauge(cosignedAt, float64(h.CosignedAt.Unix()), id)
			}
		}
	}
	for _, kind := range pat.StopKinds {
		gauge(stops, float64(s.Stops[string(kind)]), string(kind))
	}
	for i := range s.Services {
		service := &s.Services[i]
		gauge(calls, float64(service.UnderWay), service.ID, "under_way")
		gauge(calls, float64(service.Waiting), service.ID, "waiting")
		for _, state := range []string{"half-open", "open"} {
			gauge(breakers, float64(service.Breakers[state]), service.ID, state)
		}
		for intent, n := range service.Concealed {
			out <- prometheus.MustNewConstMetric(concealed, prometheus.CounterValue, float64(n), service.ID, intent)
		}
		if t := service.Tools; t != nil {
			gauge(misfits, float64(len(t.Misfits)), service.ID)
			gauge(unlisted, map[bool]float64{true: 1}[t.Unread != ""], service.ID)
			out <- prometheus.MustNewConstMetric(restarts, prometheus.CounterValue, float64(t.Processes.Restarts), service.ID)
		}
		if b := service.Backlog; b != nil {
			gauge(waiting, float64(b.Waiting), service.ID)
			gauge(unresolved, float64(b.Unresolved), service.ID)
		}
	}
}
