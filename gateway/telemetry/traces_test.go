package telemetry_test

import (
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/telemetry"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/internal/test/collector"
)

const sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// open exports traces to c until the test ends, and counts the spans that are lost.
func open(t *testing.T, c *collector.Collector) (*telemetry.Exporter, *atomic.Int64) {
	t.Helper()
	cfg := config.OTLP{Traces: true, SampleOneIn: 1}
	endpoint, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Endpoint = endpoint
	lost := &atomic.Int64{}
	e, err := telemetry.Open(t.Context(), telemetry.Options{
		OTLP: cfg, Registry: prometheus.NewRegistry(), Log: zap.NewNop(), Lost: func(_ string, n int) { lost.Add(int64(n)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, lost
}

func call() *execute.Event {
	e := &execute.Event{At: time.Now(), Took: time.Millisecond, Span: trace.Continue(sampled), Service: "shop.example"}
	e.Steps[execute.Authenticate] = 1
	return e
}

func TestSpansThatTheCollectorDoesNotTakeAreCounted(t *testing.T) {
	c := collector.New(t)
	release := c.Hold()
	e, lost := open(t, c)
	for range 20_000 {
		e.Traces.Record(call())
	}
	if lost.Load() == 0 {
		t.Error("20,000 calls are queued for a collector that does not respond")
	}
	release()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if len(c.Spans()) == 0 {
		t.Error("the collector received no spans after it responded again")
	}
}

func TestANilTracesContinuesTraces(t *testing.T) {
	var none *telemetry.Traces
	span := none.Begin(sampled)
	if span.TraceID() != sampled[3:35] || span.ParentID() != sampled[36:52] || !span.Sampled() {
		t.Errorf("%+v", span)
	}
	none.Record(call())
	none.Request(telemetry.Request{Span: span, Status: 500})
}

func BenchmarkRecord(b *testing.B) {
	var none *telemetry.Traces
	e := call()
	for b.Loop() {
		none.Record(e)
	}
}
