package gateway

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/telemetry"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

// A line is the log entry of a request.
type line struct {
	began         time.Time
	method, route string
	status        int
	took          time.Duration
}

// logRequest logs a request in one line, and counts it. If too many requests of unauthenticated clients are refused, it logs some of these
// individually, and only the number of the rest.
func (s *Server) logRequest(x *exchange, l line) {
	s.Metrics.Request(l.route, l.status, l.took, x.span)
	s.Traces.Request(telemetry.Request{
		Span: x.span, At: l.began, Took: l.took, Method: wire.Method(l.method), Route: l.route, Status: l.status, Call: x.Event,
		ID: x.requestID, Refusal: x.Refusal, Service: x.serviceID(), Door: x.door(),
	})
	s.count(&x.Outcome)
	s.indexed(x, l)
	now := s.Now()
	for _, summary := range s.floods.over(now) {
		s.Log.Warn("refusals not logged individually", zap.String("reason", string(summary.reason)), zap.Int("refused", summary.left))
	}
	if x.Refusal != nil && !x.known() && !s.floods.logs(x.Refusal.Reason, now) {
		return
	}
	if e := x.Event; e != nil && e.UndeclaredCount > 0 {
		if entry := s.Log.Check(zap.DebugLevel, "the response has members that the intent does not declare"); entry != nil {
			entry.Write(zap.String("request_id", string(x.requestID)), zap.String("intent_uid", e.Intent),
				zap.Strings("members", e.Undeclared), zap.Int("count", e.UndeclaredCount))
		}
	}
	level := zap.InfoLevel
	if l.status >= http.StatusInternalServerError {
		level = zap.ErrorLevel
	}
	if entry := s.Log.Check(level, "request"); entry != nil {
		entry.Write(l.fields(x)...)
	}
}

// count counts the refusal of an outcome by its cause if the refusal is due to overload.
func (s *Server) count(o *door.Outcome) {
	if o.Refusal != nil && o.Event == nil && o.Agreement == nil { // otherwise it was counted with the event
		s.Metrics.Shed(o.Refusal.Shed)
	}
}

// indexed adds a request to the index. It omits calls, which the Executor records, and requests that neither failed nor concern an
// agreement.
func (s *Server) indexed(x *exchange, l line) {
	if s.Index == nil || x.Event != nil || x.Refusal == nil && x.Agreement == nil {
		return
	}
	s.Index.RecordExchange(&record.Exchange{
		At: l.began, RequestID: x.requestID, Request: wire.Method(l.method) + " " + cmp.Or(l.route, "(no such path)"), Door: x.door(),
		Service: x.serviceID(), Status: l.status, Refusal: x.Refusal, Agreement: x.Agreement,
		TraceID: x.span.TraceID(),
	})
}

// fields returns the fields of the line.
func (l line) fields(x *exchange) []zap.Field {
	fields := []zap.Field{
		zap.String("request_id", string(x.requestID)), zap.String("method", wire.Method(l.method)), zap.String("route", l.route),
		zap.Int("status", l.status), zap.Duration("took", l.took), zap.String("address", x.address),
		zap.String("trace_id", x.span.TraceID()), zap.String("span_id", x.span.ID()),
	}
	if id := x.serviceID(); id != "" {
		fields = append(fields, zap.String("service", id))
	}
	if name := x.door(); name != "" && x.Event == nil { // the fields of an Event include its door
		fields = append(fields, zap.String("door", name))
	}
	return append(fields, outcomeFields(&x.Outcome, x.service, l.status)...)
}

// outcomeFields returns the log fields of the outcome of a request that was answered with status. of may be nil.
func outcomeFields(o *door.Outcome, of *service.Service, status int) (fields []zap.Field) {
	if o.Event != nil {
		fields = append(fields, record.Fields(o.Event)...)
	}
	if o.Agreement != nil {
		fields = append(fields, record.AgreementFields(o.Agreement)...)
	}
	if o.Refusal != nil {
		fields = append(fields, zap.String("code", string(o.Refusal.Code)), zap.String("reason", string(o.Refusal.Reason)))
		if r := o.Refusal.Reason; of != nil && (r == reason.UpstreamUnreachable || r == reason.UpstreamTimeout) {
			fields = append(fields, zap.String("upstream", of.Upstream.Address()))
		}
		if cause := o.Refusal.Unwrap(); cause != nil && status >= http.StatusInternalServerError {
			fields = append(fields, zap.Error(wire.Loggable(cause)))
		}
	}
	return fields
}

// serviceID returns the id of the service that the request is for. It is empty if the request was refused before the service was known.
func (x *exchange) serviceID() string {
	if x.service == nil {
		return ""
	}
	return x.service.ID
}

// door returns the name of the door whose message brought the request. It is empty for a request over HTTP.
func (x *exchange) door() string {
	if x.origin == nil {
		return ""
	}
	return x.origin.Door
}

// known reports whether the agent that sent a request was authenticated.
func (x *exchange) known() bool {
	return (x.Event != nil && x.Event.AgentID != "") || (x.Agreement != nil && x.Agreement.AgentID != "")
}

const (
	// loggedPerFlood is how many refusals of unauthenticated clients are logged for each reason in each floodTime. The rest are counted.
	loggedPerFlood = 50
	floodTime      = 10 * time.Second
)

// floods keep refusals of unauthenticated clients from filling the log. They are safe for concurrent use.
type floods struct {
	mu    sync.Mutex
	since time.Time
	seen  map[reason.Reason]int
}

// A summary is the number of refusals with one reason that were not logged individually.
type summary struct {
	reason reason.Reason
	left   int
}

// logs counts a refusal, and reports whether it should be logged.
func (f *floods) logs(r reason.Reason, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.since, f.seen = now, map[reason.Reason]int{}
	}
	f.seen[r]++
	return f.seen[r] <= loggedPerFlood
}

// over ends the current period if floodTime has passed since it began, and returns a summary for each reason with refusals that were not
// logged. Otherwise it returns nil.
func (f *floods) over(now time.Time) []summary {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil || now.Sub(f.since).Abs() < floodTime {
		return nil
	}
	var out []summary
	for r, n := range f.seen {
		if n > loggedPerFlood {
			out = append(out, summary{r, n - loggedPerFlood})
		}
	}
	f.seen = nil
	slices.SortFunc(out, func(a, b summary) int { return strings.Compare(string(a.reason), string(b.reason)) })
	return out
}
