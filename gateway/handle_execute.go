package gateway

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/payments/x402"
)

// execute handles POST /api/intents/execute and POST /api/intents/execute/{intent_uid}. If the path names the intent, the body need not.
// The PAT is verified before the body is read. See UIM core, section 3.2.
func (s *Server) execute(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	began, draft := s.Now(), wantsDraft(r)
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	token, err := wire.Bearer(r.Header)
	if err != nil {
		return err
	}
	payment, err := payment(r, x.service)
	if err != nil {
		return err
	}
	call := execute.Call{
		Payment: payment,
		Service: func() *service.Service { return s.serving(r) }, Token: token, IdempotencyKey: key, Proof: r.Header.Get(headerProof),
		Confirmation: r.Header.Get(headerConfirmation),
		Caller:       s.caller(r, x.client),
		RequestID:    x.requestID, Span: x.span,
		Observe: func(e *execute.Event) { x.Event = e }, HandedOn: !draft,
		Read: func() (execute.Request, error) {
			door.Accepted(r)
			return readCall(r, x.service, c.Param("uid"))
		},
	}
	if o := x.origin; o != nil {
		call.Door, call.Sender, call.SenderKey, call.Proved = o.Door, o.Sender, o.SenderKey, o.Proved
	}
	stream := streamFor(c)
	if stream != nil && !draft && x.origin == nil {
		call.Stream, call.Progress = stream.event, stream.progress
	}
	result, err := s.Executor.Execute(r.Context(), call)
	if stream != nil && stream.begun {
		if err != nil {
			stream.refuse(x, err)
			return nil
		}
		stream.end(&result)
		result.Sent()
		return nil
	}
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h["Cache-Control"] = noStore
	door.WriteHeader(h, &result)
	if !draft {
		h[echo.HeaderContentType] = applicationJSON
		if err := c.Blob(http.StatusOK, applicationJSON[0], result.Output); err != nil {
			return err // without Sent: part of the output may still be in transmission
		}
		result.Sent()
		return nil
	}
	body, err := door.DraftEnvelope(&result, s.Now().Sub(began))
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, wire.MediaType, body)
}

// payment returns the payment that came with a request, or nil if there is none, or if the service does not take payments.
func payment(r *http.Request, s *service.Service) (*x402.Payload, error) {
	if s.Payments.X402 == nil {
		return nil, nil //nolint:nilnil // the field belongs to another protocol
	}
	return wire.Payment(r.Header)
}

// readCall reads the body of a call. uid is the escaped intent uid in the path, or empty if the path has none.
func readCall(r *http.Request, s *service.Service, uid string) (call execute.Request, err error) {
	body, err := wire.ReadJSON(r, s.MaxBody)
	if err != nil {
		return call, err
	}
	if uid == "" {
		return door.ReadExecute(body, s)
	}
	tree, err := wire.ObjectOf(body)
	if err != nil {
		return call, err
	}
	return door.ParseNamed(tree, s, uid)
}

// Header values that responses share. They must not be modified.
var (
	noStore         = []string{"no-store"}
	applicationJSON = []string{"application/json"}
	noSniff         = []string{"nosniff"}
)

// wantsDraft reports whether the client requested the envelope of draft-uim-protocol-core-01.
func wantsDraft(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get(headerVersion), "1.") || strings.Contains(r.Header.Get("Accept"), wire.MediaType)
}

// idempotencyKey returns the Idempotency-Key of a request, or an empty key if the request has none.
func idempotencyKey(h http.Header) (execute.IdempotencyKey, error) {
	values, sent := h[headerIdempotencyKey]
	if !sent {
		return "", nil
	}
	return execute.ParseIdempotencyKey(values[0])
}
