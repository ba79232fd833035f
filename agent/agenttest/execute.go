package agenttest

import (
	"encoding/json"
	"net/http"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

func (s *Service) execute(w http.ResponseWriter, r *http.Request) {
	in := body(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	id, t, refused := s.bearer(r)
	if refused != "" {
		if s.Dialect == Mock || s.Dialect == Guide {
			write(w, http.StatusUnauthorized, map[string]any{"detail": "Invalid token"})
			return
		}
		refuse(w, refused, nil)
		return
	}
	if t.digest != s.offer.Digest && s.Dialect == Canonical {
		refuse(w, reason.PolicyRequiresAgreement, map[string]any{"policy": map[string]string{"uid": PolicyUID, "digest": s.offer.Digest}})
		return
	}
	c := Call{IdempotencyKey: r.Header.Get("Idempotency-Key"), TokenID: id, Header: r.Header.Clone()}
	c.UID, _ = in["intent_uid"].(string)
	c.Parameters, _ = in["parameters"].(map[string]any)
	if intent, ok := in["intent"].(map[string]any); ok && s.Dialect == Draft {
		c.UID, _ = intent["uid"].(string)
		c.Parameters, _ = intent["parameters"].(map[string]any)
	}
	digest, err := pat.ExecuteDigest(c.UID, c.Parameters)
	if err != nil {
		refuse(w, reason.InvalidParameter, nil)
		return
	}
	c.Proved = r.Header.Get("UIM-Proof") != "" && s.proved(r, t, id, digest)
	s.calls = append(s.calls, c)
	broken := false
	if len(s.script) > 0 {
		reply := s.script[0]
		s.script = s.script[1:]
		if !reply.Break {
			s.reply(w, reply)
			return
		}
		broken = true
	}
	if was, ok := s.stored[c.IdempotencyKey]; ok && c.IdempotencyKey != "" {
		if was.fingerprint != digest {
			refuse(w, reason.IdempotencyKeyReused, nil)
			return
		}
		w.Header().Set("Idempotency-Replayed", "true")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(was.body)
		return
	}
	s.do(w, c, digest, broken)
}

// do makes the call; s.mu is held.
func (s *Service) do(w http.ResponseWriter, c Call, digest string, broken bool) {
	if c.UID != Search && c.UID != Order {
		refuse(w, reason.IntentNotFound, nil)
		return
	}
	if c.UID == Order && !c.Proved {
		refuse(w, reason.PolicyRequiresVerification, nil)
		return
	}
	out := map[string]any{"echo": c.Parameters}
	if s.Dialect == Draft {
		out = map[string]any{"status": "success", "data": out, "meta": map[string]any{"processing_time": 0.1, "rate_limit": map[string]int{"remaining": 7, "reset": 30}}}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return
	}
	if c.IdempotencyKey != "" {
		s.stored[c.IdempotencyKey] = stored{digest, data}
	}
	if broken {
		hijack(w)
		return
	}
	h := w.Header()
	h.Set("UIM-Request-ID", "request-1")
	if s.Dialect == Canonical {
		h.Set("RateLimit-Policy", `"hour";q=100;w=3600, "day";q=1000;w=86400`)
		h.Set("RateLimit", `"hour";r=99;t=60, "day";r=500`)
	}
	if c.UID == Order {
		h.Set("UIM-Charge", "0.01 USD; id=execution-1; state=captured")
	}
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

func (s *Service) reply(w http.ResponseWriter, r Reply) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write([]byte(r.Body))
}

// hijack ends the connection without an answer.
func hijack(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}
