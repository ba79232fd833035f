package pat

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	formConsent = "consent"
	// consentedPrefix and consentedHex make an agent id of consent: mcp. and the first digits of the record's jti.
	consentedPrefix = "mcp."
	consentedHex    = 16
)

// Consented reports whether an agent id has the form of those that consent makes: mcp. and 16 lowercase hex digits. No other agent can
// have one.
func Consented(id AgentID) bool {
	digits, ok := strings.CutPrefix(string(id), consentedPrefix)
	return ok && len(digits) == consentedHex && strings.Trim(digits, "0123456789abcdef") == ""
}

// A ConsentRequest describes a person's agreement on the gateway's own page, for a client without a key. The gateway observed its facts
// about the client; they are not verified here.
type ConsentRequest struct {
	ClientID       string   // URL of a client-ID metadata document, or the id of a registration
	ClientDocument string   // digest of that document as fetched; empty: a registration
	ClientName     string   // the client's own name for itself
	RedirectHost   string   // to which the code is sent
	Resource       string   // see Claims.Resource
	PolicyDigest   string   // of the shown policy
	Scope          []string // the part of the shown scope that the person permits; at least one entry
	Page           string   // digest of the shown content
	Address        string   // network of the browser
	UserAgent      string   // of the browser, bounded
	Invitation     string   // the operator's name for the invitation; empty: none
	Invited        bool     // by the operator: admitted under any Rules.Admission
	// Once identifies the decision: a second consent with the same value is ErrAgreementReplayed. Empty: each is another.
	Once string
	// Admit is called before anything is stored; its error ends the request. nil: admitted.
	Admit func() error
}

// consentPolicy names a policy in a record.
type consentPolicy struct {
	UID    string `json:"uid"`
	Digest string `json:"digest"`
}

// A ConsentRecord is the payload of the evidence of a consent: a JWS of typ uim-consent+jwt by the gateway's own key. It records what the
// gateway observed, and proves nothing about others.
type ConsentRecord struct {
	Issuer         string        `json:"iss"`
	ID             string        `json:"jti"` // 32 hex digits
	IssuedAt       int64         `json:"iat"`
	AgentID        AgentID       `json:"sub"`
	ClientID       string        `json:"client_id"`
	ClientDocument string        `json:"client_doc,omitempty"`
	ClientName     string        `json:"client_name"`
	RedirectHost   string        `json:"redirect_host"`
	Resource       string        `json:"resource"`
	Policy         consentPolicy `json:"policy"`
	Scope          []string      `json:"scope"`
	Page           string        `json:"page"`
	Address        string        `json:"address"`
	UserAgent      string        `json:"user_agent"`
	Invitation     string        `json:"invitation,omitempty"`
}

// ConsentScope returns what a consent can cover of some entries; nil: of all entries. Errors: of kind ErrBadScope, ErrNothingGranted,
// ErrFreshRequired (also if the service accepts only fresh agreements), and those of Terms.
func (i *Issuer) ConsentScope(ctx context.Context, requested []string) (Scope, error) {
	if i.rules.Freshness == FreshnessRequired {
		return Scope{}, ErrFreshRequired
	}
	requested, err := normalScope(requested)
	if err != nil {
		return Scope{}, err
	}
	return i.scope(ctx, Agreement{AgentID: consentedPrefix, Assurance: Consent}, requested, nil)
}

// Consent stores a consent as an agreement of a new agent, with a record of it signed by the gateway; the agreement is pending if the
// operator must first approve the agent. Errors: those of ConsentScope and of r.Admit, a *PolicyMismatchError if another policy was shown
// than is offered, ErrNotAdmitted, and the store's own.
func (i *Issuer) Consent(ctx context.Context, r ConsentRequest) (Agreement, error) {
	offer := i.terms.Offer()
	if r.PolicyDigest != offer.Digest {
		return Agreement{}, &PolicyMismatchError{UID: offer.UID, Digest: offer.Digest, SignedDigest: bounded(r.PolicyDigest)}
	}
	if i.rules.Admission == AdmitAllowlist && !r.Invited {
		return Agreement{}, ErrNotAdmitted
	}
	if len(r.Scope) == 0 {
		return Agreement{}, &ScopeFormError{"a consent names at least one intent"}
	}
	granted, err := i.ConsentScope(ctx, r.Scope)
	if err != nil {
		return Agreement{}, err
	}
	if err := admitted(r.Admit); err != nil {
		return Agreement{}, err
	}
	a, err := i.recordConsent(ctx, r, scopeClaim(granted.Entries, r.Scope), offer)
	if err != nil {
		return Agreement{}, err
	}
	if i.rules.Admission == AdmitApproval && !r.Invited {
		a.State = AgreementPending
	}
	document := PolicyDocument{Service: a.Service, Digest: offer.Digest, UID: offer.UID, Bytes: offer.Bytes, FirstOffered: a.CreatedAt}
	a, err = i.store.Agree(ctx, NewAgreement{
		Agreement: a, Policy: document, Approved: r.Invited, NonceUntil: a.CreatedAt.Add(3 * agreementWindow),
	})
	if errors.Is(err, ErrReplayed) {
		return Agreement{}, ErrAgreementReplayed
	}
	if err != nil {
		return Agreement{}, fmt.Errorf("keeping the consent: %w", err)
	}
	return a, nil
}

// recordConsent signs the record of a consent.
func (i *Issuer) recordConsent(ctx context.Context, r ConsentRequest, scope []string, offer Offer) (Agreement, error) {
	key, err := i.keys.PrivateKey(ctx)
	if err != nil {
		return Agreement{}, err
	}
	public, err := keys.New(key.Private.Public())
	if err != nil {
		return Agreement{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Agreement{}, fmt.Errorf("making an id: %w", err)
	}
	now, jti := i.now(), consentID(r.Once)
	record := ConsentRecord{
		Issuer: i.rules.Issuer, ID: jti, IssuedAt: now.Unix(), AgentID: AgentID(consentedPrefix + jti[:consentedHex]),
		ClientID: r.ClientID, ClientDocument: r.ClientDocument, ClientName: r.ClientName, RedirectHost: r.RedirectHost, Resource: r.Resource,
		Policy: consentPolicy{offer.UID, offer.Digest}, Scope: scope,
		Page: r.Page, Address: r.Address, UserAgent: r.UserAgent, Invitation: r.Invitation,
	}
	signed, err := keys.SignJWS(key.Private, map[string]any{"typ": TypeConsent, "kid": key.ID}, record)
	if err != nil {
		return Agreement{}, err
	}
	return Agreement{
		ID: AgreementID(id.String()), Service: i.rules.Service, Issuer: i.rules.Issuer, AgentID: record.AgentID, PublicKey: public.SPKI(),
		PolicyUID: offer.UID, PolicyDigest: offer.Digest, Assurance: Consent, Form: formConsent, Signature: []byte(signed), Nonce: jti,
		Scope: scope, State: AgreementActive, CreatedAt: now,
	}, nil
}

// consentID returns the jti of the record of a consent: random, or derived from Once.
func consentID(once string) string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	if once != "" {
		sum := sha256.Sum256([]byte("jti of the consent " + once))
		copy(id[:], sum[:])
	}
	return hex.EncodeToString(id[:])
}

// ConsentedToken issues a PAT under a consent, for a resource and a part of the permitted scope; no requested entry means all of it. A
// pending agreement has no PAT. Errors: ErrRevoked if the consent has ended or is unknown, a *PolicyChangedError, those of ConsentScope,
// ErrBlocked, and the store's own.
func (i *Issuer) ConsentedToken(ctx context.Context, id AgreementID, resource string, requested []string) (Issuance, error) {
	a, err := i.store.Agreement(ctx, i.rules.Service, id)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && (a.Assurance != Consent || a.State == AgreementRevoked):
		return Issuance{}, ErrRevoked
	case err != nil:
		return Issuance{}, fmt.Errorf("looking up the consent: %w", err)
	case a.State == AgreementPending:
		return Issuance{State: AgreementPending, AgreementID: id}, nil
	}
	if offered := i.terms.Offer().Digest; a.PolicyDigest != offered {
		return Issuance{}, &PolicyChangedError{Agreed: a.PolicyDigest, Offered: offered}
	}
	if i.rules.Freshness == FreshnessRequired {
		return Issuance{}, ErrFreshRequired
	}
	if err := i.stillAdmitted(ctx, a); err != nil {
		return Issuance{}, err
	}
	if len(requested) == 0 {
		requested = nil
	}
	if requested, err = normalScope(requested); err != nil {
		return Issuance{}, err
	}
	covered, uncovered := narrowScope(a.Scope, requested)
	scope, err := i.scope(ctx, a, covered, uncovered)
	if err != nil {
		return Issuance{}, err
	}
	t := i.token(a, scope, covered, i.now())
	t.Resource = resource
	token, claims, err := i.issue(ctx, t)
	if err != nil {
		return Issuance{}, err
	}
	return Issuance{State: AgreementActive, AgreementID: id, Token: token, Claims: claims, Omitted: scope.Omitted}, nil
}

// stillAdmitted checks a consent against the present admission: without open admission, the operator must have admitted its agent.
func (i *Issuer) stillAdmitted(ctx context.Context, a Agreement) error {
	if i.rules.Admission == AdmitOpen {
		return nil
	}
	agent, err := i.store.Agent(ctx, i.rules.Service, a.AgentID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("looking up the agent: %w", err)
	}
	if err != nil || !agent.Approved {
		return ErrNotAdmitted
	}
	return nil
}

// Consent returns the record of a consent, as the gateway wrote it; false under another form of agreement.
func (a Agreement) Consent() (ConsentRecord, bool) {
	j, err := keys.ParseJWS(string(a.Signature), maxSigned)
	if a.Form != formConsent || err != nil || j.Typ != TypeConsent {
		return ConsentRecord{}, false
	}
	var r ConsentRecord
	_, notStrict := strictjson.DecodeObject(j.Payload)
	if notStrict != nil || json.Unmarshal(j.Payload, &r) != nil {
		return ConsentRecord{}, false
	}
	return r, true
}

// verifyConsent verifies the stored record of a consent again. The error is of kind ErrBadExport.
func verifyConsent(a Agreement, key keys.Key) error {
	j, err := keys.ParseJWS(string(a.Signature), maxSigned)
	record, ok := a.Consent()
	switch {
	case err != nil || !ok || a.Signed != nil:
		return errorOfKind(ErrBadExport, "the record of the consent is not one")
	case !j.SignedBy(key):
		return errorOfKind(ErrBadExport, "the gateway's key did not sign the record of the consent")
	case record.Issuer != a.Issuer || record.AgentID != a.AgentID || record.ID != a.Nonce || record.Policy.UID != a.PolicyUID ||
		record.Policy.Digest != a.PolicyDigest || !slices.Equal(record.Scope, a.Scope):
		return errorOfKind(ErrBadExport, "the consent is not the one that was recorded")
	case a.CreatedAt.Sub(time.Unix(record.IssuedAt, 0)).Abs() > agreementWindow:
		return errorOfKind(ErrBadExport, "the consent was not given at the time in the bundle")
	}
	return nil
}
