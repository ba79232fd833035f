package oauth

import (
	"strings"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
)

const (
	codeGrant    = "authorization_code"
	refreshGrant = "refresh_token"
	jwtGrant     = "urn:ietf:params:oauth:grant-type:jwt-bearer" // RFC 7523 2.1
)

// issuer returns the issuer identifier of the authorization server, which is public_url. The tokens have the UIM issuer instead, but they
// are opaque to clients.
func issuer(s *service.Definition) string { return strings.TrimRight(s.PublicURL.String(), "/") }

// resourceMetadata describes the MCP endpoint as a protected resource. See RFC 9728, section 2.
func resourceMetadata(s *service.Definition) map[string]any {
	return map[string]any{
		"resource": consent.Resource(s), "authorization_servers": []string{issuer(s)}, "scopes_supported": []string{pat.WholeScope(s.Issuer)},
		"bearer_methods_supported": []string{"header"}, "resource_name": s.Name(), "jwks_uri": s.At("/.well-known/jwks.json"),
		"resource_documentation": s.At("/"), "resource_policy_uri": s.At("/api/policy"),
	}
}

// serverMetadata describes the authorization server. If consent is not open, the server accepts only agreements that agents have signed.
// RFC 8414 2; client ID metadata documents, section 5; RFC 9207 3.
func serverMetadata(s *service.Definition) map[string]any {
	m := map[string]any{
		"issuer": issuer(s), "token_endpoint": s.At(tokenRoute), "revocation_endpoint": s.At(revokeRoute),
		"response_types_supported": []string{}, "grant_types_supported": []string{jwtGrant},
		"token_endpoint_auth_methods_supported":      []string{"none"},
		"revocation_endpoint_auth_methods_supported": []string{"none"}, "scopes_supported": []string{pat.WholeScope(s.Issuer)},
		"jwks_uri": s.At("/.well-known/jwks.json"), "service_documentation": s.At("/"), "op_policy_uri": s.At("/api/policy"),
		"code_challenge_methods_supported": []string{"S256"},
	}
	if consent.Open(s) {
		m["authorization_endpoint"], m["registration_endpoint"] = s.At(authorizeRoute), s.At(registerRoute)
		m["response_types_supported"], m["response_modes_supported"] = []string{"code"}, []string{"query"}
		m["grant_types_supported"] = []string{codeGrant, refreshGrant, jwtGrant}
		m["client_id_metadata_document_supported"] = true
		m["authorization_response_iss_parameter_supported"] = true
	}
	return m
}
