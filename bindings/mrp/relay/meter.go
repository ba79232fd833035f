package relay

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A meter holds the metrics. The labels never contain a key, an id or another external value.
type meter struct {
	messages  *prometheus.CounterVec
	delivered *prometheus.CounterVec
	errors    *prometheus.CounterVec
	postings  *prometheus.CounterVec
	agents    prometheus.Counter
	sockets   prometheus.Gauge
	polls     prometheus.Gauge
}

func newMeter(to prometheus.Registerer) (*meter, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "uimgate", Subsystem: "mrp", Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "uimgate", Subsystem: "mrp", Name: name, Help: help})
	}
	m := &meter{
		messages:  counter("messages_total", "Messages that the relay accepted, by way: http, socket, local.", "way"),
		delivered: counter("deliveries_total", "Messages that were delivered, by way: poll, socket, webhook, local.", "way"),
		errors:    counter("refusals_total", "Requests that were refused, by code.", "code"),
		postings:  counter("webhook_attempts_total", "Attempts to post messages to webhooks, by result: ok, failed.", "result"),
		agents: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "uimgate", Subsystem: "mrp", Name: "agents_total", Help: "Agents that were created by their first signed request.",
		}),
		sockets: gauge("sockets", "Open WebSockets."),
		polls:   gauge("waiting_polls", "Polls that wait for a message."),
	}
	if to == nil {
		return m, nil
	}
	var err error
	for _, c := range []prometheus.Collector{m.messages, m.delivered, m.errors, m.postings, m.agents, m.sockets, m.polls} {
		err = errors.Join(err, to.Register(c))
	}
	return m, err
}

func (m *meter) refused(code wire.Code) { m.errors.WithLabelValues(string(code)).Inc() }
