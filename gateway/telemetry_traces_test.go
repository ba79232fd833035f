package gateway_test

import (
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/telemetry"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/internal/test/collector"
)

const sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// secret is the value of a header for the collector.
const secret = "secret-of-the-collector"

// open exports all traces to a collector, and counts the spans that are lost.
func open(tb testing.TB, collector string) (*telemetry.Exporter, *atomic.Int64, *observer.ObservedLogs) {
	tb.Helper()
	return openWith(tb, collector, 1)
}

// openWith exports one in n traces.
func openWith(tb testing.TB, collector string, n int) (*telemetry.Exporter, *atomic.Int64, *observer.ObservedLogs) {
	tb.Helper()
	endpoint, err := url.Parse(collector)
	if err != nil {
		tb.Fatal(err)
	}
	var key config.Value
	if err := key.SetTree(secret); err != nil {
		tb.Fatal(err)
	}
	cfg := config.OTLP{Traces: true, SampleOneIn: n, Endpoint: endpoint, Headers: map[string]config.Value{"X-Key": key}}
	lost := &atomic.Int64{}
	core, logged := observer.New(zap.DebugLevel)
	e, err := telemetry.Open(tb.Context(), telemetry.Options{
		OTLP: cfg, Registry: prometheus.NewRegistry(), Log: zap.New(core), Lost: func(_ string, n int) { lost.Add(int64(n)) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return e, lost, logged
}

func call() *execute.Event {
	e := &execute.Event{At: time.Now(), Took: time.Millisecond, Span: trace.Continue(sampled), Service: "shop.example"}
	e.Steps[execute.Authenticate] = 1
	return e
}

// maxHeld is the maximum number of spans that are held for a collector that does not respond: those of the requests and calls that wait,
// the queue of the SDK, one batch that is sent, and one span between the queues.
const maxHeld = 2048 + 2048 + 512 + 1

// A collector that does not respond costs a bounded amount of memory, and all spans beyond it are counted. When it responds again, it gets
// the spans that were held.
func TestSpansThatTheCollectorDoesNotTakeAreCounted(t *testing.T) {
	c := collector.New(t)
	release := c.Hold()
	e, lost, _ := open(t, c.URL)
	const calls = 20_000
	for range calls {
		e.Traces.Record(call())
	}
	if held := calls - lost.Load(); held > maxHeld || held == 0 {
		t.Errorf("%d spans are held for a collector that does not respond, want at most %d", held, maxHeld)
	}
	release()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if got := int64(len(c.Spans())); got != calls-lost.Load() {
		t.Errorf("the collector received %d spans, and %d of %d are counted as lost", got, lost.Load(), calls)
	}
}

// A collector that never responds does not prevent the end of the process.
func TestCloseEndsWithoutTheCollector(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	defer c.Hold()()
	e, lost, _ := open(t, c.URL)
	for range 20_000 {
		e.Traces.Record(call())
	}
	if err := e.Close(); err != nil || lost.Load() == 0 {
		t.Errorf("%d spans are lost: %v", lost.Load(), err)
	}
}

func TestANilTracesContinuesTraces(t *testing.T) {
	var none *telemetry.Traces
	span := none.Begin(sampled)
	if span.TraceID() != sampled[3:35] || span.ParentID() != sampled[36:52] || !span.Sampled() {
		t.Errorf("got %+v", span)
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

// A request that the sampler does not select allocates no more than a request to a gateway without telemetry.
func TestRequestThatIsNotSampledAllocatesNothing(t *testing.T) {
	c := collector.New(t)
	e, _, _ := openWith(t, c.URL, 1_000_000_000)
	event := call()
	event.Span = trace.Continue("")
	var none *telemetry.Traces
	request := func(traces *telemetry.Traces) float64 {
		return testing.AllocsPerRun(1000, func() {
			span := traces.Begin("")
			traces.Record(event)
			traces.Request(telemetry.Request{Span: span, Status: 200, Call: event})
		})
	}
	if without, with := request(none), request(e.Traces); with > without {
		t.Errorf("%v allocations, %v without telemetry", with, without)
	}
	if err := e.Close(); err != nil || len(c.Spans()) > 0 {
		t.Errorf("%d spans: %v", len(c.Spans()), err)
	}
}

func BenchmarkRequestThatIsNotSampled(b *testing.B) {
	e, _, _ := openWith(b, "http://127.0.0.1:9", 1_000_000_000)
	event := call()
	event.Span = trace.Continue("")
	for name, traces := range map[string]*telemetry.Traces{"off": nil, "on": e.Traces} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				span := traces.Begin("")
				traces.Record(event)
				traces.Request(telemetry.Request{Span: span, Status: 200, Call: event})
			}
		})
	}
}
