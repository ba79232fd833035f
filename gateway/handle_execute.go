package gateway

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/accept"
	"github.com/uimgate/uimgate/internal/memory"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// execute answers POST /api/intents/execute, and /api/intents/execute/{intent_uid}, whose body names no intent. The PAT is
// accepted before the body is read. UIM core 3.2.
func (s *Server) execute(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	began, draft := s.now(), wantsDraft(r)
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	token, err := wire.Bearer(r.Header)
	if err != nil {
		return err
	}
	result, err := s.executor.Execute(r.Context(), execute.Call{
		Service: func() *service.Service { return s.serviceFor(r) }, Token: token, IdempotencyKey: key, Proof: r.Header.Get(headerProof),
		Caller:    s.caller(r, x.client),
		RequestID: x.requestID, Traceparent: execute.ContinueTrace(r.Header.Get(headerTraceparent)),
		Observe: func(e *execute.Event) { x.event = e }, HandedOn: !draft,
		Read: func() (execute.Request, error) {
			memory.Of(r.Context()).Known() // the PAT was accepted
			accept.Of(r.Context()).Keep()
			tree, err := wire.ReadObject(r, x.service.MaxBody)
			if err != nil {
				return execute.Request{}, err
			}
			if c.Param("uid") != "" {
				return parseNamed(tree, x.service, c.Param("uid"))
			}
			return parseExecute(tree, x.service)
		},
	})
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h["Cache-Control"] = noStore
	wire.WriteRateLimit(h, result.Standing)
	wire.WriteCharge(h, result.Charge)
	wire.WriteReplayed(h, result.Replayed)
	wire.WriteWarnings(h, result.Warnings)
	for _, notice := range result.Attribution {
		h.Add(headerAttribution, mime.FormatMediaType("attribution", map[string]string{"notice": notice}))
	}
	if result.License != "" {
		h.Set(headerLicense, result.License)
	}
	if !draft {
		h[echo.HeaderContentType] = applicationJSON
		if err := c.Blob(http.StatusOK, applicationJSON[0], result.Output); err != nil {
			return err // a part of it may be on its way still
		}
		result.Sent()
		return nil
	}
	body, err := draftEnvelope(result, s.now().Sub(began))
	if err != nil {
		return reason.Internal.Refusal("The answer could not be written.").With("outcome", store.Done).Because(err)
	}
	return c.Blob(http.StatusOK, wire.MediaType, body)
}

// Values that never change are shared; they are only read.
var (
	noStore         = []string{"no-store"}
	applicationJSON = []string{"application/json"}
	noSniff         = []string{"nosniff"}
)

// wantsDraft reports whether the client asked for the draft's envelope.
func wantsDraft(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get(headerVersion), "1.") || strings.Contains(r.Header.Get("Accept"), wire.MediaType)
}

// draftEnvelope wraps the output as draft-uim-protocol-core-01 has it.
func draftEnvelope(r execute.Result, took time.Duration) ([]byte, error) {
	meta := map[string]any{"processing_time": json.Number(strconv.FormatFloat(took.Seconds(), 'f', 6, 64))}
	if l, ok := wire.Tightest(r.Standing); ok {
		meta["rate_limit"] = map[string]any{"remaining": max(0, l.Left), "reset": wire.Seconds(l.Resets)}
	}
	if r.Charge != nil {
		meta["charge"] = wire.ChargeMembers(r.Charge)
	}
	if len(r.Warnings) > 0 {
		meta["warnings"] = r.Warnings
	}
	return json.Marshal(map[string]any{"status": "success", "data": json.RawMessage(r.Output), "meta": meta})
}

// idempotencyKey reads the key; empty where there is none.
func idempotencyKey(h http.Header) (execute.IdempotencyKey, error) {
	values, sent := h[headerIdempotencyKey]
	if !sent {
		return "", nil
	}
	return execute.ParseIdempotencyKey(values[0])
}

// parseExecute reads the body of an execute call: core's form, or the draft's with an intent object.
// UIM core 3.2; draft-uim-protocol-core-01.
func parseExecute(tree strictjson.Object, s *service.Service) (execute.Request, error) {
	outer := wire.NewMembers(tree)
	proof := outer.Text("proof", false)
	if v, ok := outer.Take("intent"); ok {
		outer.Take("context")
		intent, isObject := strictjson.AsObject(v)
		if !isObject {
			return execute.Request{}, outer.Wrong("intent", "must be an object")
		}
		inner := wire.NewMembers(intent).In("/intent")
		r := execute.Request{
			IntentUID: inner.Text("uid", true), Parameters: inner.Object("parameters"), At: inner.Pointer("parameters"), Proof: proof,
		}
		return r, parsed(s, r, outer, inner)
	}
	r := execute.Request{IntentUID: outer.Text("intent_uid", true), Parameters: outer.Object("parameters"), Proof: proof}
	return r, parsed(s, r, outer)
}

// parseNamed reads the body of a call whose path names the intent.
func parseNamed(tree strictjson.Object, s *service.Service, path string) (execute.Request, error) {
	uid, err := url.PathUnescape(path)
	if err != nil {
		return execute.Request{}, reason.IntentNotFound.Refusal("The path holds no intent uid.")
	}
	m := wire.NewMembers(tree)
	r := execute.Request{IntentUID: uid, Proof: m.Text("proof", false), Parameters: m.Object("parameters")}
	if named := m.Text("intent_uid", false); named != "" && named != uid {
		return r, m.Wrong("intent_uid", "is another intent than that of the path")
	}
	return r, parsed(s, r, m)
}

// parsed reports what is wrong with the objects of a body: before anything else, parameters of the intent that stand
// beside the object they belong into.
func parsed(s *service.Service, r execute.Request, objects ...*wire.Members) error {
	var violations []intents.Violation
	if in, err := s.Intent(r.IntentUID); err == nil {
		for _, m := range objects {
			for _, name := range m.Unknown() {
				if slices.ContainsFunc(in.Inputs, func(p intents.Parameter) bool { return p.Name == name }) {
					violations = append(violations, intents.Violation{
						Pointer: m.Pointer(name), Keyword: "additionalProperties", Reason: reason.UnknownParameter,
						Message: "is a parameter of the intent: it belongs at " + r.Pointer() + "/" + strictjson.Escape(name),
					})
				}
			}
		}
	}
	if len(violations) > 0 {
		return refusal.MisplacedParameters(violations)
	}
	for _, m := range objects {
		if err := m.Done(); err != nil {
			return err
		}
	}
	return nil
}

const (
	// headerAttribution carries a notice as RFC 8187 writes text in a parameter, so that any language fits.
	headerAttribution = "Uim-Attribution"
	headerLicense     = "Uim-License"
)
