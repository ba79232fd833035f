package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A sessionFile is the JSON form of a Session in a file.
type sessionFile struct {
	Version      int                `json:"version"`
	Endpoints    Endpoints          `json:"endpoints"`
	Issuer       string             `json:"issuer"`
	Accepted     string             `json:"accepted_issuer,omitempty"`
	Target       string             `json:"asked"`
	Dialect      intents.Dialect    `json:"dialect"`
	AgentID      pat.AgentID        `json:"agent_id"`
	KeyID        keys.ID            `json:"key_id"`
	PolicyUID    string             `json:"policy_uid,omitempty"`
	PolicyDigest string             `json:"policy_digest,omitempty"`
	AgreementID  string             `json:"agreement_id,omitempty"`
	Form         Form               `json:"form,omitempty"`
	Scope        []string           `json:"scope,omitempty"`
	Omitted      []pat.OmittedEntry `json:"scope_omitted,omitempty"`
	Requested    []string           `json:"requested,omitempty"`
	Declared     pat.Declaration    `json:"declared,omitempty"`
	ExpiresAt    time.Time          `json:"expires_at,omitzero"`
	IssuedAt     time.Time          `json:"issued_at,omitzero"`
	TokenID      pat.TokenID        `json:"token_id,omitempty"`
	Token        string             `json:"uim-pat,omitempty"`
	Pending      string             `json:"pending,omitempty"`
	PendingFor   string             `json:"pending_digest,omitempty"`
	PendingUID   string             `json:"pending_uid,omitempty"`
	PendingForm  Form               `json:"pending_form,omitempty"`
	PendingText  []byte             `json:"pending_policy,omitempty"`
	NotBefore    time.Time          `json:"not_before,omitzero"`
	Document     []byte             `json:"policy,omitempty"`
	Keys         json.RawMessage    `json:"jwks,omitempty"`
	Next         *sessionFile       `json:"next,omitempty"`
}

// fileOf returns a session in the form of a file.
func fileOf(s Session) *sessionFile {
	f := &sessionFile{
		Version: sessionVersion, Endpoints: s.Endpoints, Issuer: s.Issuer, Accepted: s.AcceptedIssuer, Target: s.target, Dialect: s.Dialect,
		AgentID: s.AgentID, KeyID: s.KeyID, PolicyUID: s.PolicyUID, PolicyDigest: s.PolicyDigest, AgreementID: s.AgreementID, Form: s.Form,
		Scope: s.Scope, Omitted: s.ScopeOmitted, Requested: s.Requested, Declared: s.Declared, ExpiresAt: s.ExpiresAt, IssuedAt: s.IssuedAt,
		TokenID: s.tokenID, Token: s.token.reveal(), Pending: s.pending.reveal(), PendingFor: s.pendingDigest, PendingUID: s.pendingUID,
		PendingForm: s.pendingForm, PendingText: s.pendingDocument, NotBefore: s.NotBefore, Document: s.Document,
	}
	if s.Keys.Len() > 0 {
		f.Keys = s.Keys.JWKS()
	}
	if next, ok := s.Next(); ok {
		f.Next = fileOf(next)
	}
	return f
}

// session returns the session in a file. It ignores the successor of a successor.
func (f *sessionFile) session() Session {
	keySet, _ := evidence.ParseKeySet(f.Keys) // a session without keys pins them again
	return Session{
		Keys: keySet, Endpoints: f.Endpoints, Issuer: f.Issuer, Dialect: f.Dialect, AgentID: f.AgentID, KeyID: f.KeyID,
		PolicyUID: f.PolicyUID, PolicyDigest: f.PolicyDigest, Document: f.Document, AgreementID: f.AgreementID, Form: f.Form,
		Scope: f.Scope, ScopeOmitted: f.Omitted, Requested: f.Requested, Declared: f.Declared, ExpiresAt: f.ExpiresAt, IssuedAt: f.IssuedAt,
		NotBefore: f.NotBefore, AcceptedIssuer: f.Accepted, target: f.Target, tokenID: f.TokenID, token: newSecret(f.Token),
		pending: newSecret(f.Pending), pendingDigest: f.PendingFor,
		pendingUID: f.PendingUID, pendingForm: f.PendingForm, pendingDocument: f.PendingText,
	}
}

const (
	sessionVersion = 1
	maxSession     = 8 << 20 // for up to four policies of pat.MaxPolicy, and two PATs
)

// SaveSession writes a session, including the PAT, to a file that only its owner can read (0600). It atomically replaces an
// existing file, and creates directories with mode 0700. The error wraps ErrFile.
func SaveSession(path string, s Session) error {
	data, err := json.MarshalIndent(fileOf(s), "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the session: %w", err)
	}
	return writePrivate(path, append(data, '\n'))
}

// LoadSession reads a file written by SaveSession. The error wraps ErrFile, and os.ErrNotExist if the file does not exist; it never
// quotes the contents of the file.
func LoadSession(path string) (Session, error) {
	data, err := readPrivate(path, maxSession)
	if err != nil {
		return Session{}, err
	}
	var f sessionFile
	if err := json.Unmarshal(data, &f); err != nil || f.Version != sessionVersion || f.Endpoints.Agents == "" {
		return Session{}, fmt.Errorf("%s: %w: it does not contain a session of this program; remove it and agree again", path, ErrFile)
	}
	session := f.session()
	if f.Next != nil {
		next := f.Next.session()
		session.next = &next
	}
	return session, nil
}

// RemoveSession removes the file of a session. A missing file is not an error.
func RemoveSession(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return nil
}
