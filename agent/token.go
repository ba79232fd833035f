package agent

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// readPAT returns the session with the PAT from the response to an agreement or a renewal, after checking the claims of the PAT
// against the agreement. If the agreement waits for approval, the error is a *PendingError.
func (c *Client) readPAT(session Session, a fetch.Answer) (Session, error) {
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return Session{}, fmt.Errorf("%w: the body is not a JSON object", ErrAnswer)
	}
	if a.Status == http.StatusAccepted || tree["status"] == "pending" {
		id, _ := tree["agreement_id"].(string)
		return Session{}, &PendingError{AgreementID: identifier(id)}
	}
	for _, name := range []string{"data", "result"} { // some services wrap every response
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
	// RFC 6750 2.1 allows no other characters in a bearer token, and a line break would start another header field.
	if token == "" || len(token) > pat.MaxToken || !onlyAlphanumericOr(token, "-._~+/=") {
		return Session{}, fmt.Errorf("%w: the body contains no valid PAT", ErrAnswer)
	}
	session.kept.Token, session.IssuedAt = newSecret(token), c.o.Now()
	session.kept.TokenID, session.ExpiresAt, session.NotBefore = "", time.Time{}, time.Time{}
	session.AgreementID = ""
	session.Scope, session.ScopeOmitted = stringList(tree["scope"]), scopeOmitted(tree["scope_omitted"])
	if id, ok := tree["agreement_id"].(string); ok {
		session.AgreementID = identifier(id)
	}
	if at, ok := tree["expires_at"].(string); ok {
		session.ExpiresAt = readTime(at)
	}
	return session, session.claims(token, c.key)
}

// claims reads the claims of a PAT that is a JWT. The client need not verify the signature, but rejects a PAT for another policy or
// another key.
func (s *Session) claims(token string, key keys.Key) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil //nolint:nilerr // a token may be opaque
	}
	payload, err := strictjson.DecodeObject(raw)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	if digest, ok := payload["pol_digest"].(string); ok && digest != s.PolicyDigest {
		if !IsDigest(digest) {
			digest = ""
		}
		return &PolicyChangedError{Agreed: s.PolicyDigest, Offered: digest}
	}
	if confirmation, ok := payload["cnf"].(map[string]any); ok {
		if jkt, ok := confirmation["jkt"].(string); ok && jkt != string(key.Thumbprint()) {
			return fmt.Errorf("%w: the PAT is bound to another key", ErrAnswer)
		}
	}
	id, _ := payload["jti"].(string)
	s.kept.TokenID = pat.TokenID(id) // any form is accepted
	iat, dated := numberUpTo(payload["iat"], maxTime)
	if nbf, ok := numberUpTo(payload["nbf"], maxTime); ok && dated && nbf > iat {
		s.NotBefore = time.Unix(nbf, 0).UTC()
	}
	if exp, ok := numberUpTo(payload["exp"], maxTime); ok {
		s.ExpiresAt = time.Unix(exp, 0).UTC()
	}
	if s.Scope == nil {
		s.Scope = stringList(payload["scope"])
	}
	if s.AgreementID == "" {
		id, _ := payload["agr"].(string)
		s.AgreementID = identifier(id)
	}
	return nil
}

const maxScope = 1000

// stringList reads a list of strings, or a space-separated string (OAuth's scope), and returns at most maxScope entries. It returns
// nil for other values.
func stringList(v any) []string {
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

func scopeOmitted(v any) []pat.OmittedEntry {
	list, _ := v.([]any)
	var out []pat.OmittedEntry
	for _, item := range list[:min(len(list), maxScope)] {
		m, _ := item.(map[string]any)
		entry, _ := m["entry"].(string)
		if entry != "" {
			out = append(out, pat.OmittedEntry{Entry: clean(entry), Reason: reason.Reason(codeName(m["reason"]))})
		}
	}
	return out
}

// readTime parses a time in RFC 3339, or in the format of Python's isoformat, where a time without a zone is in UTC. It returns the zero
// time for any other string.
func readTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
