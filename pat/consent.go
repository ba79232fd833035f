package pat

import (
	"cmp"
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
	// consentedPrefix and the first consentedHex digits of the jti of the record form the agent id of a consent.
	consentedPrefix = "mcp."
	consentedHex    = 16
)

// Consented reports whether an agent id has the form that Consent assigns: mcp. and 16 lowercase hex digits. No other agent can have such
// an id.
func Consented(id AgentID) bool {
	digits, ok := strings.CutPrefix(string(id), consentedPrefix)
	return ok && len(digits) == consentedHex && strings.Trim(digits, "0123456789abcdef") == ""
}

// A ConsentRequest describes the consent that a person gave on the gateway's own page for a client without a key. The facts about the
// client are the gateway's observations; Consent does not verify them.
type ConsentRequest struct {
	ClientID       string   // URL of a client-ID metadata document, or the id of a registration
	ClientDocument string   // digest of that document as fetched; empty for a registration
	ClientName     string   // the client's own name for itself
	RedirectHost   string   // host that the code is sent to
	Resource       string   // see Claims.Resource
	PolicyDigest   string   // the digest of the policy that was shown
	Scope          []string // the part of the shown scope that the person permits; at least one entry
	Budget         *Budget  // what the client may spend; nil means nothing. The scope also gets the intents of the budget
	Plan           string   // the plan of the policy that the person chose; empty: none
	// Agent is the agent of an earlier consent of the same person for the same client, whose counters and credit the consent shares. It must
	// have the form of Consented. Empty: a new agent.
	Agent      AgentID
	Page       string // digest of the content that was shown
	Address    string // network of the browser
	UserAgent  string // the User-Agent field of the browser, shortened
	Invitation string // the operator's name for the invitation; empty if there was none
	Invited    bool   // the operator invited the client: it is admitted under any Rules.Admission
	// Once identifies the decision: a second request with the same value fails with ErrAgreementReplayed. If Once is empty, every request is a
	// new decision.
	Once string
	// Admit is called before anything is stored. If it returns an error, Consent returns that error. A nil Admit admits every client.
	Admit func() error
}

// consentPolicy names a policy in a record.
type consentPolicy struct {
	UID    string `json:"uid"`
	Digest string `json:"digest"`
}

// A ConsentRecord is the payload of the evidence of a consent: a JWS of typ uim-consent+jwt, signed with the gateway's own key. It records
// the gateway's observations, and proves nothing about other parties.
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
	Budget         *budgetClaim  `json:"budget,omitempty"`
	Plan           string        `json:"plan,omitempty"`
}

// ConsentScope returns those of the requested entries that a consent with the plan can cover. A nil requested means all entries, and an
// empty plan means no plan. spends is as in ScopeRequest.Spends. Errors: a *PlanError, errors of kind ErrBadScope, ErrNothingGranted and
// ErrFreshRequired (also if the service accepts only fresh agreements), and those of Terms.
func (i *Issuer) ConsentScope(
	ctx context.Context, requested []string, plan string, spends func(intent, currency string) bool,
) (Scope, error) {
	if i.rules.Freshness == FreshnessRequired {
		return Scope{}, ErrFreshRequired
	}
	requested, err := normalScope(requested)
	if err != nil {
		return Scope{}, err
	}
	return i.scope(ctx, Agreement{AgentID: consentedPrefix, Assurance: Consent, Plan: plan}, requested, nil, spends)
}

// Consent stores a consent as an agreement of r.Agent or a new agent, with a record that the gateway signs. The agreement is pending if the
// operator must first approve the agent. Errors: those of ConsentScope and r.Admit, a *PolicyMismatchError if the policy that was shown is
// not the offered one, ErrNotAdmitted, ErrBlocked, ErrBadAgentID, ErrAgreementReplayed, and those of the key ring and the store.
func (i *Issuer) Consent(ctx context.Context, r ConsentRequest) (Agreement, error) {
	offer := i.terms.Offers()[0].Offer
	if r.PolicyDigest != offer.Digest {
		return Agreement{}, &PolicyMismatchError{UID: offer.UID, Digest: offer.Digest, SignedDigest: bounded(r.PolicyDigest)}
	}
	if i.rules.Admission == AdmitAllowlist && !r.Invited {
		return Agreement{}, ErrNotAdmitted
	}
	if r.Budget != nil {
		if err := r.Budget.Check(); err != nil {
			return Agreement{}, err
		}
		if r.Budget.Nothing() {
			return Agreement{}, fmt.Errorf("%w: its amount is zero", ErrBadBudget)
		}
		r.Scope = slices.Clone(r.Scope)
		for _, uid := range r.Budget.Intents {
			if entry := uid + operation; !slices.Contains(r.Scope, entry) {
				r.Scope = append(r.Scope, entry)
			}
		}
	}
	if len(r.Scope) == 0 {
		return Agreement{}, &ScopeFormError{"a consent must name at least one intent"}
	}
	if r.Agent != "" && !Consented(r.Agent) {
		return Agreement{}, ErrBadAgentID
	}
	granted, err := i.ConsentScope(ctx, r.Scope, r.Plan, r.Budget.Covers)
	if err != nil {
		return Agreement{}, err
	}
	if granted.Plan != r.Plan {
		return Agreement{}, UnknownPlan(r.Plan, granted.Plans)
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
		Agreement: a, Policy: document, Approved: r.Invited, Again: r.Agent != "", NonceUntil: a.CreatedAt.Add(3 * agreementWindow),
	})
	if errors.Is(err, ErrReplayed) {
		return Agreement{}, ErrAgreementReplayed
	}
	if errors.Is(err, ErrBlocked) {
		return Agreement{}, ErrBlocked
	}
	if err != nil {
		return Agreement{}, fmt.Errorf("storing the consent: %w", err)
	}
	i.endEarlierPlan(ctx, a)
	return a, nil
}

// recordConsent signs the record of a consent, and returns the agreement to store.
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
		return Agreement{}, fmt.Errorf("generating an id: %w", err)
	}
	now, jti := i.now(), consentID(r.Once, r.Agent)
	record := ConsentRecord{
		Issuer: i.rules.Issuer, ID: jti, IssuedAt: now.Unix(), AgentID: AgentID(consentedPrefix + jti[:consentedHex]),
		ClientID: r.ClientID, ClientDocument: r.ClientDocument, ClientName: r.ClientName, RedirectHost: r.RedirectHost, Resource: r.Resource,
		Policy: consentPolicy{offer.UID, offer.Digest}, Scope: scope,
		Page: r.Page, Address: r.Address, UserAgent: r.UserAgent, Invitation: r.Invitation, Budget: r.Budget.claim(),
		Plan: r.Plan,
	}
	signed, err := keys.SignJWS(key.Private, map[string]any{"typ": TypeConsent, "kid": key.ID}, record)
	if err != nil {
		return Agreement{}, err
	}
	return Agreement{
		ID: AgreementID(id.String()), Service: i.rules.Service, Issuer: i.rules.Issuer, AgentID: record.AgentID, PublicKey: public.SPKI(),
		PolicyUID: offer.UID, PolicyDigest: offer.Digest, Assurance: Consent, Form: formConsent, Signature: []byte(signed), Nonce: jti,
		Scope: scope, Plan: r.Plan, State: AgreementActive, CreatedAt: now,
	}, nil
}

// consentID returns the jti of the record of a consent: 32 hex digits, derived from once, or random if once is empty. Its first digits are
// those of agent, unless agent is empty.
func consentID(once string, agent AgentID) string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	if once != "" {
		sum := sha256.Sum256([]byte("jti of the consent " + once))
		copy(id[:], sum[:])
	}
	return cmp.Or(strings.TrimPrefix(string(agent), consentedPrefix), hex.EncodeToString(id[:])[:consentedHex]) +
		hex.EncodeToString(id[:])[consentedHex:]
}

// ConsentedToken issues a PAT under a consent, for a resource and a part of the permitted scope; without requested entries, for all of it.
// If the agreement is pending, it returns an Issuance without a PAT, in the state AgreementPending. Errors: ErrRevoked if the consent has
// ended or is unknown, a *PolicyChangedError, those of ConsentScope, ErrNotAdmitted, ErrBlocked, and those of the store.
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
	if err := i.terms.Holds(a.PolicyDigest); err != nil {
		return Issuance{}, err
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
	budget, err := a.Budget()
	if err != nil {
		return Issuance{}, err
	}
	covered, uncovered := narrowScope(a.Scope, requested)
	scope, err := i.scope(ctx, a, covered, uncovered, budget.Covers)
	if err != nil {
		return Issuance{}, err
	}
	t := i.token(a, scope, covered, i.now())
	t.Resource, t.Budget = resource, budget
	token, claims, err := i.issue(ctx, t)
	if err != nil {
		return Issuance{}, err
	}
	return Issuance{State: AgreementActive, AgreementID: id, Token: token, Claims: claims, Omitted: scope.Omitted}, nil
}

// stillAdmitted checks a consent against the current admission: unless admission is open, the operator must have approved the agent.
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

// Consent returns the record of a consent as the gateway wrote it. It does not verify the signature. It returns false if the agreement is
// not a consent, or its record is malformed.
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

// Budget returns the present budget of a consent, or nil if there is none: the budget in NewBudget or, if the person has not changed it,
// the one in the record of the consent. The error is of kind ErrBadBudget.
func (a Agreement) Budget() (*Budget, error) {
	if a.NewBudget != "" {
		return a.changedBudget()
	}
	record, ok := a.Consent()
	if !ok {
		return nil, nil //nolint:nilnil // there is no budget
	}
	return record.Budget.budget()
}

// verifyConsent verifies the stored record of a consent again. The error is of kind ErrBadExport.
func verifyConsent(a Agreement, key keys.Key) error {
	j, err := keys.ParseJWS(string(a.Signature), maxSigned)
	record, ok := a.Consent()
	switch {
	case err != nil || !ok || a.Signed != nil:
		return errorOfKind(ErrBadExport, "the record of the consent is not valid")
	case !j.SignedBy(key):
		return errorOfKind(ErrBadExport, "the gateway's key did not sign the record of the consent")
	case record.Issuer != a.Issuer || record.AgentID != a.AgentID || record.ID != a.Nonce || record.Policy.UID != a.PolicyUID ||
		record.Policy.Digest != a.PolicyDigest || !slices.Equal(record.Scope, a.Scope) || record.Plan != a.Plan:
		return errorOfKind(ErrBadExport, "the consent differs from its record")
	case a.CreatedAt.Sub(time.Unix(record.IssuedAt, 0)).Abs() > agreementWindow:
		return errorOfKind(ErrBadExport, "the consent was not given at the time in the bundle")
	}
	return nil
}
