package agent

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/pat"
)

// A Session is what an agent has agreed with one service, and the PAT it got for that. It is a value:
// Service.Session copies it. The PAT itself cannot be read from it; SaveSession writes it down.
type Session struct {
	Endpoints      Endpoints
	Issuer         string
	Dialect        intents.Dialect
	AgentID        string
	KeyID          string // RFC 7638 thumbprint of the key that agreed
	PolicyUID      string
	PolicyDigest   string // agreed to; empty: nothing is
	AgreementID    string // the service's name for it; may be empty
	Form           Form   // how the policy was signed
	Scope          []string
	ScopeOmitted   []pat.Omitted
	Requested      []string // the scope asked for; nil: all there is
	Declared       pat.Declared
	ExpiresAt      time.Time // zero: the service did not say
	IssuedAt       time.Time // by our clock
	AcceptedIssuer string    // the caller accepted this issuer though the host does not vouch for it
	asked          string    // first place the caller's target names
	tokenID        string    // jti; empty: the PAT has none
	token          secret
	pending        secret // request that waits for approval
	pendingFor     string // digest it agrees to
	pendingUID     string // of that policy
	pendingForm    Form
}

// Agreed reports whether the session holds a PAT.
func (s Session) Agreed() bool { return s.token.text != nil }

// Pending reports whether an agreement waits for the operator's approval.
func (s Session) Pending() bool { return s.pending.text != nil }

// Permits reports whether the PAT's scope, as the service told it, holds the intent. A service that told
// none permits whatever it will.
func (s Session) Permits(uid string) bool {
	if len(s.Scope) == 0 {
		return s.Agreed()
	}
	space, _, _ := strings.Cut(uid, ":")
	return slices.Contains(s.Scope, uid+":execute") || slices.Contains(s.Scope, space+":*:*:execute")
}

// Name is a file name for the session: one for each agents.json, agent id and key.
func (s Session) Name() string {
	sum := sha256.Sum256([]byte(s.Endpoints.Agents + "\n" + s.AgentID + "\n" + s.KeyID))
	host := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, hostOf(s.Endpoints.Agents))
	return fmt.Sprintf("%.100s-%x.json", strings.TrimLeft(host, "."), sum[:6])
}

// With reports whether the session is with the service a target names, as Discover takes it.
func (s Session) With(where string) bool {
	t, err := parseTarget(where)
	if err != nil {
		return false
	}
	return slices.Contains(t.urls, s.Endpoints.Agents) || slices.Contains(t.urls, s.asked)
}

// String says what was agreed without the PAT.
func (s Session) String() string {
	if !s.Agreed() {
		return "no agreement with " + s.Issuer
	}
	return fmt.Sprintf("agreement of %s with %s on %s", s.AgentID, s.Issuer, s.PolicyDigest)
}

// Format writes String, whatever the verb: none may print a secret.
func (s Session) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// A secret is a text that package fmt cannot reach: of an unexported pointer it prints the address.
type secret struct{ text *string }

func hidden(s string) secret {
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

// sessionFile is how a Session is written down.
type sessionFile struct {
	Version      int             `json:"version"`
	Endpoints    Endpoints       `json:"endpoints"`
	Issuer       string          `json:"issuer"`
	Accepted     string          `json:"accepted_issuer,omitempty"`
	Asked        string          `json:"asked"`
	Dialect      intents.Dialect `json:"dialect"`
	AgentID      string          `json:"agent_id"`
	KeyID        string          `json:"key_id"`
	PolicyUID    string          `json:"policy_uid,omitempty"`
	PolicyDigest string          `json:"policy_digest,omitempty"`
	AgreementID  string          `json:"agreement_id,omitempty"`
	Form         Form            `json:"form,omitempty"`
	Scope        []string        `json:"scope,omitempty"`
	Omitted      []pat.Omitted   `json:"scope_omitted,omitempty"`
	Requested    []string        `json:"requested,omitempty"`
	Declared     pat.Declared    `json:"declared,omitempty"`
	ExpiresAt    time.Time       `json:"expires_at,omitzero"`
	IssuedAt     time.Time       `json:"issued_at,omitzero"`
	TokenID      string          `json:"token_id,omitempty"`
	Token        string          `json:"uim-pat,omitempty"`
	Pending      string          `json:"pending,omitempty"`
	PendingFor   string          `json:"pending_digest,omitempty"`
	PendingUID   string          `json:"pending_uid,omitempty"`
	PendingForm  Form            `json:"pending_form,omitempty"`
}

const (
	sessionVersion = 1
	maxSession     = 4 << 20
)

// SaveSession writes a session, the PAT included, to a file that only its owner can read (0600),
// replacing what is there as a whole; directories are made 0700. The error wraps ErrFile.
func SaveSession(path string, s Session) error {
	data, err := json.MarshalIndent(sessionFile{
		sessionVersion, s.Endpoints, s.Issuer, s.AcceptedIssuer, s.asked, s.Dialect, s.AgentID, s.KeyID, s.PolicyUID, s.PolicyDigest,
		s.AgreementID, s.Form, s.Scope, s.ScopeOmitted, s.Requested, s.Declared, s.ExpiresAt, s.IssuedAt, s.tokenID,
		s.token.reveal(), s.pending.reveal(), s.pendingFor, s.pendingUID, s.pendingForm,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("writing a session: %w", err)
	}
	return writePrivate(path, append(data, '\n'))
}

// LoadSession reads what SaveSession wrote. The error wraps ErrFile, and os.ErrNotExist where there is no
// such file; it never quotes the file.
func LoadSession(path string) (Session, error) {
	data, err := readPrivate(path, maxSession)
	if err != nil {
		return Session{}, err
	}
	var f sessionFile
	if err := json.Unmarshal(data, &f); err != nil || f.Version != sessionVersion || f.Endpoints.Agents == "" {
		return Session{}, fmt.Errorf("%s: %w: it is no session of this program; remove it and agree again", path, ErrFile)
	}
	return Session{
		Endpoints: f.Endpoints, Issuer: f.Issuer, Dialect: f.Dialect, AgentID: f.AgentID, KeyID: f.KeyID,
		PolicyUID: f.PolicyUID, PolicyDigest: f.PolicyDigest, AgreementID: f.AgreementID, Form: f.Form,
		Scope: f.Scope, ScopeOmitted: f.Omitted, Requested: f.Requested, Declared: f.Declared, ExpiresAt: f.ExpiresAt, IssuedAt: f.IssuedAt,
		AcceptedIssuer: f.Accepted, asked: f.Asked, tokenID: f.TokenID, token: hidden(f.Token), pending: hidden(f.Pending), pendingFor: f.PendingFor,
		pendingUID: f.PendingUID, pendingForm: f.PendingForm,
	}, nil
}

// RemoveSession removes a session's file; that there is none is no error.
func RemoveSession(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return nil
}

// Session is what is agreed with the service now.
func (s *Service) Session() Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// Resume goes on with a session, asking nobody. The error wraps ErrOptions where it belongs to another
// agent id or key than the client's.
func (c *Client) Resume(session Session) (*Service, error) {
	if session.AgentID != c.o.AgentID || session.KeyID != c.KeyID() {
		return nil, fmt.Errorf("%w: the session belongs to agent %s with the key %s, not to %s with the key %s",
			ErrOptions, session.AgentID, session.KeyID, c.o.AgentID, c.KeyID())
	}
	return &Service{client: c, session: session}, nil
}
