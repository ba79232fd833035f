package pat

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	exportType    = "uim-agreement-export"
	exportVersion = "1"
	// MaxExport bounds a bundle in bytes: a policy and a JWS over it, both as base64.
	MaxExport = 6 << 20
)

// An Exported agreement is one whose bundle verified.
type Exported struct {
	Agreement Agreement
	Policy    PolicyDocument
}

// bundle is the JSON of an export. All bytes are base64url without padding.
type bundle struct {
	Type      string          `json:"type"`
	Version   string          `json:"version"`
	Agreement bundleAgreement `json:"agreement"`
	Policy    bundlePolicy    `json:"policy"`
}

type bundleAgreement struct {
	ID           AgreementID `json:"id"`
	Service      string      `json:"service"`
	Issuer       string      `json:"issuer"`
	AgentID      AgentID     `json:"agent_id"`
	PublicKey    string      `json:"agent_public_key"` // DER SubjectPublicKeyInfo
	KeyID        KeyID       `json:"jkt"`
	PolicyUID    string      `json:"policy_uid"`
	PolicyDigest string      `json:"policy_digest"`
	Assurance    string      `json:"assurance"`
	Form         string      `json:"form"`
	Signed       string      `json:"signed,omitempty"`
	Signature    string      `json:"signature"`
	Nonce        string      `json:"nonce,omitempty"`
	Scope        []string    `json:"scope,omitempty"`
	State        string      `json:"state"`
	CreatedAt    string      `json:"created_at"` // RFC 3339
}

type bundlePolicy struct {
	UID          string `json:"uid"`
	Digest       string `json:"digest"`
	Document     string `json:"document"` // as served
	FirstOffered string `json:"first_offered"`
}

// Export writes an agreement and its policy as one JSON document that VerifyExport, or anyone with the
// public key, can verify without us. Evidence that does not verify is not exported: ErrBadExport.
func Export(a Agreement, p PolicyDocument) ([]byte, error) {
	if err := VerifyEvidence(a, p); err != nil {
		return nil, err
	}
	b64 := base64.RawURLEncoding.EncodeToString
	out, err := json.Marshal(bundle{exportType, exportVersion, bundleAgreement{
		ID: a.ID, Service: a.Service, Issuer: a.Issuer, AgentID: a.AgentID, PublicKey: b64(a.PublicKey), KeyID: a.KeyID,
		PolicyUID: a.PolicyUID, PolicyDigest: a.PolicyDigest, Assurance: string(a.Assurance), Form: a.Form,
		Signed: b64(a.Signed), Signature: b64(a.Signature), Nonce: a.Nonce, Scope: a.Scope, State: string(a.State),
		CreatedAt: a.CreatedAt.UTC().Format(time.RFC3339Nano),
	}, bundlePolicy{p.UID, p.Digest, b64(p.Bytes), p.FirstOffered.UTC().Format(time.RFC3339Nano)}})
	if err != nil {
		return nil, fmt.Errorf("writing the bundle: %w", err)
	}
	return out, nil
}

// VerifyExport reads a bundle and verifies everything it says that cryptography can prove: that the key
// signed, in one of the forms, the policy in the bundle, or an agreement that names it, this agent and
// this service. Its id, its state and (but for the five minutes around a fresh agreement) its times are
// the exporter's word. The error is of kind ErrBadExport.
func VerifyExport(raw []byte) (Exported, error) {
	if len(raw) > MaxExport {
		return Exported{}, because(ErrBadExport, "a bundle has at most %d bytes", MaxExport)
	}
	tree, err := strictjson.DecodeObject(raw)
	if err != nil {
		return Exported{}, because(ErrBadExport, "the bundle: %v", err)
	}
	top := exportReader{tree: tree}
	ra, rp := exportReader{tree: top.object("agreement")}, exportReader{tree: top.object("policy")}
	if top.text("type") != exportType || top.text("version") != exportVersion {
		return Exported{}, because(ErrBadExport, "that is no %s of version %s", exportType, exportVersion)
	}
	e := Exported{Agreement{
		ID: AgreementID(ra.text("id")), Service: ra.text("service"), Issuer: ra.text("issuer"), AgentID: AgentID(ra.text("agent_id")),
		PublicKey: ra.bytes("agent_public_key"), KeyID: KeyID(ra.text("jkt")), PolicyUID: ra.text("policy_uid"), PolicyDigest: ra.text("policy_digest"),
		Assurance: Assurance(ra.text("assurance")), Form: ra.text("form"), Signed: ra.bytes("signed"), Signature: ra.bytes("signature"),
		Nonce: ra.text("nonce"), Scope: ra.list("scope"), State: AgreementState(ra.text("state")), CreatedAt: ra.time("created_at"),
	}, PolicyDocument{
		Service: ra.text("service"), UID: rp.text("uid"), Digest: rp.text("digest"), Bytes: rp.bytes("document"), FirstOffered: rp.time("first_offered"),
	}}
	if bad := cmp.Or(top.bad, ra.bad, rp.bad); bad != "" {
		return Exported{}, because(ErrBadExport, "the bundle's member %s is missing or not as it should be", bad)
	}
	if err := VerifyEvidence(e.Agreement, e.Policy); err != nil {
		return Exported{}, err
	}
	return e, nil
}

// VerifyEvidence verifies the signature of a stored agreement again. The error is of kind ErrBadExport.
func VerifyEvidence(a Agreement, p PolicyDocument) error {
	key, err := ParseSPKI(a.PublicKey)
	if err != nil || key.Thumbprint() != a.KeyID {
		return because(ErrBadExport, "the public key is not the one the agreement names")
	}
	digest, err := PolicyDigest(p.Bytes)
	if err != nil || digest != p.Digest || digest != a.PolicyDigest || a.PolicyUID != p.UID {
		return because(ErrBadExport, "the policy document is not the one the agreement names")
	}
	offer := Offer{UID: p.UID, Digest: digest}
	if kind, rest, ok := strings.Cut(a.Form, ":"); ok && kind == formDetached && a.Assurance == Static && a.Nonce == "" && len(a.Scope) == 0 {
		return verifyDetachedEvidence(a, p, key, rest)
	}
	if a.Signed != nil {
		return because(ErrBadExport, "a JWS holds what it signs; the bundle holds something beside it")
	}
	accepted, err := verifyAgreementJWS(Presented{AgentID: a.AgentID, Signed: string(a.Signature), Key: key}, a.Issuer, offer)
	switch {
	case err != nil:
		return because(ErrBadExport, "the signature: %v", err)
	case accepted.Form != a.Form || accepted.Assurance != a.Assurance || accepted.Nonce != a.Nonce || !slices.Equal(accepted.Scope, a.Scope):
		return because(ErrBadExport, "the agreement is not the one that was signed")
	case accepted.stale(a.CreatedAt):
		return because(ErrBadExport, "the agreement was not made when the bundle says")
	}
	return nil
}

func verifyDetachedEvidence(a Agreement, p PolicyDocument, key Key, rest string) error {
	name, way, _ := strings.Cut(rest, ":")
	text := a.Signed
	if text == nil {
		text = p.Bytes
	}
	known := name == formServed || name == formRFC8785 || name == formCompact || name == formPython
	if !known || (name == formServed) != (a.Signed == nil) || way == "" {
		return because(ErrBadExport, "the form of the signature does not fit what was signed")
	}
	if digest, err := PolicyDigest(text); err != nil || digest != a.PolicyDigest {
		return because(ErrBadExport, "what was signed is not the policy")
	}
	if _, ok := verifyDetached(key, text, sha256.Sum256(text), a.Signature, way); !ok {
		return because(ErrBadExport, "the signature does not verify")
	}
	return nil
}

// An exportReader notes the first member that is missing or of the wrong type.
type exportReader struct {
	tree map[string]any
	bad  string
}

func (r *exportReader) note(name string) {
	if r.bad == "" {
		r.bad = name
	}
}

func (r *exportReader) object(name string) map[string]any {
	m, ok := r.tree[name].(map[string]any)
	if !ok {
		r.note(name)
	}
	return m
}

// optional may be left out by Export.
var optional = []string{"signed", "nonce", "scope"}

func (r *exportReader) text(name string) string {
	s, ok := r.tree[name].(string)
	if _, present := r.tree[name]; (present && !ok) || (!present && !slices.Contains(optional, name)) {
		r.note(name)
	}
	return s
}

func (r *exportReader) bytes(name string) []byte {
	s := r.text(name)
	if s == "" {
		return nil
	}
	b, err := decodeSegment(s)
	if err != nil {
		r.note(name)
	}
	return b
}

func (r *exportReader) list(name string) []string {
	v, ok := r.tree[name]
	if !ok {
		return nil
	}
	list, err := stringList(v)
	if err != nil {
		r.note(name)
	}
	return list
}

func (r *exportReader) time(name string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, r.text(name))
	if err != nil {
		r.note(name)
	}
	return t
}
