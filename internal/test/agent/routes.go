package agenttest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /agents.json", s.agents)
	switch s.Dialect {
	case Mock, Guide:
		mux.HandleFunc("GET /uim-policy.json", s.policy)
		mux.HandleFunc("POST /pat/issue", s.issue)
		mux.HandleFunc("POST /uim/execute", s.execute)
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusNotFound, map[string]any{"detail": "Not Found"})
		})
	case Draft, Canonical:
		mux.HandleFunc("GET /api/policy", s.policy)
		mux.HandleFunc("GET /api/intents/search", s.search)
		mux.HandleFunc("GET /api/intents/{uid}", s.intent)
		mux.HandleFunc("POST /api/pat/issue", s.issue)
		mux.HandleFunc("POST /api/pat/renew", s.renew)
		mux.HandleFunc("POST /api/pat/revoke", s.revoke)
		mux.HandleFunc("POST /api/intents/execute", s.execute)
		mux.HandleFunc("GET /.well-known/jwks.json", s.keySet)
		mux.HandleFunc("GET /api/receipts/{id}", s.receipt)
		mux.HandleFunc("GET /api/usage/entries", s.usage)
		mux.HandleFunc("GET /api/log/{what}", s.log)
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, reason.NoSuchPath) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths = append(s.paths, r.URL.Path)
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// refuse responds with an error of UIM core 3.3.
func refuse(w http.ResponseWriter, r reason.Reason) { refuseWith(w, r, nil) }

func refuseWith(w http.ResponseWriter, r reason.Reason, more map[string]any) {
	details := map[string]any{"reason": r}
	maps.Copy(details, more)
	write(w, r.Status(), map[string]any{"error": map[string]any{"code": r.Code(), "message": "refused", "details": details}})
}

// refusePolicy refuses with the currently offered policy in the details. s.mu must be held.
func (s *Service) refusePolicy(w http.ResponseWriter, r reason.Reason) {
	refuseWith(w, r, map[string]any{"policy": map[string]string{"uid": PolicyUID, "digest": s.offer.Digest}})
}

// body parses the request's body. It returns nil if that is not a JSON object.
func body(r *http.Request) map[string]any {
	data, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	if err != nil {
		return nil
	}
	tree, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil
	}
	return tree
}
