package upstream

import (
	"context"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
)

// An Identity describes the agent for which a call is made. Call sends its members to the service, except Principal, Unapproved and empty
// members.
type Identity struct {
	Principal   string // name that the breakers use for the agent
	Unapproved  bool   // the operator has not approved the agent
	AgentID     string // UIM-Agent-Id
	AgentKey    string // UIM-Agent-Key: RFC 7638 thumbprint of the agreed key
	Assurance   string // UIM-Agreement-Assurance: fresh, static, consent or implied
	Standing    string // UIM-Agent-Standing: approved or unapproved
	TokenID     string // UIM-Token-Id: jti of the PAT
	Traceparent string // the traceparent field of the call; empty: none
}

// header returns all headers of a request. They never come from the agent's request. The error wraps ErrIdentity, or is an error of
// tokens.get.
func (u *Upstream) header(ctx context.Context, p *PreparedRequest, id Identity, executionID string) (pool.Fields, error) {
	h := append(make(pool.Fields, 0, usualFields), pool.Field{Name: "Accept", Value: p.route.acceptSent},
		pool.Field{Name: "Accept-Encoding", Value: "identity"}, pool.Field{Name: "User-Agent", Value: "uimgate"})
	switch {
	case !p.route.hasBody:
	case p.contentType != "":
		h.Set(contentType, p.contentType)
	case p.route.body == formBody:
		h.Set(contentType, "application/x-www-form-urlencoded")
	default:
		h.Set(contentType, p.route.jsonType)
	}
	fields := [...]struct{ name, value string }{
		{"UIM-Agent-Id", id.AgentID},
		{"UIM-Agent-Key", id.AgentKey},
		{"UIM-Agreement-Assurance", id.Assurance},
		{"UIM-Agent-Standing", id.Standing},
		{"UIM-Token-Id", id.TokenID},
		{"UIM-Execution-Id", executionID}, // id of the Grant
		{u.cfg.IdempotencyHeader, executionID},
	}
	for _, t := range fields {
		if t.name == "" || t.value == "" {
			continue
		}
		if !isHeaderValue(t.value) {
			return nil, fmt.Errorf("%w: %s", ErrIdentity, t.name)
		}
		h.Set(t.name, t.value)
	}
	if id.Traceparent != "" {
		h.Set("Traceparent", id.Traceparent)
	}
	for _, always := range [...]pool.Fields{p.route.fixedHeader, u.auth} {
		for _, f := range always {
			h.Set(f.Name, f.Value)
		}
	}
	if u.tokens != nil {
		token, err := u.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		h.Set(authorization, bearer+token)
	}
	return h, nil
}

const (
	contentType     = "Content-Type"
	applicationJSON = "application/json"
	usualFields     = 16 // most requests have no more header fields
)

// isHeaderValue reports whether s is a valid field value. See RFC 9110, section 5.5.
func isHeaderValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\t') || c == 0x7f {
			return false
		}
	}
	return true
}

// isToken reports whether s is a token. See RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isUnreserved(c) && strings.IndexByte("!#$%&'*+^`|", c) < 0 {
			return false
		}
	}
	return s != ""
}
