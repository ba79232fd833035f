package page

import (
	"encoding/json"

	"github.com/uimgate/uimgate/gateway/service"
)

// entryPoints is the JSON document that describes a service to programs.
type entryPoints struct {
	Service     string             `json:"service"`
	Description string             `json:"description,omitempty"`
	Issuer      string             `json:"issuer"`
	Policy      map[string]string  `json:"policy"`
	Successor   *service.Successor `json:"policy_successor,omitempty"`
	EntryPoints map[string]string  `json:"entry_points"`
	Start       []string           `json:"start"`
}

// EntryPoints returns a JSON document with the URLs of a service and the steps for getting started.
func EntryPoints(s *service.Definition) ([]byte, error) {
	at := map[string]string{}
	for name, path := range map[string]string{
		"agents": "/agents.json", "policy": "/api/policy", "search": "/api/intents/search", "execute": "/api/intents/execute",
		"issue": "/api/pat/issue", "renew": "/api/pat/renew", "revoke": "/api/pat/revoke", "introspect": "/api/pat/introspect",
		"keys": "/.well-known/jwks.json", "openapi": "/openapi.json", "protocol": ProtocolPath, "errors": "/errors",
	} {
		at[name] = s.At(path)
	}
	at["intent"] = s.At("/api/intents/") + "{intent_uid}"
	for _, p := range s.Announced().EntryPoints {
		at[p.Name] = p.URL
	}
	return json.Marshal(entryPoints{
		Service: s.Name(), Description: s.Catalog.Service.Description, Issuer: s.Issuer, Policy: s.PolicyRef(), Successor: s.Successor(),
		EntryPoints: at,
		Start: []string{
			"Find an intent: GET search with query=words. GET intent returns its parameters; GET agents returns all intents.",
			"Read the policy and sign an agreement to it, as the page at protocol describes. POST the agreement to issue, which returns a token (PAT).",
			"POST execute with Authorization: Bearer and the token. Each refusal states what is wrong and what to do.",
		},
	})
}
