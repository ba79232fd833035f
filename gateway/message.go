package gateway

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

var _ door.Host = (*Server)(nil)

// Search implements door.Host.
func (s *Server) Search(ctx context.Context, from door.Origin, query url.Values) (page intents.Page, err error) {
	err = s.message(ctx, &from, http.MethodGet, "/api/intents/search", func(x *exchange) error {
		page, err = find(x.service, query)
		return err
	})
	return page, err
}

// Policy implements door.Host.
func (s *Server) Policy(ctx context.Context, from door.Origin) error {
	return s.message(ctx, &from, http.MethodGet, "/api/policy", func(*exchange) error { return nil })
}

// Agree implements door.Host.
func (s *Server) Agree(ctx context.Context, from door.Origin, r pat.IssueRequest) (issued pat.Issuance, err error) {
	err = s.message(ctx, &from, http.MethodPost, "/api/pat/issue", func(x *exchange) error { //nolint:contextcheck // x carries ctx
		if err := x.confidential(); err != nil {
			return err
		}
		issued, err = s.Agreements.Issue(x, x.agreeCall(), func() (pat.IssueRequest, error) { return r, nil })
		return err
	})
	return issued, err
}

// Renew implements door.Host.
func (s *Server) Renew(ctx context.Context, from door.Origin, r pat.RenewRequest) (issued pat.Issuance, err error) {
	err = s.message(ctx, &from, http.MethodPost, "/api/pat/renew", func(x *exchange) error { //nolint:contextcheck // x carries ctx
		if err := x.confidential(); err != nil {
			return err
		}
		issued, err = s.Agreements.Renew(x, x.agreeCall(), func() (pat.RenewRequest, error) { return x.ofSender(r), nil })
		return err
	})
	return issued, err
}

// Execute implements door.Host.
func (s *Server) Execute(ctx context.Context, from door.Origin, c door.Call) (result execute.Result, err error) {
	err = s.message(ctx, &from, http.MethodPost, "/api/intents/execute", func(x *exchange) error { //nolint:contextcheck // x carries ctx
		call := execute.Call{
			Door: from.Door, Sender: from.Sender, SenderKey: from.SenderKey, Proved: from.Proved, Token: c.Token, Proof: c.Proof,
			Service:   func() *service.Service { return s.Directory.Current().Service(from.Service) },
			RequestID: x.requestID, Span: x.span, Observe: func(e *execute.Event) { x.Event = e }, HandedOn: true, Reencoded: true,
			Read: func() (execute.Request, error) { return x.readMessage(c.Body) },
		}
		if c.IdempotencyKey != "" {
			if call.IdempotencyKey, err = execute.ParseIdempotencyKey(c.IdempotencyKey); err != nil {
				return err
			}
		}
		result, err = s.pipeline.Execute(x, call)
		return err
	})
	return result, err
}

// Unapproved implements door.Host.
func (s *Server) Unapproved(ctx context.Context, service string, key keys.ID) bool {
	return s.Executor.UnapprovedKey(ctx, service, key)
}

// message handles one request that came in a message, as guard handles one over HTTP. It logs the request under the method and the path
// that such a request has over HTTP. The error is a *reason.Refusal.
func (s *Server) message(ctx context.Context, from *door.Origin, method, path string, do func(x *exchange) error) error {
	x := &exchange{Context: ctx, origin: from, requestID: from.RequestID, address: string(from.Sender), span: s.Traces.Begin("")}
	s.Memory.Start(&x.share)
	defer x.share.Close()
	began, status := s.Now(), http.StatusOK
	err := s.carryOut(x, began, do)
	if err != nil {
		x.Refusal = refusal.For(err)
		status, err = x.Refusal.Status(), x.Refusal
	}
	if x.Agreement != nil && x.Agreement.Pending {
		status = http.StatusAccepted
	}
	s.logRequest(x, line{began, method, path, status, s.Now().Sub(began)})
	return err
}

func (s *Server) carryOut(x *exchange, began time.Time, do func(x *exchange) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(x, p)
		}
	}()
	if err := s.admit(x, began); err != nil {
		return err
	}
	if x.service, err = named(s.Directory.Current(), x.origin.Service); err != nil {
		return err
	}
	return do(x)
}

// readMessage reads the body of a call that came in a message. The PAT of the call must have been accepted.
func (x *exchange) readMessage(body []byte) (execute.Request, error) {
	x.share.Known()
	if int64(len(body)) > x.service.MaxBody {
		return execute.Request{}, reason.BodyTooLarge.Refusal("").With("max_bytes", x.service.MaxBody)
	}
	if err := wire.Affords(x, body); err != nil {
		return execute.Request{}, err
	}
	return door.ReadExecute(body, x.service)
}
