package gateway

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/store"
)

// execute answers POST /api/intents/execute. The PAT is accepted before the body is read. UIM core 3.2.
func (s *Server) execute(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	began := s.now()
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	token, err := bearer(r.Header)
	if err != nil {
		return err
	}
	result, err := s.executor.Execute(r.Context(), Call{
		Service: x.service, Token: token, IdempotencyKey: key, Proof: r.Header.Get(headerProof),
		Caller:    s.caller(r, x.client),
		RequestID: x.requestID, Traceparent: traceparent(r.Header), Observe: func(e *Event) { x.event = e },
		Read: func() (Request, error) {
			tree, err := readObject(r, x.service.maxBody)
			if err != nil {
				return Request{}, err
			}
			return parseExecute(tree)
		},
	})
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	writeRateLimit(h, result.Standing)
	if result.Charge != nil {
		h.Set(headerCharge, result.Charge.field())
	}
	if result.Replayed {
		h.Set(headerReplayed, "true")
	}
	for _, notice := range result.Attribution {
		h.Add(headerAttribution, mime.FormatMediaType("attribution", map[string]string{"notice": notice}))
	}
	if x.service.license != "" {
		h.Set(headerLicense, x.service.license)
	}
	if !wantsDraft(r) {
		return c.Blob(result.Status, "application/json", result.Output)
	}
	body, err := draftEnvelope(result, s.now().Sub(began))
	if err != nil {
		return newFault("INTERNAL", "The answer could not be written.").with("outcome", store.Done).because(err)
	}
	return c.Blob(result.Status, mediaTypeUIM, body)
}

// wantsDraft reports whether the client asked for the draft's envelope.
func wantsDraft(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get(headerVersion), "1.") || strings.Contains(r.Header.Get("Accept"), mediaTypeUIM)
}

// draftEnvelope wraps the output as draft-uim-protocol-core-01 has it.
func draftEnvelope(r Result, took time.Duration) ([]byte, error) {
	meta := map[string]any{"processing_time": json.Number(strconv.FormatFloat(took.Seconds(), 'f', 6, 64))}
	if l, ok := tightest(r.Standing); ok {
		meta["rate_limit"] = map[string]any{"remaining": max(0, l.Left), "reset": wholeSeconds(l.Resets)}
	}
	if r.Charge != nil {
		meta["charge"] = r.Charge.members()
	}
	return json.Marshal(map[string]any{"status": "success", "data": json.RawMessage(r.Output), "meta": meta})
}

// bearer takes the PAT out of the Authorization header; empty where there is none. RFC 6750 2.1.
func bearer(h http.Header) (string, error) {
	value := h.Get("Authorization")
	if value == "" {
		return "", nil
	}
	scheme, token, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", newFault("INVALID_TOKEN", "The Authorization header must be: Bearer <PAT>.")
	}
	return strings.TrimSpace(token), nil
}

// idempotencyKey takes the key as it is: 1 to 128 visible ASCII characters.
func idempotencyKey(h http.Header) (string, error) {
	values, sent := h[headerIdempotencyKey]
	if !sent {
		return "", nil
	}
	key := values[0]
	if key == "" || len(key) > 128 || strings.ContainsFunc(key, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return "", newFault("MALFORMED_REQUEST", "The Idempotency-Key must be 1 to 128 visible ASCII characters.")
	}
	return key, nil
}

// requestID is the client's own where it is usable, else one of ours. It correlates and nothing else.
func requestID(r *http.Request) string {
	id := r.Header.Get("Uim-Request-Id")
	if id != "" && len(id) <= 64 && !strings.ContainsFunc(id, notIDCharacter) {
		return id
	}
	return uuid.NewString()
}

func notIDCharacter(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
}
