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

// Traces creates the spans of requests and calls after they have ended, from the same data as the log and the audit stream. So a request
// that is not exported costs only two comparisons, and package execute does not depend on OpenTelemetry. A nil *Traces exports nothing. It
// is safe for concurrent use.
type Traces struct {
	tracer  oteltrace.Tracer
	sampler sdktrace.Sampler
	queue   chan func(*Traces)
	lost    func(spans int)
}

// waiting is the maximum number of requests and calls whose spans have not been created yet. The spans of further ones are lost and
// counted.
const waiting = 2048

// A Request is one request that has ended, and that came over HTTP or in a message of a door.
type Request struct {
	Span    trace.Span
	At      time.Time
	Took    time.Duration
	Method  string // the HTTP method
	Route   string // path with the names of its parameters; empty: there is no route for the path
	Status  int
	ID      execute.RequestID
	Service string          // id of the service; empty: not known
	Door    string          // the door of the message; empty: the request came over HTTP
	Refusal *reason.Refusal // nil: the request was not refused
	Call    *execute.Event  // nil: the request made no call
}

// Begin returns a span for a request that begins, as a child of the span in the sender's traceparent. Without a valid traceparent, the span
// begins a new trace. The sampler decides whether the span is sampled.
func (t *Traces) Begin(traceparent string) trace.Span {
	span := trace.Continue(traceparent)
	if t == nil {
		return span
	}
	return span.Sample(t.samples(span))
}

// samples reports whether the sampler samples a span.
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

// exported reports whether the spans of a request are exported: it was sampled, or it failed for a reason that is not the agent's.
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

// Request exports the span of a request that has ended, with kind SERVER, according to the semantic conventions of OpenTelemetry for HTTP
// servers. The values to which r refers must not change afterwards.
func (t *Traces) Request(r Request) {
	if t == nil || !exported(r.Span, r.Status, r.Call) {
		return
	}
	var of []attribute.KeyValue
	if r.Call != nil && r.Call.Operation == nil { // otherwise the span of the operation has these attributes
		of = attributes(r.Call)
	}
	r.Call = nil // otherwise the queue would keep the memory of the call
	t.enqueue(1, func(t *Traces) { t.request(&r, of) })
}

// enqueue makes run call work later. If too many functions wait, enqueue drops work, and counts its spans as lost.
func (t *Traces) enqueue(spans int, work func(*Traces)) {
	select {
	case t.queue <- work:
	default:
		t.lost(spans)
	}
}

// run calls the functions in the queue until stop is closed. It then calls those that still wait, and returns.
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

// A span holds the data of a span that is exported.
type span struct {
	place    trace.Span
	name     string
	kind     oteltrace.SpanKind
	from, to time.Time
	with     []attribute.KeyValue
	fault    string // error.type; empty: no error
}

// export passes a span to the SDK.
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

// ids implements sdktrace.IDGenerator. It gives spans the ids that they got when they began.
type ids struct{}

// NewIDs returns the trace id and the span id for the root of a trace.
func (g ids) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	place, _ := ctx.Value(idsKey{}).(trace.Span)
	var id oteltrace.TraceID
	_, _ = hex.Decode(id[:], []byte(place.TraceID()))
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID returns the id for a span that has a parent.
func (ids) NewSpanID(ctx context.Context, _ oteltrace.TraceID) (id oteltrace.SpanID) {
	place, _ := ctx.Value(idsKey{}).(trace.Span)
	_, _ = hex.Decode(id[:], []byte(place.ID()))
	return id
}
