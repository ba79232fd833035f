package upstream

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute/internal/trace"
)

// An Identity is on whose behalf a call is made. It is sent to the service, but for Principal and empty members.
type Identity struct {
	Principal   string       // as whom the call fails or succeeds
	AgentID     string       // UIM-Agent-Id
	AgentKey    string       // UIM-Agent-Key: RFC 7638 thumbprint of the agreed key
	Assurance   string       // UIM-Agreement-Assurance: fresh or static
	Standing    string       // UIM-Agent-Standing: approved or unapproved, by the operator
	TokenID     string       // UIM-Token-Id: jti of the PAT
	Traceparent trace.Parent // left out unless it is valid
}

// header builds all headers of a request; nothing of the agent's own is among them. Errors: ErrIdentity, that of an access token.
func (u *Upstream) header(ctx context.Context, p *Prepared, id Identity, executionID string) (http.Header, error) {
	h := make(http.Header, 12)
	h["Accept"] = p.route.acceptSent
	h["Accept-Encoding"] = identity
	h["User-Agent"] = userAgent
	switch {
	case !p.route.hasBody:
	case p.contentType != "":
		h["Content-Type"] = []string{p.contentType}
	case p.route.body == formBody:
		h["Content-Type"] = formType
	default:
		h["Content-Type"] = p.route.jsonType
	}
	told := [...]struct{ name, value string }{
		{"UIM-Agent-Id", id.AgentID},
		{"UIM-Agent-Key", id.AgentKey},
		{"UIM-Agreement-Assurance", id.Assurance},
		{"UIM-Agent-Standing", id.Standing},
		{"UIM-Token-Id", id.TokenID},
		{"UIM-Execution-Id", executionID}, // of the Grant
		{u.cfg.IdempotencyHeader, executionID},
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
	if id.Traceparent.Valid() {
		values[len(told)] = string(id.Traceparent)
		h["Traceparent"] = values[len(told):]
	}
	maps.Copy(h, p.route.fixedHeader)
	maps.Copy(h, u.auth)
	if u.tokens != nil {
		token, err := u.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		h[authorization] = []string{bearer + token}
	}
	return h, nil
}

// Values that never change are shared; they are only read.
var (
	acceptJSON = []string{"application/json"}
	identity   = []string{"identity"}
	userAgent  = []string{"uimgate"}
	jsonType   = []string{"application/json"}
	formType   = []string{"application/x-www-form-urlencoded"}
)

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
