package agenttest

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/uimgate/uimgate/internal/reason"
)

func (s *Service) intents() []map[string]any {
	switch s.Dialect {
	case Mock, Guide:
		return []map[string]any{{
			"intent_uid": Search, "intent_name": "Search", "description": "Finds goods",
			"input_parameters":  map[string]any{"query": map[string]any{"title": "Query", "type": "string"}, "limit": map[string]any{"default": nil, "title": "Limit", "type": "integer"}},
			"output_parameters": map[string]any{"echo": map[string]any{"title": "Echo", "type": "object"}},
			"tags":              []string{"goods"}, "rate_limit": "1000/hour", "price": "0.01 USD",
		}}
	case Draft:
		return []map[string]any{{"uid": Search, "name": "Search", "description": "Finds goods", "endpoint": map[string]any{"url": s.URL + "/search", "method": "GET"}}}
	default:
		parameters := []map[string]any{
			{"name": "query", "type": "string", "required": true, "description": "what to look for"},
			{"name": "limit", "type": "integer", "required": false, "description": "how many"},
			{"name": "filter", "type": "object", "required": false, "description": "conditions"},
		}
		return []map[string]any{
			{"intent_uid": Search, "intent_name": "Search", "description": "Finds goods", "input_parameters": parameters, "output_parameters": []any{}, "endpoint": map[string]any{"url": "https://shop.example/search", "method": "GET"}, "tags": []string{"goods"}},
			{"intent_uid": Order, "intent_name": "Order", "description": "Orders goods", "input_parameters": parameters, "output_parameters": []any{}, "endpoint": map[string]any{"url": "https://shop.example/order", "method": "POST"}, "price": "0.01 USD"},
		}
	}
}

func (s *Service) agents(w http.ResponseWriter, _ *http.Request) {
	file := map[string]any{
		"service-info": map[string]any{"name": "Shop", "description": "Sells things", "service_url": s.URL},
		"intents":      s.intents(), "uim-issuer": Issuer,
		"uim-policy-file": s.URL + "/api/policy", "uim-api-discovery": s.URL + "/api/intents/search", "uim-api-execute": s.URL + "/api/intents/execute",
	}
	switch s.Dialect {
	case Mock, Guide:
		delete(file, "uim-issuer")
		delete(file, "uim-api-discovery")
		file["uim-license"] = nil
		file["uim-policy-file"], file["uim-api-execute"] = s.URL+"/uim-policy.json", s.URL+"/uim/execute"
	case Draft:
		file = map[string]any{
			"service": map[string]any{"name": "Shop", "urls": map[string]any{"service": s.URL}}, "intents": s.intents(),
			"security": map[string]any{"policy_url": s.URL + "/api/policy"},
		}
	case Canonical:
	}
	s.mu.Lock()
	maps.Copy(file, s.extra)
	s.mu.Unlock()
	write(w, http.StatusOK, file)
}

func (s *Service) policy(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	raw := s.offer.Bytes
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/ld+json")
	_, _ = w.Write(raw)
}

func (s *Service) search(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{
		"intents": s.intents()[:1], "pagination": map[string]int{"total_results": 41, "total_pages": 41, "current_page": 1, "page_size": 1},
	})
}

func (s *Service) intent(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("uid") != "shop.example:hidden:v1" {
		refuse(w, reason.IntentNotFound, nil)
		return
	}
	in := s.intents()[0]
	in["intent_uid"] = "shop.example:hidden:v1"
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(in)
}
