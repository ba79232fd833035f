package agenttest

import (
	"maps"
	"net/http"

	"github.com/uimgate/uimgate/internal/reason"
)

// object is a JSON object to encode.
type object = map[string]any

// intents returns the intents as agents.json lists them in the service's dialect.
func (s *Service) intents() []object {
	switch s.Dialect {
	case Mock, Guide:
		return []object{{
			"intent_uid": Search, "intent_name": "Search", "description": "Finds goods",
			"input_parameters": object{
				"query": object{"title": "Query", "type": "string"},
				"limit": object{"default": nil, "title": "Limit", "type": "integer"},
			},
			"output_parameters": object{"echo": object{"title": "Echo", "type": "object"}},
			"tags":              []string{"goods"}, "rate_limit": "1000/hour", "price": "0.01 USD",
		}}
	case Draft:
		return []object{{
			"uid": Search, "name": "Search", "description": "Finds goods",
			"endpoint": object{"url": s.URL + "/search", "method": "GET"},
		}}
	default:
		parameters := []object{
			{"name": "query", "type": "string", "required": true, "description": "what to look for"},
			{"name": "limit", "type": "integer", "required": false, "description": "how many"},
			{"name": "filter", "type": "object", "required": false, "description": "conditions"},
		}
		return []object{{
			"intent_uid": Search, "intent_name": "Search", "description": "Finds goods",
			"input_parameters": parameters, "output_parameters": []any{},
			"endpoint": object{"url": "https://shop.example/search", "method": "GET"}, "tags": []string{"goods"},
		}, {
			"intent_uid": Order, "intent_name": "Order", "description": "Orders goods",
			"input_parameters": parameters, "output_parameters": []any{},
			"endpoint": object{"url": "https://shop.example/order", "method": "POST"}, "price": "0.01 USD",
		}}
	}
}

func (s *Service) agents(w http.ResponseWriter, _ *http.Request) {
	file := object{
		"service-info": object{"name": "Shop", "description": "Sells things", "service_url": s.URL},
		"intents":      s.intents(), "uim-issuer": Issuer, "uim-policy-file": s.URL + "/api/policy",
		"uim-api-discovery": s.URL + "/api/intents/search", "uim-api-execute": s.URL + "/api/intents/execute",
	}
	switch s.Dialect {
	case Mock, Guide:
		delete(file, "uim-issuer")
		delete(file, "uim-api-discovery")
		file["uim-license"] = nil
		file["uim-policy-file"], file["uim-api-execute"] = s.URL+"/uim-policy.json", s.URL+"/uim/execute"
	case Draft:
		file = object{
			"service": object{"name": "Shop", "urls": object{"service": s.URL}}, "intents": s.intents(),
			"security": object{"policy_url": s.URL + "/api/policy"},
		}
	case Canonical:
	}
	s.mu.Lock()
	maps.Copy(file, s.members)
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
	write(w, http.StatusOK, object{
		"intents":    s.intents()[:1],
		"pagination": map[string]int{"total_results": 41, "total_pages": 41, "current_page": 1, "page_size": 1},
	})
}

func (s *Service) intent(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("uid") != hidden {
		refuse(w, reason.IntentNotFound)
		return
	}
	in := s.intents()[0]
	in["intent_uid"] = hidden
	write(w, http.StatusOK, in)
}
