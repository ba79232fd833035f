package agent

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// readPAT takes the PAT out of an answer to issue or renew, and holds what it says against what was agreed.
func (c *Client) readPAT(session Session, a fetch.Answer) (Session, error) {
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return Session{}, fmt.Errorf("%w: it is not a JSON object", ErrAnswer)
	}
	if a.Status == http.StatusAccepted || tree["status"] == "pending" {
		id, _ := tree["agreement_id"].(string)
		return Session{}, &PendingError{AgreementID: symbolic(id)}
	}
	for _, name := range []string{"data", "result"} { // some wrap everything alike
		if inner, ok := tree[name].(map[string]any); ok && tree["uim-pat"] == nil {
			tree = inner
		}
	}
	token := ""
	for _, name := range []string{"uim-pat", "uim_pat", "pat", "token", "access_token"} {
		if text, ok := tree[name].(string); ok && token == "" {
			token = text
		}
	}
	// RFC 6750 2.1 allows no other characters in a bearer token, and a line break would be another header.
	if token == "" || len(token) > pat.MaxToken || !only(token, "-._~+/=") {
		return Session{}, fmt.Errorf("%w: it holds no PAT that could be sent", ErrAnswer)
	}
	session.token, session.IssuedAt = hidden(token), c.o.Now()
	session.tokenID, session.ExpiresAt = "", time.Time{}
	session.AgreementID = ""
	session.Scope, session.ScopeOmitted = texts(tree["scope"]), omitted(tree["scope_omitted"])
	if id, ok := tree["agreement_id"].(string); ok {
		session.AgreementID = symbolic(id)
	}
	if at, ok := tree["expires_at"].(string); ok {
		session.ExpiresAt = readTime(at)
	}
	return session, session.claims(token, c.key)
}

// claims reads what the PAT says of itself, where it is a JWT: the client has no need to verify it, but a
// PAT for another policy or another key than was agreed is not what was signed for.
func (s *Session) claims(token string, key pat.Key) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil //nolint:nilerr // an opaque token is the service's own affair
	}
	payload, err := strictjson.DecodeObject(raw)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	if digest, ok := payload["pol_digest"].(string); ok && digest != s.PolicyDigest {
		if !digestForm(digest) {
			digest = ""
		}
		return &PolicyChangedError{Agreed: s.PolicyDigest, Offered: digest}
	}
	if confirmation, ok := payload["cnf"].(map[string]any); ok {
		if jkt, ok := confirmation["jkt"].(string); ok && jkt != string(key.Thumbprint()) {
			return fmt.Errorf("%w: the PAT is bound to another key", ErrAnswer)
		}
	}
	s.tokenID, _ = payload["jti"].(string)
	if exp, ok := wholeNumber(payload["exp"]); ok {
		s.ExpiresAt = time.Unix(exp, 0).UTC()
	}
	if s.Scope == nil {
		s.Scope = texts(payload["scope"])
	}
	if s.AgreementID == "" {
		id, _ := payload["agr"].(string)
		s.AgreementID = symbolic(id)
	}
	return nil
}

const maxScope = 1000

// texts reads a list of strings, or one string of words (OAuth's scope); nil where it is neither.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		fields := strings.Fields(v)
		return fields[:min(len(fields), maxScope)]
	case []any:
		out := []string{}
		for _, item := range v[:min(len(v), maxScope)] {
			if text, ok := item.(string); ok {
				out = append(out, clean(text))
			}
		}
		return out
	}
	return nil
}

func omitted(v any) []pat.Omitted {
	list, _ := v.([]any)
	var out []pat.Omitted
	for _, item := range list[:min(len(list), maxScope)] {
		m, _ := item.(map[string]any)
		entry, _ := m["entry"].(string)
		if entry != "" {
			out = append(out, pat.Omitted{Entry: clean(entry), Reason: symbol(m["reason"])})
		}
	}
	return out
}

// readTime reads RFC 3339, and what Python's isoformat gives without a zone, which is taken as UTC. The
// zero time means it is neither.
func readTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
