package agenttest

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

func (s *Service) execute(w http.ResponseWriter, r *http.Request) {
	in := body(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	id, t, refused := s.authenticate(r)
	if refused != "" {
		if s.Dialect == Mock || s.Dialect == Guide {
			write(w, http.StatusUnauthorized, map[string]any{"detail": "Invalid token"})
			return
		}
		refuse(w, refused)
		return
	}
	if t.digest != s.offer.Digest && s.Dialect == Canonical {
		s.refusePolicy(w, reason.PolicyRequiresAgreement)
		return
	}
	c := s.call(in)
	c.IdempotencyKey, c.TokenID, c.Header = r.Header.Get("Idempotency-Key"), id, r.Header.Clone()
	digest, err := pat.ExecuteDigest(c.UID, c.Parameters)
	if err != nil {
		refuse(w, reason.InvalidParameter)
		return
	}
	c.Proved = r.Header.Get("UIM-Proof") != "" && s.proved(r, t, pat.ProofBinding{Audience: Issuer, TokenID: pat.TokenID(id), Digest: digest})
	s.calls = append(s.calls, c)
	reply, scripted := s.nextReply()
	if scripted && !reply.Break {
		writeReply(w, reply)
		return
	}
	if kept, ok := s.answers[c.IdempotencyKey]; ok && c.IdempotencyKey != "" {
		if kept.fingerprint != digest {
			refuse(w, reason.IdempotencyKeyReused)
			return
		}
		if s.books != nil {
			maps.Copy(w.Header(), kept.charged)
		}
		w.Header().Set("Idempotency-Replayed", "true")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(kept.body)
		return
	}
	s.perform(w, c, digest, reply.Break)
}

// call reads the intent and the parameters in the form of the service's dialect.
func (s *Service) call(in map[string]any) Call {
	var c Call
	c.UID, _ = in["intent_uid"].(string)
	c.Parameters, _ = in["parameters"].(map[string]any)
	if intent, ok := in["intent"].(map[string]any); ok && s.Dialect == Draft {
		c.UID, _ = intent["uid"].(string)
		c.Parameters, _ = intent["parameters"].(map[string]any)
	}
	return c
}

// nextReply removes the next reply from the script and returns it. s.mu must be held.
func (s *Service) nextReply() (Reply, bool) {
	if len(s.script) == 0 {
		return Reply{}, false
	}
	next := s.script[0]
	s.script = s.script[1:]
	return next, true
}

// perform makes the call and responds with its parameters, or closes the connection without a response. s.mu must be held.
func (s *Service) perform(w http.ResponseWriter, c Call, fingerprint string, closing bool) {
	if c.UID != Search && c.UID != Order {
		refuse(w, reason.IntentNotFound)
		return
	}
	if c.UID == Order && !c.Proved {
		refuse(w, reason.PolicyRequiresVerification)
		return
	}
	out := map[string]any{"echo": c.Parameters}
	if s.Dialect == Draft {
		meta := map[string]any{"processing_time": 0.1, "rate_limit": map[string]int{"remaining": 7, "reset": 30}}
		out = map[string]any{"status": "success", "data": out, "meta": meta}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return
	}
	charged := http.Header{}
	if c.UID == Order {
		s.charge(charged, c, fingerprint, data)
	}
	if c.IdempotencyKey != "" {
		s.answers[c.IdempotencyKey] = answer{fingerprint, data, charged}
	}
	if closing {
		closeConnection(w)
		return
	}
	h := w.Header()
	h.Set("UIM-Request-ID", "request-1")
	if s.Dialect == Canonical {
		h.Set("RateLimit-Policy", `"hour";q=100;w=3600, "day";q=1000;w=86400`)
		h.Set("RateLimit", `"hour";r=99;t=60, "day";r=500`)
	}
	maps.Copy(h, charged)
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

func writeReply(w http.ResponseWriter, r Reply) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write([]byte(r.Body))
}

// closeConnection closes the connection without a response.
func closeConnection(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}
