package telemetry

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/trace"
)

// A call holds those parts of an Event that the spans of the call need. It does not refer to the Event, so that the memory of the call can
// be freed.
type call struct {
	span, client trace.Span
	at           time.Time
	took         time.Duration
	steps        execute.StepTimes
	name         string // the name of the span of the operation; empty: the call has no operation
	attributes   []attribute.KeyValue
	service      string
	route        *upstream.Route
	status       int // the status of the service's response
	reason       string
	failed       bool
}

// Record implements execute.Recorder: it exports the spans of a call. Each step that the call reached has a span, below the span of the
// request. Below the span of the step call, there is a span for the call to the service, with kind CLIENT. In a protocol with operations,
// the span of the operation lies between the span of the request and those of the steps.
func (t *Traces) Record(e *execute.Event) {
	if t == nil || e.Span == (trace.Span{}) || !exported(e.Span, 0, e) {
		return
	}
	c := &call{
		span: e.Span, client: e.Client, at: e.At, took: e.Took, steps: e.Steps, service: e.Service, route: e.Route, status: e.Status,
		reason: string(e.Reason), failed: failed(e),
	}
	if o := e.Operation; o != nil {
		c.name = o.Name
		c.attributes = append(attributes(e), o.Attributes...)
		if o.Target != "" && e.Intent != "" { // otherwise the target may be any string that the agent chose
			c.name += " " + o.Target
			c.attributes = append(c.attributes, attribute.String("gen_ai.tool.name", o.Target))
		}
	}
	t.enqueue(c.spans(), func(t *Traces) { t.call(c) })
}

// spans returns the number of spans that Traces.call exports.
func (c *call) spans() (n int) {
	if c.name != "" {
		n++
	}
	for step := execute.Authenticate; step <= execute.Settle; step++ {
		if _, reached := c.steps.Began(step); reached {
			n++
			if step == execute.Send { // with a span of the call to the service
				n++
			}
		}
	}
	return n
}

// attributes returns attributes that describe a call. They contain no parameters, tokens or keys.
func attributes(e *execute.Event) []attribute.KeyValue {
	out := []attribute.KeyValue{
		attribute.String("uimgate.service", e.Service), attribute.String("uimgate.intent", e.Intent),
		attribute.String("uimgate.decision", e.Decision), attribute.String("uimgate.agreement", e.AgreementID),
		attribute.String("uimgate.execution", e.ExecutionID), attribute.String("uimgate.outcome", string(e.Outcome)),
		attribute.String("uimgate.door", e.Door),
	}
	out = slices.DeleteFunc(out, func(a attribute.KeyValue) bool { return a.Value.AsString() == "" })
	if e.Replayed {
		out = append(out, attribute.Bool("uimgate.replayed", true))
	}
	return out
}

func (t *Traces) call(c *call) {
	fault := ""
	if c.failed {
		fault = c.reason
	}
	if c.name != "" {
		with := c.attributes
		if c.reason != "" {
			with = append(with, attribute.String("uimgate.reason", c.reason))
		}
		t.export(span{c.span, c.name, oteltrace.SpanKindServer, c.at, c.at.Add(c.took), with, fault})
	}
	until := c.took
	last := true // the step that decided how the call ended
	for step := execute.Settle; step >= execute.Authenticate; step-- {
		began, reached := c.steps.Began(step)
		if !reached {
			continue
		}
		s := span{c.span.Child(), step.String(), oteltrace.SpanKindInternal, c.at.Add(began), c.at.Add(until), nil, ""}
		if last && c.reason != "" {
			s.with, s.fault = []attribute.KeyValue{attribute.String("uimgate.reason", c.reason)}, fault
		}
		if step == execute.Send {
			s.place = trace.Between(c.span, c.client)
			t.upstream(c, s.from, s.to)
		}
		t.export(s)
		until, last = began, false
	}
}

// upstream exports the span of the call to the service, according to the semantic conventions of OpenTelemetry for HTTP clients.
func (t *Traces) upstream(c *call, from, to time.Time) {
	target := c.route.Target()
	with := []attribute.KeyValue{
		attribute.String("http.request.method", target.Method), attribute.String("url.template", target.Template),
		attribute.String("server.address", target.Host), attribute.String("uimgate.service", c.service),
	}
	if port, err := strconv.Atoi(target.Port); err == nil {
		with = append(with, attribute.Int("server.port", port))
	}
	fault := ""
	if c.status > 0 {
		with = append(with, attribute.Int("http.response.status_code", c.status))
	}
	if c.status >= 400 || c.status == 0 {
		fault = cmp.Or(c.reason, "_OTHER")
	}
	t.export(span{c.client, target.Method + " " + target.Template, oteltrace.SpanKindClient, from, to, with, fault})
}
