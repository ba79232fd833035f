package pat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	// agreementWindow is the maximum difference, in either direction, between the time of a fresh agreement and now.
	agreementWindow = 5 * time.Minute
	// maxFresh is the maximum size in bytes of a fresh agreement, which is a compact JWS.
	maxFresh = 16 << 10
	// maxSigned is the maximum size in bytes of signed_policy: a JWS over a policy of the maximum size.
	maxSigned = MaxPolicy*4/3 + 16<<10
	minNonce  = 16
	maxNonce  = 128

	formJWSAgreement = "jws-agreement"
	formJWSPolicy    = "jws-policy"
	formDetached     = "detached"
)

// Presentation is an agreement as an agent sends it. Nothing in it is verified yet.
type Presentation struct {
	AgentID AgentID
	Signed  string // signed_policy: a compact JWS, or a detached signature in hex or base64
	Key     keys.Key
}

// Acceptance is a verified agreement.
type Acceptance struct {
	Assurance Assurance
	Form      string    // see Agreement.Form
	Signed    []byte    // see Agreement.Signed
	Signature []byte    // see Agreement.Signature
	Nonce     string    // see Agreement.Nonce
	IssuedAt  time.Time // iat of a fresh agreement
	Expires   time.Time // for an agreement without iat: the expiry of its envelope or of the accepted offer; otherwise zero
	Scope     []string  // nil if the agreement names no scope
	Plan      string    // the declared plan; empty if there is none
	UID       string    // the uid of the policy
	Digest    string
}

// VerifyAgreement verifies an agreement as an agent sent it, against the policy that is currently offered. It accepts three kinds, and
// distinguishes them only by form and typ. A fresh agreement (typ uim-agreement+jwt) names the policy by digest. The others are a compact
// JWS whose payload is the policy, and a detached signature over one of the byte forms of the policy. VerifyAgreement also tries the
// policies in past, at most 24 of them, only to return ErrPolicyMismatch instead of ErrBadSignature. It does not check whether a fresh
// agreement was used before; the IssuerStore checks that.
//
// Errors are of kind ErrBadAgentID, keys.ErrUnsupported, ErrBadSignature, ErrBadAgreement, ErrAgreementMisdirected, ErrAgreementStale or
// ErrPolicyMismatch.
func VerifyAgreement(p Presentation, to Recipient, current Offer, past []Offer, now time.Time) (Acceptance, error) {
	if _, err := ParseAgentID(string(p.AgentID)); err != nil {
		return Acceptance{}, err
	}
	accepted, err := verifyPresented(p, to, current, past)
	if err != nil {
		return Acceptance{}, err
	}
	if accepted.stale(now) {
		return Acceptance{}, ErrAgreementStale
	}
	return accepted, nil
}

func (a Acceptance) stale(now time.Time) bool {
	if !a.Expires.IsZero() {
		return !now.Before(a.Expires) || a.Assurance != Implied && a.Expires.Sub(now) > evidenceWindow
	}
	return a.Assurance == Fresh && now.Sub(a.IssuedAt).Abs() > agreementWindow
}

// nonceUntil returns the time until which the nonce of an agreement must count as used. After that time the agreement is stale.
func (a Acceptance) nonceUntil(now time.Time) time.Time {
	if !a.Expires.IsZero() {
		return a.Expires.Add(agreementWindow)
	}
	return now.Add(3 * agreementWindow)
}

// verifyPresented is like VerifyAgreement, but checks neither the agent id nor whether a fresh agreement is stale.
func verifyPresented(p Presentation, to Recipient, current Offer, past []Offer) (Acceptance, error) {
	if p.Key.IsZero() {
		return Acceptance{}, keys.ErrUnsupported
	}
	if strings.Contains(p.Signed, ".") { // neither hex nor base64 contains a dot
		return verifyAgreementJWS(p, to, current)
	}
	signature, err := keys.ParseSignature(p.Key, p.Signed)
	if err != nil {
		return Acceptance{}, errorOfKind(ErrBadSignature, "%s", err)
	}
	d := keys.NewDetached(p.Key, signature)
	if f, scheme, ok := current.signedBy(d); ok {
		a := Acceptance{
			Assurance: Static, Form: formDetached + ":" + f.name + ":" + scheme, Signature: signature,
			UID: current.UID, Digest: current.Digest,
		}
		if f.name != formServed {
			a.Signed = f.text
		}
		return a, nil
	}
	for _, old := range past[:min(len(past), maxRecognized)] {
		if _, _, ok := old.signedBy(d); ok {
			return Acceptance{}, &PolicyMismatchError{UID: current.UID, Digest: current.Digest, SignedDigest: old.Digest}
		}
	}
	return Acceptance{}, ErrBadSignature
}

func verifyAgreementJWS(p Presentation, to Recipient, current Offer) (Acceptance, error) {
	text := strings.TrimSpace(p.Signed)
	j, err := keys.ParseJWS(text, maxSigned)
	if err != nil {
		return Acceptance{}, errorOfKind(ErrBadSignature, "signed_policy is neither a compact JWS nor a detached signature")
	}
	if !j.SignedBy(p.Key) {
		return Acceptance{}, ErrBadSignature
	}
	if j.Typ == TypeAgreement && len(text) > maxFresh {
		return Acceptance{}, &AgreementError{Reason: fmt.Sprintf("it is longer than %d bytes", maxFresh)}
	}
	if j.Typ == TypeAgreement {
		a, err := freshAgreement(j, p, to, current)
		if err != nil {
			return Acceptance{}, err
		}
		a.Signature = []byte(text)
		return a, nil
	}
	if strings.HasPrefix(j.Typ, "uim-") { // a PAT or a proof is never accepted as an agreement
		return Acceptance{}, errorOfKind(ErrBadSignature, "a JWS of this typ is not an agreement")
	}
	if resemblesAgreement(j.Payload) {
		return Acceptance{}, &PolicyMismatchError{UID: current.UID, Digest: current.Digest, Member: "typ", Reason: wantedType(j.Typ)}
	}
	if !current.mayBe(j.Payload) {
		return Acceptance{}, &PolicyMismatchError{UID: current.UID, Digest: current.Digest}
	}
	digest, err := PolicyDigest(j.Payload)
	if err != nil || digest != current.Digest {
		return Acceptance{}, &PolicyMismatchError{UID: current.UID, Digest: current.Digest, SignedDigest: digest}
	}
	return Acceptance{
		Assurance: Static, Form: formJWSPolicy, Signature: []byte(text), UID: current.UID, Digest: current.Digest,
	}, nil
}

// resemblesAgreement reports whether the payload of a JWS with a different typ looks like a fresh agreement, and not like a policy.
func resemblesAgreement(payload []byte) bool {
	tree, err := strictjson.DecodeObject(payload)
	if err != nil {
		return false
	}
	policy, named := tree["policy"].(map[string]any)
	return named && policy["digest"] != nil && tree["iss"] != nil && tree["permission"] == nil
}

// wantedType describes the typ that the header of a fresh agreement must have, and the typ that was sent.
func wantedType(sent string) string {
	if sent = namable(sent); sent == "" {
		return "the header has no readable typ; want " + TypeAgreement
	}
	return fmt.Sprintf("it is %q; want %s", sent, TypeAgreement)
}

// freshAgreement reads and checks the payload and the jwk of a JWS whose signature was verified. It does not check iat against the time.
func freshAgreement(j keys.JWS, p Presentation, to Recipient, current Offer) (Acceptance, error) {
	if j.JWK != nil {
		jwk, isObject := j.PublicKey()
		if !isObject {
			return Acceptance{}, errorOfKind(ErrBadSignature, "the header's jwk is not an object")
		}
		if key, err := keys.FromJWK(jwk); err != nil || key.Thumbprint() != p.Key.Thumbprint() {
			return Acceptance{}, errorOfKind(ErrBadSignature, "the header's jwk is not agent_public_key")
		}
	}
	c, err := readAgreement(j.Payload)
	if err != nil {
		return Acceptance{}, err
	}
	switch {
	case c.AgentID != p.AgentID:
		return Acceptance{}, &AgreementError{"iss", "want the agent_id that is sent with it"}
	case c.Audience != to.Issuer:
		return Acceptance{}, &AgreementError{"aud", "want this service's issuer, " + to.Issuer}
	case !to.at(c.URL):
		return Acceptance{}, &MisdirectedError{"htu", to.URLs[0]}
	case c.PolicyDigest == current.Digest && c.PolicyUID != current.UID:
		return Acceptance{}, &PolicyMismatchError{
			UID: current.UID, Digest: current.Digest, SignedDigest: current.Digest,
			Member: "policy.uid", Reason: fmt.Sprintf("want %q; the digest is right", current.UID),
		}
	case c.PolicyDigest != current.Digest:
		return Acceptance{}, &PolicyMismatchError{UID: current.UID, Digest: current.Digest, SignedDigest: bounded(c.PolicyDigest)}
	}
	return Acceptance{
		Assurance: Fresh, Form: formJWSAgreement, Nonce: c.Nonce, IssuedAt: c.IssuedAt, Scope: c.Scope,
		UID: c.PolicyUID, Digest: c.PolicyDigest, Plan: c.Declared.Plan(),
	}, nil
}

// AgreementClaims are the payload of a fresh agreement.
type AgreementClaims struct {
	AgentID      AgentID // iss
	Audience     string  // aud: the service's issuer
	URL          string  // htu: the URL that it is sent to, as in RFC 9449 4.2
	IssuedAt     time.Time
	Nonce        string // jti, 16 to 128 visible ASCII characters
	PolicyUID    string
	PolicyDigest string
	Scope        []string    // nil means everything that the policy permits
	Declared     Declaration // nil means that nothing is declared
}

// agreementMembers are the members that the payload of a fresh agreement may have. Some agents write nonce instead of jti.
var agreementMembers = []string{"aud", "declared", "htu", "iat", "iss", "jti", "nonce", "policy", "scope"}

var errNotAgreement = errors.New("an unexpected value")

// namable returns name if it has at most 64 visible ASCII characters, and may therefore appear in errors and logs. Otherwise it returns "".
func namable(name string) string {
	if len(name) > 64 || !visible(name) {
		return ""
	}
	return name
}

func readAgreement(payload []byte) (AgreementClaims, error) {
	tree, err := strictjson.DecodeObject(payload)
	if err != nil {
		return AgreementClaims{}, &AgreementError{Reason: "the payload is not a single JSON object"}
	}
	for _, name := range tree.Names() {
		if !slices.Contains(agreementMembers, name) {
			return AgreementClaims{}, &AgreementError{namable(name), "an agreement has no such member; remove it"}
		}
	}
	var c AgreementClaims
	iss, _ := tree["iss"].(string)
	c.AgentID = AgentID(iss) // freshAgreement compares it with a parsed one
	if c.Audience, err = soleAudience(tree["aud"]); err != nil {
		return AgreementClaims{}, &AgreementError{"aud", "want one string"}
	}
	c.URL, _ = tree["htu"].(string) // freshAgreement compares it
	if c.IssuedAt, err = numericDate(tree["iat"]); err != nil {
		return AgreementClaims{}, &AgreementError{"iat", "want seconds since 1970"}
	}
	c.Nonce, _ = tree["jti"].(string)
	if _, ok := tree["jti"]; !ok {
		c.Nonce, _ = tree["nonce"].(string)
	}
	if !validNonce(c.Nonce) {
		return AgreementClaims{}, &AgreementError{"jti", "want 16 to 128 visible ASCII characters"}
	}
	policy, _ := tree["policy"].(map[string]any)
	if len(policy) > 2 || (len(policy) == 2 && policy["uid"] == nil) {
		return AgreementClaims{}, &AgreementError{"policy", "want uid and digest, and no other member"}
	}
	c.PolicyUID, _ = policy["uid"].(string)
	if c.PolicyDigest, _ = policy["digest"].(string); c.PolicyDigest == "" {
		return AgreementClaims{}, &AgreementError{"policy", "want an object with uid and digest"}
	}
	if scope, ok := tree["scope"]; ok {
		if c.Scope, err = stringList(scope); err != nil {
			return AgreementClaims{}, &AgreementError{"scope", "want a list of strings"}
		}
		if c.Scope, err = normalScope(c.Scope); err != nil {
			return AgreementClaims{}, &AgreementError{"scope", err.Error()}
		}
	}
	declared, present := tree["declared"]
	if c.Declared, err = readDeclared(declared, present); err != nil {
		return AgreementClaims{}, &AgreementError{"declared", err.Error()}
	}
	return c, nil
}

func validNonce(s string) bool { return len(s) >= minNonce && len(s) <= maxNonce && visible(s) }

// bounded returns the digest that an agent sent, or "" if the digest must not appear in messages because it is longer than 64 bytes or not
// visible ASCII.
func bounded(digest string) string {
	if len(digest) > 64 || !visible(digest) {
		return ""
	}
	return digest
}

// soleAudience reads aud: one string, or a list of one string. It rejects an agreement that was made for several audiences, because such an
// agreement is bound to none of them.
func soleAudience(v any) (string, error) {
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	s, ok := v.(string)
	if !ok || s == "" {
		return "", errNotAgreement
	}
	return s, nil
}

func stringList(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errNotAgreement
	}
	out := make([]string, 0, len(list))
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return nil, errNotAgreement
		}
		out = append(out, s)
	}
	return slices.Clip(out), nil
}
