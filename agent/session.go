package agent

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Session is the agreement of an agent with one service, and its PAT. It is a value: Service.Session returns a copy. The
// PAT itself cannot be read from it; SaveSession writes it to a file.
type Session struct {
	Endpoints      Endpoints
	Issuer         string
	Dialect        intents.Dialect
	AgentID        pat.AgentID
	KeyID          keys.ID // RFC 7638 thumbprint of the key that agreed
	PolicyUID      string
	PolicyDigest   string // of the agreed policy; empty: none
	AgreementID    string // given by the service; may be empty
	Form           Form   // how the policy was signed
	Scope          []string
	ScopeOmitted   []pat.OmittedEntry
	Requested      []string // the requested scope; nil: all that the policy permits
	Declared       pat.Declaration
	ExpiresAt      time.Time   // zero: not stated by the service
	IssuedAt       time.Time   // by our clock
	AcceptedIssuer string      // accepted by the caller although the host does not vouch for it
	target         string      // first address of the caller's target
	tokenID        pat.TokenID // jti; empty: the PAT has none
	token          secret
	pending        secret // body of an agreement that waits for approval
	pendingDigest  string // of the policy it agrees to
	pendingUID     string // of the same policy
	pendingForm    Form
}

// Agreed reports whether the session holds a PAT.
func (s Session) Agreed() bool { return s.token.text != nil }

// Pending reports whether an agreement waits for the operator's approval.
func (s Session) Pending() bool { return s.pending.text != nil }

// PendingDigest returns the digest of the policy whose agreement waits for approval; empty: none waits.
func (s Session) PendingDigest() string { return s.pendingDigest }

// Permits reports whether the scope of the PAT, as the service stated it, includes the intent. If the service stated none,
// every intent may be tried.
func (s Session) Permits(uid string) bool {
	if len(s.Scope) == 0 {
		return s.Agreed()
	}
	space, _, _ := strings.Cut(uid, ":")
	return slices.Contains(s.Scope, uid+":execute") || slices.Contains(s.Scope, pat.WholeScope(space))
}

// Covers reports whether the service owns the namespace of an intent: by its name, or by the scope of the PAT.
func (s Session) Covers(uid string) bool {
	space, _, found := strings.Cut(uid, ":")
	return found && (space == s.Issuer || slices.ContainsFunc(s.Scope, func(entry string) bool {
		return strings.HasPrefix(entry, space+":")
	}))
}

// FileName returns a file name for the session: one for each agents.json, agent id and key.
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

// Matches reports whether the session is with the service that a target names, in the forms that Discover takes.
func (s Session) Matches(where string) bool {
	t, err := parseTarget(where)
	if err != nil {
		return false
	}
	return slices.Contains(t.urls, s.Endpoints.Agents) || slices.Contains(t.urls, s.target)
}

// String describes the agreement without the PAT.
func (s Session) String() string {
	if !s.Agreed() {
		return "no agreement with " + s.Issuer
	}
	return fmt.Sprintf("agreement of %s with %s on %s", s.AgentID, s.Issuer, s.PolicyDigest)
}

// Format writes String for every verb: none may print a secret.
func (s Session) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// A secret is a text that package fmt cannot print: an unexported pointer prints as an address.
type secret struct{ text *string }

func newSecret(s string) secret {
	if s == "" {
		return secret{}
	}
	return secret{&s}
}

func (s secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Session returns the present session with the service.
func (s *Service) Session() Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// Resume returns the Service of a session without a request. The error wraps ErrOptions if the session belongs to another agent id or key
// than the client's.
func (c *Client) Resume(session Session) (*Service, error) {
	if session.AgentID != c.id || session.KeyID != c.KeyID() {
		return nil, fmt.Errorf("%w: the session belongs to agent %s with the key %s, not to %s with the key %s",
			ErrOptions, session.AgentID, session.KeyID, c.id, c.KeyID())
	}
	return &Service{client: c, session: session}, nil
}
