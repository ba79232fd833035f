// Package door has the interfaces of doors: protocols other than UIM over HTTP that agents call services with. A Door parses requests,
// calls package execute or agree, and renders the results. It contains no rule of its own.
package door

import (
	"context"
	"net/http"
	"slices"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// A Door answers requests at paths that each service gives it. It is safe for concurrent use.
type Door interface {
	// Route returns the name of the handler of a path of a service, for the log and the metrics: one of a few names. Empty: the door does
	// not serve the path. It is called for every request, so it must be quick.
	Route(s *service.Definition, path string) string
	// Serve answers a request whose path has a Route.
	Serve(w http.ResponseWriter, r *http.Request, v *Visit)
}

// A Visit is one request to a Door, as the listener saw it.
type Visit struct {
	Service *service.Service        // that the request is for
	Serving func() *service.Service // the same as it is served at the moment; nil where it is not any more
	// RequestID finds the request in the log.
	RequestID execute.RequestID
	Caller    service.Caller
	Address   string // that the limits on requests of one client count under
	Executor  *execute.Executor
	// Later records the outcome of an answer that is sent after the request has ended. It is called at most once, then.
	Later func(Delivery)
	Outcome
}

// An Outcome is what the listener writes down of a request beside its status.
type Outcome struct {
	Event     *execute.Event  // of a call
	Agreement *agree.Event    // of a request about agreements
	Refusal   *reason.Refusal // what was answered, if it was a failure
}

// A Delivery is the outcome of an answer that was sent to an agent after its request had ended.
type Delivery struct {
	Outcome

	Door   string
	Became string // delivered, or why it was not: one of a few words, which are labels of a metric
}

// Call is a call of this visit, still without token and body.
func (v *Visit) Call(name string, r *http.Request) execute.Call {
	return execute.Call{
		Door: name, Service: v.Serving, Caller: v.Caller, RequestID: v.RequestID,
		Traceparent: execute.ContinueTrace(r.Header.Get("Traceparent")),
		Observe:     func(e *execute.Event) { v.Event = e },
	}
}

// About returns what a refusal states about the request of this visit.
func (v *Visit) About(f *reason.Refusal) wire.About {
	return wire.About{RequestID: string(v.RequestID), HelpURL: v.Service.HelpURL(f.Reason)}
}

// AgreeCall returns a request of this visit to the agree.Service.
func (v *Visit) AgreeCall() agree.Call {
	return agree.Call{Service: v.Service, From: v.Address, Observe: func(e *agree.Event) { v.Agreement = e }}
}

// Identify verifies the PAT of a call before the door reads the body, and returns its claims. A client whose PAT is accepted keeps its
// connection when there are too many, and gets memory for the body. See execute.Executor.Identify.
func (v *Visit) Identify(r *http.Request, c *execute.Call) (*pat.Claims, error) {
	claims, err := v.Executor.Identify(r.Context(), c)
	if err == nil {
		Accepted(r)
	}
	return claims, err
}

// Execute makes a call. The caller owns the output. See execute.Executor.Execute.
func (v *Visit) Execute(ctx context.Context, c execute.Call) (execute.Result, error) {
	result, err := v.Executor.Execute(ctx, c)
	if err != nil {
		return result, err
	}
	output := slices.Clone(result.Output)
	result.Sent()
	result.Output = output
	return result, nil
}

// Accepted notes that the PAT of a call was accepted: the body and the connection no longer count as a stranger's.
func Accepted(r *http.Request) {
	membudget.Of(r.Context()).Known()
	connlimit.Of(r.Context()).Keep()
}
