package door

import (
	"context"
	"net/http"
	"slices"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// A Request is one HTTP request to a Door, as the listener received it. Its methods carry out the agent's request, as those of a Host do
// for requests in messages.
type Request struct {
	Service *service.Service        // the service to which the request was sent
	Serving func() *service.Service // returns Service with its current configuration, or nil if it is no longer served
	// RequestID identifies the request in the log.
	RequestID execute.RequestID
	Caller    service.Caller
	Address   string     // the key that limits use for the client
	Span      trace.Span // the span of the request
	// Continue returns a new span below the span whose traceparent a message carries.
	Continue func(traceparent string) trace.Span
	// Document responds to a GET request, as if the same client had sent it to a path and query of the service's own listener.
	Document func(ctx context.Context, target string) Document
	// Later records the outcome of a reply that is sent after the request has ended. A door calls it at most once.
	Later func(Delivery)
	Pipeline
	Outcome
}

// A Pipeline carries out the requests of all doors. Doors use it through the methods of a Request, which include those of the Executor.
type Pipeline struct {
	*executor

	agreements *agree.Service
}

type executor = execute.Executor

// NewPipeline returns a Pipeline.
func NewPipeline(x *execute.Executor, a *agree.Service) Pipeline { return Pipeline{x, a} }

// SpanOf returns a span for a call in a message. If the message carries the traceparent of its sender and header has no traceparent, the
// span is a child of the sender's span; otherwise it is a child of the request's span.
func (q *Request) SpanOf(header http.Header, traceparent string) trace.Span {
	if traceparent != "" && header.Get("Traceparent") == "" {
		return q.Continue(traceparent)
	}
	return q.Span.Child()
}

// Call returns an execute.Call for this request, without a token and a body. name is the name of the door.
func (q *Request) Call(name string) execute.Call {
	return execute.Call{
		Door: name, Service: q.Serving, Caller: q.Caller, RequestID: q.RequestID,
		Span:    q.Span,
		Observe: func(e *execute.Event) { q.Event = e },
	}
}

// About returns the request id and the help URL for the envelope of a refusal of this request.
func (q *Request) About(f *reason.Refusal) wire.About {
	return wire.About{RequestID: string(q.RequestID), HelpURL: q.Service.HelpURL(f.Reason)}
}

// AgreeCall returns an agree.Call for this request. Packages agree and consent use it to count and record the request.
func (q *Request) AgreeCall() agree.Call {
	return agree.Call{Service: q.Service, From: q.Address, Observe: func(e *agree.Event) { q.Agreement = e }}
}

// Issue makes an agreement and issues its PAT. It calls read only if the caller is within its limits. See agree.Service.Issue.
func (q *Request) Issue(ctx context.Context, read func() (pat.IssueRequest, error)) (pat.Issuance, error) {
	return q.agreements.Issue(ctx, q.AgreeCall(), read)
}

// Renew issues the successor of a PAT. See agree.Service.Renew.
func (q *Request) Renew(ctx context.Context, read func() (pat.RenewRequest, error)) (pat.Issuance, error) {
	return q.agreements.Renew(ctx, q.AgreeCall(), read)
}

// Revoke revokes a PAT. See agree.Service.Revoke.
func (q *Request) Revoke(ctx context.Context, token string) error {
	return q.agreements.Revoke(ctx, q.AgreeCall(), token)
}

// Identify verifies the PAT of a call before the door reads the body, and returns the claims of the PAT. If the PAT is accepted, Identify
// calls Accepted. See execute.Executor.Identify.
func (q *Request) Identify(r *http.Request, c *execute.Call) (*pat.Claims, error) {
	claims, err := q.executor.Identify(r.Context(), c)
	if err == nil {
		Accepted(r)
	}
	return claims, err
}

// Execute makes a call. The caller owns the output. See execute.Executor.Execute.
func (p Pipeline) Execute(ctx context.Context, c execute.Call) (execute.Result, error) {
	result, err := p.executor.Execute(ctx, c)
	if err != nil {
		return result, err
	}
	output := slices.Clone(result.Output)
	result.Sent()
	result.Output = output
	return result, nil
}

// Unapproved reports whether the operator has not approved a principal. See execute.Executor.Unapproved.
func (q *Request) Unapproved(ctx context.Context, of pat.Principal) bool {
	return q.executor.Unapproved(ctx, q.Service.ID, of)
}

// Accepted records that the PAT of a call was accepted: the body and the connection no longer count as unauthenticated.
func Accepted(r *http.Request) {
	membudget.Of(r.Context()).Known()
	connlimit.Of(r.Context()).Keep()
}
