package pat

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

// An IssuerConfig configures an Issuer.
type IssuerConfig struct {
	Rules  Rules
	Terms  Terms
	Store  IssuerStore
	Keys   *keys.Keyring
	View   *View
	Now    func() time.Time
	Cached int // see VerifierConfig
	// Forms are the forms of other protocols.
	Forms []Form
}

// An Issuer issues, renews and revokes the PATs of one service under one version of the configuration; a reload creates a new Issuer. It is
// safe for concurrent use.
type Issuer struct {
	rules    Rules
	terms    Terms
	store    IssuerStore
	keys     *keys.Keyring
	view     *View
	verifier *Verifier
	now      func() time.Time
	forms    []Form
}

// NewIssuer checks the rules and returns an Issuer, with a Verifier of the same configuration. It extends the overlap of the Keyring to the
// time for which a PAT of the Issuer can be used.
func NewIssuer(c IssuerConfig) (*Issuer, error) {
	if err := c.Rules.check(); err != nil {
		return nil, err
	}
	if c.Terms == nil || c.Store == nil || c.Now == nil {
		return nil, errors.New("an issuer needs terms, a store and a clock")
	}
	verifier, err := NewVerifier(VerifierConfig{
		Service: c.Rules.Service, Issuer: c.Rules.Issuer, Leeway: c.Rules.Leeway, Grace: c.Rules.Grace,
		Keys: c.Keys, View: c.View, Cached: c.Cached, Reserved: c.Rules.Reserved(),
	})
	if err != nil {
		return nil, err
	}
	c.Keys.ExtendOverlap(c.Rules.TTL + c.Rules.Grace + 2*c.Rules.Leeway)
	return &Issuer{
		rules: c.Rules, terms: c.Terms, store: c.Store, keys: c.Keys, view: c.View, verifier: verifier, now: c.Now,
		forms: c.Forms,
	}, nil
}

// Verifier returns the Verifier for the PATs that this Issuer issues.
func (i *Issuer) Verifier() *Verifier { return i.verifier }

// An IssueRequest is a request of an agent for a PAT. See UIM core, section 4.2.
type IssueRequest struct {
	AgentID      string // see ParseAgentID
	SignedPolicy string
	PublicKey    any // see keys.ParseValue
	// OnDate delays the PAT until the agreed policy takes effect, if it is a successor of the one in force: the PAT is not valid before then,
	// and its lifetime begins then. Without OnDate, the agent can use the PAT at once, and pays the prices of the successor.
	OnDate bool
	// Evidence is an agreement in the form of another protocol. If it is not nil, it replaces AgentID, SignedPolicy and PublicKey.
	Evidence Evidence
	// Plan is the plan that the agent requests. If it is not empty, the agreement must declare the same plan: Issue returns a *PlanError for
	// any other.
	Plan  string
	Scope []string // nil means the scope of the agreement or, if it has none, all that the policy permits
	// Admit is called after the agreement was verified and before anything is stored. If it returns an error, Issue returns that error. A nil
	// Admit admits every agent.
	Admit func() error
}

// IssueRequestOf returns the request for a fresh agreement that is sent without an agent id and a key. It reads the agent id from the
// payload and the key from the header; Issue verifies both. The error is of kind ErrBadSignature.
func IssueRequestOf(agreement string) (IssueRequest, error) {
	j, err := keys.ParseJWS(strings.TrimSpace(agreement), maxFresh)
	if err != nil || j.Typ != TypeAgreement {
		return IssueRequest{}, errorOfKind(ErrBadSignature, "the agreement is not a compact JWS of typ %s", TypeAgreement)
	}
	jwk, isObject := j.PublicKey()
	payload, err := strictjson.DecodeObject(j.Payload)
	if !isObject || err != nil {
		return IssueRequest{}, errorOfKind(ErrBadSignature, "the header must contain the agent's public key as jwk")
	}
	agentID, _ := payload["iss"].(string)
	return IssueRequest{AgentID: agentID, SignedPolicy: agreement, PublicKey: jwk}, nil
}

// Issuance is the result of Issue, Renew or ConsentedToken: a PAT, or the pending state of an agreement that the operator must first
// approve.
type Issuance struct {
	State       AgreementState // active, or pending if there is no PAT yet
	AgreementID AgreementID
	Token       string // the PAT: a secret; empty while the agreement is pending
	Claims      *Claims
	Omitted     []OmittedEntry
}

// Issue verifies an agreement, stores it, and issues a PAT for it. Errors: keys.ErrUnsupported, keys.ErrWeak, those of
// VerifyAgreement or Evidence.Verify, ErrBusy, ErrBadScope, ErrAgreementReplayed, ErrFreshRequired, ErrNotAdmitted, ErrAgentIDTaken,
// ErrKeyTaken, ErrBlocked, ErrNothingGranted, a *PlanError, those of Terms, and those of the store. ErrRevoked means that an implied
// agreement of this agent to this policy was revoked; the agent cannot make another one.
func (i *Issuer) Issue(ctx context.Context, r IssueRequest) (Issuance, error) {
	e := r.Evidence
	if e == nil {
		key, err := keys.ParseValue(r.PublicKey)
		if err != nil {
			return Issuance{}, err
		}
		agentID, err := ParseAgentID(r.AgentID)
		if err != nil {
			return Issuance{}, err
		}
		e = presentedEvidence{Presentation{AgentID: agentID, Signed: r.SignedPolicy, Key: key}, i.rules.recipient(), i.recognized()}
	}
	requested, err := normalScope(r.Scope)
	if err != nil {
		return Issuance{}, err
	}
	var v verifiedAgreement
	err = verifying.inTurn(ctx, func() (err error) {
		v, err = i.verified(e)
		return err
	})
	if err != nil {
		return Issuance{}, err
	}
	if r.Plan != "" && v.accepted.Plan != r.Plan {
		return Issuance{}, i.misdeclared(v.offer.Digest, r.Plan)
	}
	return i.keep(ctx, v, requested, r)
}

// recognized returns the policies other than the one in force that an agreement may be about: first the successors, then the past policies.
func (i *Issuer) recognized() []Offer {
	offers := i.terms.Offers()
	if len(offers) == 1 {
		return i.terms.Past()
	}
	var list []Offer
	for _, next := range offers[1:] {
		list = append(list, next.Offer)
	}
	return append(list, i.terms.Past()...)
}

// A verifiedAgreement is an agreement with a valid signature, under an offered policy. Its time has not been checked yet.
type verifiedAgreement struct {
	Signer

	accepted Acceptance
	offer    DatedOffer
}

// verified verifies evidence as an agreement to the policy that is in force or, if the evidence is about another policy, to one of its
// successors. If it is about none of them, the error is the one for the policy that is in force.
func (i *Issuer) verified(e Evidence) (v verifiedAgreement, err error) {
	offers := i.terms.Offers()
	verify := func(offer DatedOffer) (err error) {
		v.offer = offer
		v.Signer, v.accepted, err = verifyEvidenceOf(e, i.rules.Issuer, offer.Offer)
		return err
	}
	first := verify(offers[0])
	mismatch, ok := errors.AsType[*PolicyMismatchError](first)
	if !ok {
		return v, first
	}
	for _, next := range offers[1:] {
		if mismatch.SignedDigest != "" && mismatch.SignedDigest != next.Digest {
			continue
		}
		if err := verify(next); err == nil || mismatch.SignedDigest != "" {
			return v, err
		}
	}
	return v, first
}

// keep admits the agent of a verified agreement, stores the agreement, and issues the PAT for it.
func (i *Issuer) keep(ctx context.Context, v verifiedAgreement, requested []string, r IssueRequest) (Issuance, error) {
	agentID, key, accepted, offer := v.ID, v.Key, v.accepted, v.offer
	if accepted.Assurance != Fresh && i.rules.Freshness == FreshnessRequired {
		return Issuance{}, ErrFreshRequired
	}
	if accepted.Assurance == Implied && len(requested) == 0 {
		return Issuance{}, &ScopeFormError{"an implied agreement must name at least one intent"}
	}
	now := i.now()
	agreement := i.agreement(agentID, key, accepted, now)
	if accepted.stale(now) && !i.wasPending(ctx, agreement) {
		return Issuance{}, ErrAgreementStale
	}
	if err := admitted(r.Admit); err != nil {
		return Issuance{}, err
	}
	if err := i.mayHold(ctx, agentID, key); err != nil {
		return Issuance{}, err
	}
	approved, listed, err := i.admit(ctx, agentID, key.Thumbprint(), accepted.Assurance)
	if err != nil {
		return Issuance{}, err
	}
	covered, uncovered := narrowScope(accepted.Scope, requested)
	scope, err := i.scope(ctx, agreement, covered, uncovered, nil)
	if err != nil {
		return Issuance{}, err
	}
	if agreement.Plan = scope.Plan; agreement.Plan != r.Plan && r.Plan != "" {
		return Issuance{}, UnknownPlan(r.Plan, scope.Plans)
	}
	if agreement.Assurance == Implied {
		agreement.Scope = scope.Entries
	}
	if !approved {
		agreement.State = AgreementPending
	}
	document := PolicyDocument{Service: i.rules.Service, Digest: offer.Digest, UID: offer.UID, Bytes: offer.Bytes, FirstOffered: now}
	wanted := NewAgreement{
		Agreement: agreement, Policy: document, Approved: listed, NonceUntil: accepted.nonceUntil(now), Reserved: i.reserved(agentID, key),
		PolicyFrom: offer.From.Truncate(time.Second), OnDate: r.OnDate,
	}
	kept, err := i.store.Agree(ctx, wanted)
	if agreement.Assurance == Implied && errors.Is(err, ErrAgentIDTaken) { // a concurrent message of the agent may have claimed the id
		kept, err = i.store.Agree(ctx, wanted)
	}
	if err != nil {
		return Issuance{}, i.refuseAgreement(err, agreement)
	}
	agreement = kept
	i.endEarlierPlan(ctx, agreement)
	if agreement.State != AgreementActive {
		return Issuance{State: AgreementPending, AgreementID: agreement.ID}, nil
	}
	record := i.token(agreement, scope, covered, now)
	if from := offer.From.Truncate(time.Second); r.OnDate && from.After(record.IssuedAt) {
		record.NotBefore, record.ExpiresAt = from, from.Add(i.rules.TTL)
	}
	if agreement.Assurance == Fresh && agreement.CreatedAt.Before(now) { // it was pending
		record.ID = soleTokenID(agreement.ID)
		record.Family = record.ID
	}
	token, claims, err := i.issue(ctx, record)
	if err != nil {
		return Issuance{}, err
	}
	return Issuance{State: AgreementActive, AgreementID: agreement.ID, Token: token, Claims: claims, Omitted: scope.Omitted}, nil
}

func admitted(admit func() error) error {
	if admit == nil {
		return nil
	}
	return admit()
}

// refuseAgreement returns the error of an agreement that the store refused.
func (i *Issuer) refuseAgreement(err error, a Agreement) error {
	switch {
	case errors.Is(err, ErrReplayed) && a.Assurance == Implied:
		return ErrRevoked
	case errors.Is(err, ErrReplayed):
		return ErrAgreementReplayed
	case errors.Is(err, ErrAgentIDTaken):
		return idTaken(a.AgentID, a.KeyID)
	case errors.Is(err, ErrBlocked):
		return &BlockedError{AgentID: a.AgentID}
	case errors.Is(err, ErrKeyTaken) && a.Assurance == Fresh:
		return err
	case errors.Is(err, ErrKeyTaken):
		return ErrKeyTaken
	default:
		return fmt.Errorf("storing the agreement: %w", err)
	}
}

func (i *Issuer) agreement(agentID AgentID, key keys.Key, a Acceptance, now time.Time) Agreement {
	return Agreement{
		ID: agreementID(i.rules.Service, key.Thumbprint(), a, now), Service: i.rules.Service, Issuer: i.rules.Issuer, AgentID: agentID,
		KeyID: key.Thumbprint(), PublicKey: key.SPKI(), PolicyUID: a.UID, PolicyDigest: a.Digest,
		Assurance: a.Assurance, Form: a.Form, Signed: a.Signed, Signature: a.Signature, Nonce: a.Nonce, Scope: a.Scope, Plan: a.Plan,
		State: AgreementActive, CreatedAt: now,
	}
}

// agreementID returns a UUIDv7. The id of a fresh agreement is derived from its key, nonce and time, so that an agent that waits for
// approval can repeat the same request and gets the same agreement. See RFC 9562, section 5.7.
func agreementID(service string, key keys.ID, a Acceptance, now time.Time) AgreementID {
	if a.Assurance != Fresh {
		if id, err := uuid.NewV7(); err == nil {
			return AgreementID(id.String())
		}
	}
	at := now
	if a.Assurance == Fresh {
		at = a.IssuedAt
	}
	if !a.Expires.IsZero() {
		at = a.Expires
	}
	nonce := a.Nonce
	if nonce == "" {
		nonce = rand.Text()
	}
	sum := sha256.Sum256([]byte(service + "\x00" + string(key) + "\x00" + nonce))
	id := uuid.UUID(sum[:16])
	ms := at.UnixMilli()
	for n := range 6 {
		id[n] = byte(ms >> (40 - 8*n))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return AgreementID(id.String())
}

// wasPending reports whether the store already has the agreement a, and a was not revoked: an agreement that was stored in time can become
// too old while it waits for approval. It does not check whether a PAT was already issued for it; the store does.
func (i *Issuer) wasPending(ctx context.Context, a Agreement) bool {
	previous, err := i.store.Agreement(ctx, i.rules.Service, a.ID)
	return err == nil && previous.AgentID == a.AgentID && previous.KeyID == a.KeyID && previous.Nonce == a.Nonce &&
		previous.State != AgreementRevoked && string(previous.Signature) == string(a.Signature)
}

// admit reports whether an agent may have PATs (approved), and whether the configuration admits it (listed). The error is ErrNotAdmitted,
// ErrKeyTaken, an *AgentIDTakenError, or that of the store.
func (i *Issuer) admit(ctx context.Context, agentID AgentID, keyID keys.ID, a Assurance) (approved, listed bool, err error) {
	listed, err = i.rules.lists(agentID, keyID)
	switch {
	case err != nil && i.rules.Admission == AdmitAllowlist && !i.rules.knows(keyID): // do not reveal that the id is taken
		return false, false, ErrNotAdmitted
	case err != nil:
		return false, false, err
	case listed || i.rules.Admission == AdmitOpen:
		return true, listed, nil
	case i.rules.Admission == AdmitAllowlist:
		return false, false, ErrNotAdmitted
	}
	agent, err := i.store.Agent(ctx, i.rules.Service, PrincipalOf(agentID, a).Record())
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, false, fmt.Errorf("looking up the agent: %w", err)
	}
	return err == nil && agent.Approved, false, nil
}

// scope returns the scope that the terms grant to the agent. omitted holds the entries that the agreement does not cover; scope adds them
// to Scope.Omitted. If nothing is granted, the error is a *ScopeError, or ErrFreshRequired if every omitted entry needs only a fresh
// agreement.
func (i *Issuer) scope(
	ctx context.Context, a Agreement, requested []string, omitted []OmittedEntry, spends func(intent, currency string) bool,
) (Scope, error) {
	if len(requested) == 0 && len(omitted) > 0 {
		return Scope{}, &ScopeError{omitted}
	}
	s, err := i.terms.Scope(ctx, ScopeRequest{
		AgentID: a.AgentID, KeyID: a.KeyID, PublicKey: a.PublicKey, Assurance: a.Assurance, PolicyDigest: a.PolicyDigest, Requested: requested,
		Spends: spends, Plan: a.Plan,
	})
	if err != nil {
		return Scope{}, fmt.Errorf("determining the scope: %w", err)
	}
	s.Omitted = append(omitted, s.Omitted...)
	if len(s.Entries) > 0 {
		return s, nil
	}
	if slices.ContainsFunc(s.Omitted, func(o OmittedEntry) bool { return o.Reason == reason.PlanRequired }) {
		return Scope{}, &PlanError{Plan: a.Plan, Plans: s.Plans, Omitted: s.Omitted}
	}
	for _, o := range s.Omitted {
		if o.Reason != reason.FreshAgreementRequired {
			return Scope{}, &ScopeError{s.Omitted}
		}
	}
	if len(s.Omitted) > 0 {
		return Scope{}, ErrFreshRequired
	}
	return Scope{}, &ScopeError{}
}
