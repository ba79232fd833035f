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
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	exportType    = "uim-agreement-export"
	exportVersion = "1"
	// MaxExport is the maximum size of a bundle in bytes: a policy and a JWS over it, both in base64.
	MaxExport = 6 << 20
)

// An ExportedAgreement is an agreement from a bundle that was verified.
type ExportedAgreement struct {
	Agreement Agreement // under consent, NewBudget is the newest changed budget that is proved
	Policy    PolicyDocument
	Budgets   []ExportedBudget // under consent, the changes of the budget, the oldest first
}

// bundle is the JSON form of an export. All binary members are in base64url without padding.
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
	PublicKey    string      `json:"agent_public_key,omitempty"` // DER SubjectPublicKeyInfo
	KeyID        keys.ID     `json:"jkt,omitempty"`
	GatewayKey   string      `json:"gateway_public_key,omitempty"` // under consent: the key that signed its record
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

	BudgetChanges []bundleBudget `json:"budget_changes,omitempty"` // the oldest first
}

type bundlePolicy struct {
	UID          string `json:"uid"`
	Digest       string `json:"digest"`
	Document     string `json:"document"` // as served
	FirstOffered string `json:"first_offered"`
}

// Export returns an agreement and its policy as one JSON document that anyone can verify offline, with VerifyExport or with only the public
// key. budgets are the changed budgets of a consent, the oldest first. If the evidence does not verify, the error is of kind
// ErrBadExport.
func Export(a Agreement, p PolicyDocument, forms []Form, budgets ...SignedBudget) ([]byte, error) {
	if err := verifyEvidence(&a, p, forms); err != nil {
		return nil, err
	}
	changes, err := exportBudgets(a, budgets)
	if err != nil {
		return nil, err
	}
	b64 := base64.RawURLEncoding.EncodeToString
	agentKey, gatewayKey := b64(a.PublicKey), ""
	if a.Assurance == Consent {
		agentKey, gatewayKey = gatewayKey, agentKey
	}
	out, err := json.Marshal(bundle{exportType, exportVersion, bundleAgreement{
		ID: a.ID, Service: a.Service, Issuer: a.Issuer, AgentID: a.AgentID, PublicKey: agentKey, KeyID: a.KeyID, GatewayKey: gatewayKey,
		PolicyUID: a.PolicyUID, PolicyDigest: a.PolicyDigest, Assurance: string(a.Assurance), Form: a.Form,
		Signed: b64(a.Signed), Signature: b64(a.Signature), Nonce: a.Nonce, Scope: a.Scope, State: string(a.State),
		CreatedAt: a.CreatedAt.UTC().Format(time.RFC3339Nano), BudgetChanges: changes,
	}, bundlePolicy{p.UID, p.Digest, b64(p.Bytes), p.FirstOffered.UTC().Format(time.RFC3339Nano)}})
	if err != nil {
		return nil, fmt.Errorf("encoding the bundle: %w", err)
	}
	return out, nil
}

// ExportPresentation returns an agreement that an agent sent, and the policy that it signed, in the form of Export. Agents use the result
// to prove their agreements without the service. id is the id that the service chose. at is the time of a static agreement; a fresh
// agreement states its own time. Errors are those of VerifyAgreement without ErrAgreementStale, and of NewOffer.
func ExportPresentation(p Presentation, issuer string, policy PolicyDocument, id AgreementID, at time.Time) ([]byte, error) {
	offer, err := NewOffer(policy.Bytes, policy.UID)
	if err != nil {
		return nil, err
	}
	accepted, err := verifyPresented(p, Recipient{Issuer: issuer}, offer, nil)
	if err != nil {
		return nil, err
	}
	if !accepted.IssuedAt.IsZero() {
		at = accepted.IssuedAt
	}
	policy.Service, policy.Digest, policy.FirstOffered = issuer, offer.Digest, cmp.Or(policy.FirstOffered, at)
	return Export(Agreement{
		ID: id, Service: issuer, Issuer: issuer, AgentID: p.AgentID, PublicKey: p.Key.SPKI(), KeyID: p.Key.Thumbprint(),
		PolicyUID: accepted.UID, PolicyDigest: accepted.Digest, Assurance: accepted.Assurance, Form: accepted.Form, Signed: accepted.Signed,
		Signature: accepted.Signature, Nonce: accepted.Nonce, Scope: accepted.Scope, State: AgreementActive, CreatedAt: at,
	}, policy, nil)
}

// ExportEvidence returns an agreement in one of the forms, as an agent sent it, and the policy that it signed, in the form of Export. text
// is what the agent signed, such as an envelope. name is the value of Agreement.Form. id is the id that the service chose. at is the time
// at which the agent sent the agreement. The error is of kind ErrBadExport if no form has the name or if the evidence does not verify;
// other errors are those of NewOffer.
func ExportEvidence(
	text []byte, name, issuer string, policy PolicyDocument, id AgreementID, at time.Time, forms []Form,
) ([]byte, error) {
	form, ok := formOf(forms, name)
	if !ok {
		return nil, errorOfKind(ErrBadExport, "%q is not the form of an agreement", bounded(name))
	}
	offer, err := NewOffer(policy.Bytes, policy.UID)
	if err != nil {
		return nil, err
	}
	signer, accepted, err := verifyForm(form.Kept(Agreement{Form: name, Signature: text}), issuer, offer)
	if err != nil {
		return nil, errorOfKind(ErrBadExport, "the agreement: %v", err)
	}
	policy.Service, policy.Digest, policy.FirstOffered = issuer, offer.Digest, cmp.Or(policy.FirstOffered, at)
	return Export(Agreement{
		ID: id, Service: issuer, Issuer: issuer, AgentID: signer.ID, PublicKey: signer.Key.SPKI(), KeyID: signer.Key.Thumbprint(),
		PolicyUID: accepted.UID, PolicyDigest: accepted.Digest, Assurance: accepted.Assurance, Form: accepted.Form, Signed: accepted.Signed,
		Signature: accepted.Signature, Nonce: accepted.Nonce, Scope: accepted.Scope, State: AgreementActive, CreatedAt: at,
	}, policy, forms)
}

// VerifyExport reads a bundle and verifies everything in it that cryptography can prove. The key must have signed, in one of the forms, the
// policy in the bundle, or an agreement that names this policy, this agent and this service. Under consent, the key is the gateway's: the
// signature proves the gateway's observations, and nothing about other parties. Each changed budget follows the record before it, and
// changes only amounts; see ExportedBudget.Proved for its signature. The id, the state and the times are not proved, with two exceptions. A
// fresh agreement or a consent was made within five minutes of CreatedAt. An agreement in a Form was valid at CreatedAt if it expires. The
// error is of kind ErrBadExport.
func VerifyExport(raw []byte, forms []Form) (ExportedAgreement, error) {
	if len(raw) > MaxExport {
		return ExportedAgreement{}, errorOfKind(ErrBadExport, "a bundle may have at most %d bytes", MaxExport)
	}
	tree, err := strictjson.DecodeObject(raw)
	if err != nil {
		return ExportedAgreement{}, errorOfKind(ErrBadExport, "the bundle: %v", err)
	}
	top := exportReader{tree: tree}
	ra, rp := exportReader{tree: top.object("agreement")}, exportReader{tree: top.object("policy")}
	if top.text("type") != exportType || top.text("version") != exportVersion {
		return ExportedAgreement{}, errorOfKind(ErrBadExport, "the document is not a %s of version %s", exportType, exportVersion)
	}
	assurance, keyed := Assurance(ra.text("assurance")), "agent_public_key"
	var keyID keys.ID
	if assurance == Consent {
		keyed = "gateway_public_key"
	} else {
		keyID = keys.ID(ra.text("jkt"))
	}
	e := ExportedAgreement{Agreement: Agreement{
		ID: AgreementID(ra.text("id")), Service: ra.text("service"), Issuer: ra.text("issuer"), AgentID: AgentID(ra.text("agent_id")),
		PublicKey: ra.bytes(keyed), KeyID: keyID, PolicyUID: ra.text("policy_uid"), PolicyDigest: ra.text("policy_digest"),
		Assurance: assurance, Form: ra.text("form"), Signed: ra.bytes("signed"), Signature: ra.bytes("signature"),
		Nonce: ra.text("nonce"), Scope: ra.list("scope"), State: AgreementState(ra.text("state")), CreatedAt: ra.time("created_at"),
	}, Policy: PolicyDocument{
		Service: ra.text("service"), UID: rp.text("uid"), Digest: rp.text("digest"), Bytes: rp.bytes("document"),
		FirstOffered: rp.time("first_offered"),
	}}
	budgets := ra.budgets()
	if bad := cmp.Or(top.faulty, ra.faulty, rp.faulty); bad != "" {
		return ExportedAgreement{}, errorOfKind(ErrBadExport, "the bundle's member %s is missing or invalid", bad)
	}
	if consent, ok := e.Agreement.Consent(); ok { // a bundle has the plan of a consent only in its record
		e.Agreement.Plan = consent.Plan
	}
	if err := verifyEvidence(&e.Agreement, e.Policy, forms); err != nil {
		return ExportedAgreement{}, err
	}
	if e.Budgets, err = verifyBudgets(e.Agreement, budgets); err != nil {
		return ExportedAgreement{}, err
	}
	for i, b := range e.Budgets {
		if b.Proved {
			e.Agreement.NewBudget = budgets[i].Record
		}
	}
	return e, nil
}

// verifyEvidence verifies the signature of a stored agreement again, and may set its plan: see verifyKept. The error is of kind
// ErrBadExport.
func verifyEvidence(of *Agreement, p PolicyDocument, forms []Form) error {
	if form, ok := formOf(forms, of.Form); ok {
		return verifyKept(of, p, form)
	}
	a := *of
	key, err := agreedKey(a)
	if err != nil {
		return err
	}
	offer, err := offerOf(a, p)
	if err != nil {
		return err
	}
	if kind, rest, ok := strings.Cut(a.Form, ":"); ok && kind == formDetached && a.Assurance == Static && a.Nonce == "" && len(a.Scope) == 0 {
		return verifyDetachedEvidence(a, p, key, rest)
	}
	return verifySigned(a, key, offer)
}

// verifySigned verifies the record of a consent, or a JWS of the agent. The agreement names the policy of the offer. The error is of kind
// ErrBadExport.
func verifySigned(a Agreement, key keys.Key, offer Offer) error {
	if a.Assurance == Consent {
		return verifyConsent(a, key)
	}
	if a.Signed != nil {
		return errorOfKind(ErrBadExport, "the signature is a JWS, which contains the signed text, but the bundle also has the member signed")
	}
	presented := Presentation{AgentID: a.AgentID, Signed: string(a.Signature), Key: key}
	accepted, err := verifyAgreementJWS(presented, Recipient{Issuer: a.Issuer}, offer)
	switch {
	case err != nil:
		return errorOfKind(ErrBadExport, "the signature: %v", err)
	case accepted.Form != a.Form || accepted.Assurance != a.Assurance || accepted.Nonce != a.Nonce || !slices.Equal(accepted.Scope, a.Scope):
		return errorOfKind(ErrBadExport, "the agreement differs from the one that was signed")
	case accepted.stale(a.CreatedAt):
		return errorOfKind(ErrBadExport, "the agreement was not made at the time in the bundle")
	}
	return nil
}

// offerOf checks that p is the policy that an agreement names, and returns it as an Offer without byte forms. The error is of kind
// ErrBadExport.
func offerOf(a Agreement, p PolicyDocument) (Offer, error) {
	digest, err := PolicyDigest(p.Bytes)
	if err != nil || digest != p.Digest || digest != a.PolicyDigest || a.PolicyUID != p.UID {
		return Offer{}, errorOfKind(ErrBadExport, "the policy document is not the one the agreement names")
	}
	return Offer{UID: p.UID, Digest: digest}, nil
}

func verifyDetachedEvidence(a Agreement, p PolicyDocument, key keys.Key, rest string) error {
	name, scheme, _ := strings.Cut(rest, ":")
	text := a.Signed
	if text == nil {
		text = p.Bytes
	}
	known := name == formServed || name == formRFC8785 || name == formCompact || name == formPython
	if !known || (name == formServed) != (a.Signed == nil) || scheme == "" {
		return errorOfKind(ErrBadExport, "the form of the signature does not match the signed text")
	}
	if digest, err := PolicyDigest(text); err != nil || digest != a.PolicyDigest {
		return errorOfKind(ErrBadExport, "the signed text is not the policy")
	}
	if _, ok := keys.NewDetached(key, a.Signature).Verify(text, sha256.Sum256(text), scheme); !ok {
		return errorOfKind(ErrBadExport, "the signature does not verify")
	}
	return nil
}

// An exportReader records the first member that is missing or of the wrong type.
type exportReader struct {
	tree   map[string]any
	faulty string
}

func (r *exportReader) fault(name string) {
	r.faulty = cmp.Or(r.faulty, name)
}

func (r *exportReader) object(name string) map[string]any {
	m, ok := r.tree[name].(map[string]any)
	if !ok {
		r.fault(name)
	}
	return m
}

// optionalMembers are the members that Export may omit.
var optionalMembers = []string{"signed", "nonce", "scope"}

func (r *exportReader) text(name string) string {
	s, ok := r.tree[name].(string)
	if _, present := r.tree[name]; (present && !ok) || (!present && !slices.Contains(optionalMembers, name)) {
		r.fault(name)
	}
	return s
}

func (r *exportReader) bytes(name string) []byte {
	s := r.text(name)
	if s == "" {
		return nil
	}
	b, err := keys.DecodeSegment(s)
	if err != nil {
		r.fault(name)
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
		r.fault(name)
	}
	return list
}

func (r *exportReader) time(name string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, r.text(name))
	if err != nil {
		r.fault(name)
	}
	return t
}
