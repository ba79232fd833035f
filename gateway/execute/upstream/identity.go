package upstream

import (
	"fmt"
	"net/http"
	"strings"
)

// An Identity tells the service on whose behalf a call is made. Empty members are not sent.
type Identity struct {
	AgentID     string // UIM-Agent-Id
	AgentKey    string // UIM-Agent-Key: RFC 7638 thumbprint of the agreed key
	Assurance   string // UIM-Agreement-Assurance: fresh or static
	TokenID     string // UIM-Token-Id: jti of the PAT
	ExecutionID string // UIM-Execution-Id, and the idempotency header where there is one
	Traceparent string // W3C Trace Context; left out unless it has the form of version 00
}

// header builds all headers of a request; nothing of the agent's own is among them.
func (u *Upstream) header(p *Prepared, id Identity) (http.Header, error) {
	h := make(http.Header, 12)
	h["Accept"] = acceptJSON
	h["Accept-Encoding"] = identity
	h["User-Agent"] = userAgent
	switch {
	case !p.route.hasBody:
	case p.route.form:
		h["Content-Type"] = formType
	default:
		h["Content-Type"] = jsonType
	}
	told := [...]struct{ name, value string }{
		{"UIM-Agent-Id", id.AgentID},
		{"UIM-Agent-Key", id.AgentKey},
		{"UIM-Agreement-Assurance", id.Assurance},
		{"UIM-Token-Id", id.TokenID},
		{"UIM-Execution-Id", id.ExecutionID},
		{u.cfg.IdempotencyHeader, id.ExecutionID},
	}
	values := make([]string, len(told)+1) // one allocation for all
	for i, t := range told {
		if t.name == "" || t.value == "" {
			continue
		}
		if !isHeaderValue(t.value) {
			return nil, fmt.Errorf("%w: %s", ErrIdentity, t.name)
		}
		values[i] = t.value
		h[t.name] = values[i : i+1 : i+1]
	}
	if isTraceparent(id.Traceparent) {
		values[len(told)] = id.Traceparent
		h["Traceparent"] = values[len(told):]
	}
	if u.auth != "" {
		h[u.auth] = u.authValue
	}
	return h, nil
}

// Values that never change are shared; net/http only reads them.
var (
	acceptJSON = []string{"application/json"}
	identity   = []string{"identity"}
	userAgent  = []string{"uimgate"}
	jsonType   = []string{"application/json"}
	formType   = []string{"application/x-www-form-urlencoded"}
)

// isTraceparent knows the form 00-<32 hex>-<16 hex>-<2 hex>. W3C Trace Context 3.2.
func isTraceparent(s string) bool {
	if len(s) != 55 || s[:3] != "00-" || s[35] != '-' || s[52] != '-' {
		return false
	}
	digits := s[3:35] + s[36:52] + s[53:]
	return strings.Trim(digits, "0123456789abcdef") == ""
}

// isHeaderValue: RFC 9110 5.5.
func isHeaderValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\t') || c == 0x7f {
			return false
		}
	}
	return true
}

// isToken: RFC 9110 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isUnreserved(c) && strings.IndexByte("!#$%&'*+^`|", c) < 0 {
			return false
		}
	}
	return s != ""
}
