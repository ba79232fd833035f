package telemetry

import (
	"context"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/internal/reason"
)

// Traces makes spans of requests and calls after they have ended, from what the log and the audit stream get as well: so a request that
// is not exported costs two comparisons, and the execute path does not depend on OpenTelemetry. A nil *Traces exports nothing. It is safe
// for concurrent use.
type Traces struct {
	tracer  oteltrace.Tracer
	sampler sdktrace.Sampler
	queue   chan func(*Traces)
	lost    func(spans int)
}

// waiting bounds the requests and calls whose spans are not made yet. More are lost, and counted.
const waiting = 2048

// A Request is one request that has ended: over HTTP, or in a message of a door.
type Request struct {
	Span    trace.Span
	At      time.Time
	Took    time.Duration
	Method  string // of HTTP
	Route   string // path with its parameters' names; empty: no route has the path
	Status  int
	ID      execute.RequestID
	Service string          // its id; empty: not known
	Door    string          // of the message; empty: the request came over HTTP
	Refusal *reason.Refusal // nil: the request was not refused
	Call    *execute.Event  // nil: the request made no call
}

// Begin returns a span for a request that begins, below the span of the sender's traceparent. Without a valid one it begins a trace, and
// decides whether the trace is sampled.
func (t *Traces) Begin(traceparent string) trace.Span {
	span := trace.Continue(traceparent)
	if t == nil {
		return span
	}
	return span.Sample(t.samples(span))
}

// samples asks the sampler about a span.
func (t *Traces) samples(s trace.Span) bool {
	id, _ := oteltrace.TraceIDFromHex(s.TraceID())
	parameters := sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id, Kind: oteltrace.SpanKindServer}
	if s.ParentID() != "" {
		parameters.ParentContext = oteltrace.ContextWithRemoteSpanContext(parameters.ParentContext, parent(s))
	}
	return t.sampler.ShouldSample(parameters).Decision == sdktrace.RecordAndSample
}

// parent returns the context of the span above s. It is not valid for the root of a trace.
func parent(s trace.Span) oteltrace.SpanContext {
	id, _ := oteltrace.TraceIDFromHex(s.TraceID())
	above, _ := oteltrace.SpanIDFromHex(s.ParentID())
	flags := oteltrace.TraceFlags(0).WithSampled(s.Sampled())
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: id, SpanID: above, TraceFlags: flags, Remote: true})
}

// exported reports whether the spans of a request are exported: those of a sampled trace, and of each failure that is not the agent's.
func exported(s trace.Span, status int, call *execute.Event) bool {
	if s.Sampled() || status >= http.StatusInternalServerError {
		return true
	}
	return call != nil && failed(call)
}

// failed reports whether a call failed for a reason that is not the agent's.
func failed(e *execute.Event) bool {
	return e.Reason != "" && e.Reason.Status() >= http.StatusInternalServerError
}

// Request exports the span of a request that has ended, with kind SERVER. OpenTelemetry semantic conventions for HTTP servers. The
// request must not change afterwards.
func (t *Traces) Request(r Request) {
	if t == nil || !exported(r.Span, r.Status, r.Call) {
		return
	}
	var of []attribute.KeyValue
	if r.Call != nil && r.Call.Operation == nil { // otherwise the operation has a span of its own
		of = attributes(r.Call)
	}
	r.Call = nil // it would keep the memory of the call
	t.enqueue(1, func(t *Traces) { t.request(&r, of) })
}

// enqueue has a function make spans later. If too many wait, their number is counted as lost.
func (t *Traces) enqueue(spans int, work func(*Traces)) {
	select {
	case t.queue <- work:
	default:
		t.lost(spans)
	}
}

// run makes spans until stop is closed, and then those that still wait.
func (t *Traces) run(stop <-chan struct{}) {
	for {
		select {
		case work := <-t.queue:
			work(t)
		case <-stop:
			for {
				select {
				case work := <-t.queue:
					work(t)
				default:
					return
				}
			}
		}
	}
}

func (t *Traces) request(r *Request, of []attribute.KeyValue) {
	name := r.Method
	with := of
	with = append(with, attribute.String("http.request.method", r.Method), attribute.Int("http.response.status_code", r.Status),
		attribute.String("uimgate.request_id", string(r.ID)))
	if r.Route != "" {
		name += " " + r.Route
		with = append(with, attribute.String("http.route", r.Route))
	}
	if r.Service != "" {
		with = append(with, attribute.String("uimgate.service", r.Service))
	}
	if r.Door != "" {
		with = append(with, attribute.String("uimgate.door", r.Door))
	}
	if r.Refusal != nil {
		with = append(with, attribute.String("uimgate.reason", string(r.Refusal.Reason)))
	}
	fault := ""
	if r.Status >= http.StatusInternalServerError {
		fault = strconv.Itoa(r.Status)
	}
	t.export(span{r.Span, name, oteltrace.SpanKindServer, r.At, r.At.Add(r.Took), with, fault})
}

// A span is what is exported of a span.
type span struct {
	place    trace.Span
	name     string
	kind     oteltrace.SpanKind
	from, to time.Time
	with     []attribute.KeyValue
	fault    string // error.type; empty: no error
}

// export hands a span to the SDK.
func (t *Traces) export(s span) {
	ctx := context.WithValue(context.Background(), idsKey{}, s.place)
	if s.place.ParentID() != "" {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, parent(s.place))
	}
	if s.fault != "" {
		s.with = append(s.with, attribute.String("error.type", s.fault))
	}
	_, made := t.tracer.Start(ctx, s.name, oteltrace.WithTimestamp(s.from), oteltrace.WithSpanKind(s.kind),
		oteltrace.WithAttributes(s.with...))
	if s.fault != "" {
		made.SetStatus(codes.Error, "")
	}
	made.End(oteltrace.WithTimestamp(s.to))
}

type idsKey struct{}

// ids gives spans the ids that were decided when they began. It implements sdktrace.IDGenerator.
type ids struct{}

// NewIDs returns the ids of the root of a trace.
func (g ids) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	place, _ := ctx.Value(idsKey{}).(trace.Span)
	var id oteltrace.TraceID
	_, _ = hex.Decode(id[:], []byte(place.TraceID()))
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID returns the id of a span below another.
func (ids) NewSpanID(ctx context.Context, _ oteltrace.TraceID) (id oteltrace.SpanID) {
	place, _ := ctx.Value(idsKey{}).(trace.Span)
	_, _ = hex.Decode(id[:], []byte(place.ID()))
	return id
}
