package agent

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Session holds the agreement of an agent with one service, and the PAT. Service.Session returns a copy. The PAT itself cannot be
// read from a Session, but SaveSession writes it to a file.
type Session struct {
	Endpoints    Endpoints          `json:"endpoints"`
	Issuer       string             `json:"issuer"`
	Dialect      intents.Dialect    `json:"dialect"`
	AgentID      pat.AgentID        `json:"agent_id"`
	KeyID        keys.ID            `json:"key_id"` // RFC 7638 thumbprint of the key that agreed
	PolicyUID    string             `json:"policy_uid,omitempty"`
	PolicyDigest string             `json:"policy_digest,omitempty"` // the digest of the agreed policy; empty if there is none
	Document     []byte             `json:"policy,omitempty"`        // the agreed policy as served; nil if it was not kept
	AgreementID  string             `json:"agreement_id,omitempty"`  // chosen by the service; may be empty
	Form         Form               `json:"form,omitempty"`          // how the policy was signed
	Scope        []string           `json:"scope,omitempty"`
	ScopeOmitted []pat.OmittedEntry `json:"scope_omitted,omitempty"`
	Requested    []string           `json:"requested,omitempty"` // requested scope; nil means everything that the policy permits
	Declared     pat.Declaration    `json:"declared,omitempty"`
	ExpiresAt    time.Time          `json:"expires_at,omitzero"` // zero if the service does not state it
	IssuedAt     time.Time          `json:"issued_at,omitzero"`  // by the client's clock
	NotBefore    time.Time          `json:"not_before,omitzero"` // when the PAT becomes valid; zero if the service does not state it
	// AcceptedIssuer is a name that the caller accepts although the host does not vouch for it.
	AcceptedIssuer string `json:"accepted_issuer,omitempty"`
	// Keys are the keys of the service, for receipts and for its log, that the agent trusts.
	Keys evidence.KeySet `json:"-"`

	kept   kept
	plan   string   // the plan that the pending agreement requests
	onDate bool     // the pending agreement takes effect with its policy
	next   *Session // a session that takes effect at its NotBefore; nil if there is none
}

// kept are the parts of a Session that only its file shows.
type kept struct {
	Target          string      `json:"asked"`              // the first address of the caller's target
	TokenID         pat.TokenID `json:"token_id,omitempty"` // jti; empty if the PAT has none
	Token           secret      `json:"uim-pat,omitzero"`
	Pending         secret      `json:"pending,omitzero"`         // body of an agreement that waits for approval
	PendingDigest   string      `json:"pending_digest,omitempty"` // digest of the policy in that agreement
	PendingUID      string      `json:"pending_uid,omitempty"`    // uid of the same policy
	PendingForm     Form        `json:"pending_form,omitempty"`
	PendingDocument []byte      `json:"pending_policy,omitempty"` // the same policy as served
}

// Next returns the session that will replace s: the agent agreed to its policy in advance, and the policy takes effect at the NotBefore of
// that session. It returns false if there is none.
func (s Session) Next() (Session, bool) {
	if s.next == nil {
		return Session{}, false
	}
	return *s.next, true
}

// Changed reports whether the session must be saved again, because its PAT or its keys differ from those of an earlier copy.
func (s Session) Changed(earlier Session) bool {
	return !s.IssuedAt.Equal(earlier.IssuedAt) || !s.Keys.Equal(earlier.Keys)
}

// Agreed reports whether the session holds a PAT.
func (s Session) Agreed() bool { return s.kept.Token.text != nil }

// Pending reports whether an agreement waits for the operator's approval.
func (s Session) Pending() bool { return s.kept.Pending.text != nil }

// PendingDigest returns the digest of the policy in the agreement that waits for approval; it is empty if there is none.
func (s Session) PendingDigest() string { return s.kept.PendingDigest }

// Permits reports whether the scope of the PAT, as stated by the service, includes the intent. If the service stated no scope,
// Permits reports whether the session holds a PAT.
func (s Session) Permits(uid string) bool {
	if len(s.Scope) == 0 {
		return s.Agreed()
	}
	space, _, _ := strings.Cut(uid, ":")
	return slices.Contains(s.Scope, uid+":execute") || slices.Contains(s.Scope, pat.WholeScope(space))
}

// Covers reports whether the namespace of an intent belongs to the service, because it is the issuer or because the scope of the
// PAT contains it.
func (s Session) Covers(uid string) bool {
	space, _, found := strings.Cut(uid, ":")
	return found && (space == s.Issuer || slices.ContainsFunc(s.Scope, func(entry string) bool {
		return strings.HasPrefix(entry, space+":")
	}))
}

// FileName returns a file name for the session. Sessions that differ in the agents.json, the agent id or the key have different
// names.
func (s Session) FileName() string {
	sum := sha256.Sum256([]byte(s.Endpoints.Agents + "\n" + string(s.AgentID) + "\n" + string(s.KeyID)))
	host := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, hostOf(s.Endpoints.Agents))
	return fmt.Sprintf("%.100s-%x.json", strings.TrimLeft(host, "."), sum[:6])
}

// Matches reports whether the session belongs to the service that a target names. The target has one of the forms that Discover
// accepts.
func (s Session) Matches(where string) bool {
	t, err := parseTarget(where)
	if err != nil {
		return false
	}
	return slices.Contains(t.urls, s.Endpoints.Agents) || slices.Contains(t.urls, s.kept.Target)
}

// String describes the agreement without the PAT.
func (s Session) String() string {
	if !s.Agreed() {
		return "no agreement with " + s.Issuer
	}
	return fmt.Sprintf("agreement of %s with %s on %s", s.AgentID, s.Issuer, s.PolicyDigest)
}

// Format writes the result of String for every verb, so that no verb prints a secret.
func (s Session) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// A secret is a string that package fmt does not print: fmt prints an unexported pointer as an address.
type secret struct{ text *string }

func newSecret(s string) secret {
	if s == "" {
		return secret{}
	}
	return secret{&s}
}

// MarshalText returns the secret, for the file of the session.
func (s secret) MarshalText() ([]byte, error) { return []byte(s.reveal()), nil }

// UnmarshalText is the inverse of MarshalText.
func (s *secret) UnmarshalText(text []byte) error {
	*s = newSecret(string(text))
	return nil
}

func (s secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Session returns a copy of the current session with the service. If the agent has agreed to a policy in advance, the
// session under that policy becomes current when the policy takes effect.
func (s *Service) Session() Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next, ok := s.session.Next(); ok && !s.client.o.Now().Before(next.NotBefore) {
		next.Endpoints, next.Keys = s.session.Endpoints, s.session.Keys
		s.session = next
	}
	return s.session
}

// Resume returns the Service of a session. It sends no request. The error wraps ErrOptions if the session belongs to a different
// agent id or key than the client.
func (c *Client) Resume(session Session) (*Service, error) {
	if session.AgentID != c.id || session.KeyID != c.KeyID() {
		return nil, fmt.Errorf("%w: the session belongs to agent %s with the key %s, not to %s with the key %s",
			ErrOptions, session.AgentID, session.KeyID, c.id, c.KeyID())
	}
	return &Service{client: c, session: session}, nil
}
