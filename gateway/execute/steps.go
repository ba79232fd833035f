package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/upstream"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An execution is what the steps learn of one call, in their order.
type execution struct {
	call           Call
	begun          time.Time
	at             time.Time // for which the call is judged: when it was begun, then when it had been read
	service        *Service
	claims         *pat.Claims
	request        Request
	intent         *offeredIntent
	prepared       *upstream.Prepared
	proof          *pat.Proof
	asked          *odrl.Request // what decision answers; nil: nothing yet
	decision       odrl.Decision
	fromParameters []string // operands whose facts are the agent's own words
	taken          *store.Begun
	outcome        store.Outcome
	// settleErr: the end of the call could not be written down, so its record stays held.
	settleErr error
}

func (e *execution) assurance() pat.Assurance {
	if e.proof != nil { // this very call is proved, whatever the agreement was
		return pat.Fresh
	}
	return e.claims.Assurance
}

// authenticate verifies the PAT, whether it was revoked up to a second ago, and whether the policy it
// was issued under is still the one offered. UIM core 4.3, 4.5.
func (x *Executor) authenticate(ctx context.Context, e *execution) error {
	claims, err := e.service.Verifier.Verify(ctx, e.call.Token, e.at)
	if errors.Is(err, pat.ErrUnavailable) { // a starved machine polls late: ask now, once for all who wait
		if x.catchUp(ctx) {
			e.at = x.now()
			claims, err = e.service.Verifier.Verify(ctx, e.call.Token, e.at)
		}
	}
	if err != nil {
		return faultFor(err)
	}
	e.claims = claims
	if err := claims.Agreed(e.service.policy.Digest); err != nil {
		return faultFor(err).with("policy", e.service.policyRef())
	}
	return nil
}

// catchUp brings what is known of revocations up to date, if the store answers soon.
func (x *Executor) catchUp(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pat.MaxAge)
	defer cancel()
	return x.view.Refresh(ctx) == nil
}

// resolve reads the request and finds its intent. Reading may take as long as the client likes, within bounds: then
// the PAT has to be good still. UIM core 1.2, 4.3.
func (x *Executor) resolve(ctx context.Context, e *execution) error {
	request, err := e.call.Read()
	if err != nil {
		return faultFor(err)
	}
	e.at = x.now()
	if e.at.Sub(e.begun).Abs() > pat.PollEvery {
		if err := x.authenticate(ctx, e); err != nil {
			return err
		}
	}
	if e.call.Proof != "" {
		request.Proof = e.call.Proof
	}
	e.request = request
	if e.intent, err = e.service.find(request.IntentUID); err != nil {
		return err
	}
	if !e.claims.Permits(e.intent.UID.String()) {
		if e.claims.Assurance == pat.Static && e.intent.freshOnly {
			return freshRequired(e)
		}
		return newFault("SCOPE_EXCEEDED", "The PAT's scope does not hold this intent.").with("scope_needed", e.intent.UID.String()+":execute")
	}
	return nil
}

// validate holds the parameters against the intent and makes the upstream request of them, so that
// nothing later can turn out not to be sendable. UIM core 3.1.1.
func (x *Executor) validate(e *execution) error {
	filled, violations := e.intent.Validate(e.request.Parameters)
	if len(violations) > 0 {
		return invalidParameters(violations)
	}
	if e.call.IdempotencyKey != "" || e.request.Proof != "" {
		if err := strictjson.Exact(e.request.Parameters); err != nil {
			return inexactParameter(err)
		}
	}
	prepared, unsendable := e.intent.route.Prepare(filled)
	if len(unsendable) > 0 {
		return unsendableParameters(unsendable)
	}
	e.prepared = prepared
	return nil
}

// prove verifies a proof of key, if one was sent. It only sets a fact; its nonce is used up by begin.
func (x *Executor) prove(ctx context.Context, e *execution) error {
	if e.request.Proof == "" {
		return nil
	}
	digest, err := pat.ExecuteDigest(e.request.IntentUID, e.request.Parameters)
	if err != nil {
		return inexactParameter(err)
	}
	key, err := x.agreedKey(ctx, e)
	if err != nil {
		return faultFor(err)
	}
	proof, err := pat.VerifyProof(e.request.Proof, key, pat.ProofBinding{
		Audience: e.service.Issuer, TokenID: e.claims.ID, Digest: digest,
	}, e.at)
	if err != nil {
		return faultFor(err)
	}
	e.proof = &proof
	return nil
}

// decide asks the policy. Beside it, what was agreed without freshness never charges nor reaches an
// intent that asks for more, unless this very call is proved: such an agreement can be replayed.
func (x *Executor) decide(ctx context.Context, e *execution) error {
	request, err := x.question(ctx, e)
	if err != nil {
		return err
	}
	decision, err := e.service.Policy.Decide(ctx, request)
	if err != nil {
		return newFault("INTERNAL", "The policy could not be evaluated.").because(err)
	}
	e.asked, e.decision = &request, decision
	if !decision.Permit {
		return newFault(Reason(decision.Reason), denial(decision)).with("rule", decision.Rule)
	}
	if err := x.extra(ctx, e, request); err != nil {
		return err
	}
	if e.claims.Assurance != pat.Static || e.proof != nil {
		return nil
	}
	if e.intent.freshOnly {
		return freshRequired(e)
	}
	e.decision.Candidates = slices.DeleteFunc(slices.Clone(decision.Candidates), func(c odrl.Candidate) bool { return !c.Charge.IsZero() })
	if len(e.decision.Candidates) == 0 {
		return freshRequired(e)
	}
	return nil
}

// extra asks the operator's own Rego about a call that the policy permits. It can only refuse.
func (x *Executor) extra(ctx context.Context, e *execution, request odrl.Request) error {
	if e.service.Extra == nil {
		return nil
	}
	denied, err := e.service.Extra.Denies(ctx, request, e.decision)
	if err != nil {
		return newFault("INTERNAL", "The service's own rules could not be evaluated.").because(err)
	}
	if denied {
		e.decision.Permit, e.decision.Rule = false, odrl.ExtraRule
		return newFault(Reason(odrl.PolicyViolation), "The service's own rules, beside its policy, refuse this call.").with("rule", odrl.ExtraRule)
	}
	return nil
}

func denial(d odrl.Decision) string {
	if d.Detail != "" {
		return d.Detail
	}
	return "The policy does not permit this call."
}

func freshRequired(e *execution) error {
	return newFault("FRESH_AGREEMENT_REQUIRED", "This intent needs an agreement that cannot be replayed, or a proof of key with the call.").
		with("issuer", e.service.Issuer).with("policy", e.service.policyRef())
}

// question gathers the facts the policy may ask for.
func (x *Executor) question(ctx context.Context, e *execution) (odrl.Request, error) {
	request := odrl.Request{
		AgentID: e.claims.Subject, KeyID: e.claims.KeyID, Intent: e.intent.UID.String(), Now: e.at,
		Facts: map[string]any{"version": e.intent.UID.Version, "recipient": e.claims.Subject},
	}
	for i := range e.service.facts {
		f := &e.service.facts[i]
		v, told := f.of(circumstances{e.claims, e.request.Parameters, e.call.Caller})
		if v == nil {
			continue
		}
		request.Facts[f.operand] = v
		if told {
			e.fromParameters = append(e.fromParameters, f.operand)
		}
	}
	if e.proof == nil {
		return request, nil
	}
	key, err := x.agreedKey(ctx, e)
	if err != nil {
		return odrl.Request{}, faultFor(err)
	}
	request.AgentKey, request.ProofKey = key.SPKI(), e.proof.Key.SPKI()
	return request, nil
}

// A Grant is permission to make one upstream call, until it expires. Only begin makes one; the zero
// Grant permits nothing.
type Grant struct {
	executionID string
	expires     time.Time // zero: no limit of the call has a far edge to respect
	valid       bool
	now         func() time.Time
}

var errGrantExpired = errors.New("the grant has expired")

// alive is asked right before the first byte is sent. The grant ends by the monotonic or the wall clock, whichever is
// there first: one of them stands still while the machine sleeps, the other may be set.
func (g Grant) alive() error {
	if !g.valid {
		return errGrantExpired
	}
	if g.expires.IsZero() {
		return nil
	}
	if now := g.now(); !now.Before(g.expires) || !now.Round(0).Before(g.expires.Round(0)) {
		return errGrantExpired
	}
	return nil
}

// begin takes what the call needs, all or none of it: in one durable transaction or, where it only counts, from
// what this process has on lease.
func (x *Executor) begin(ctx context.Context, e *execution) (Grant, *replay, error) {
	if err := e.service.Upstream.Ready(); err != nil {
		return Grant{}, nil, faultFor(err)
	}
	asked := x.now()
	request, err := x.reservation(ctx, e)
	if err != nil {
		return Grant{}, nil, err
	}
	begun, err := x.store.Begin(ctx, request)
	var full *store.LimitError
	switch {
	case errors.As(err, &full):
		return Grant{}, nil, x.overLimit(ctx, e, full)
	case err != nil:
		return Grant{}, nil, faultFor(err)
	case begun.Replay != nil:
		return Grant{}, &replay{*begun.Replay}, nil
	}
	e.taken = &begun
	grant := Grant{executionID: request.Execution.ID, valid: true, now: x.now}
	if begun.Expires > 0 {
		grant.expires = asked.Add(begun.Expires)
	}
	return grant, nil, nil
}

// reservation says what begin must take for this call.
func (x *Executor) reservation(ctx context.Context, e *execution) (store.BeginRequest, error) {
	s, c := e.service, e.claims
	id, err := newID()
	if err != nil {
		return store.BeginRequest{}, newFault("INTERNAL", "No identifier could be made.").because(err)
	}
	account := c.Subject
	if c.Assurance == pat.Static {
		account += staticSuffix
	}
	r := store.BeginRequest{
		Execution: store.Execution{
			ID: id, Service: s.ID, AgentID: c.Subject, Intent: e.intent.UID.String(), AgreementID: c.Agreement,
			TokenID: c.ID, PolicyDigest: c.PolicyDigest, IdempotencyKey: e.call.IdempotencyKey,
		},
		Hold: s.hold, KeyFor: idempotencyWindow,
	}
	if e.call.IdempotencyKey != "" {
		if r.Execution.Fingerprint, err = fingerprint(e.request); err != nil {
			return store.BeginRequest{}, inexactParameter(err)
		}
	}
	if e.proof != nil {
		r.Nonce = &store.Nonce{KeyID: c.KeyID, ID: e.proof.Nonce, Until: e.proof.Until()}
	}
	own, err := s.tokenLimit(ctx, c, func() (pat.Key, error) { return x.agreedKey(ctx, e) })
	if err != nil {
		return store.BeginRequest{}, faultFor(err)
	}
	if own != nil {
		r.Limits = append(r.Limits, store.Reservation{AgentID: account, Limit: *own})
	}
	if e.intent.ceiling.Max > 0 {
		r.Limits = append(r.Limits, store.Reservation{Limit: limit.Limit{ID: ceilingPrefix + e.intent.UID.String(), Rate: e.intent.ceiling}})
	}
	charges := false
	for _, candidate := range e.decision.Candidates {
		charges = charges || !candidate.Charge.IsZero()
		wanted := store.Candidate{Rule: candidate.Rule, Charge: candidate.Charge}
		for _, l := range candidate.Limits {
			wanted.Limits = append(wanted.Limits, store.Reservation{AgentID: account, Limit: l})
		}
		r.Candidates = append(r.Candidates, wanted)
	}
	if charges {
		if r.Billing, err = x.billing(ctx, s, c.Subject); err != nil {
			return store.BeginRequest{}, faultFor(err)
		}
	}
	return r, nil
}

const (
	// staticSuffix keeps the counters of static agreements apart; an agent id holds no space.
	staticSuffix  = " static"
	ceilingPrefix = "ceiling:"
	// idempotencyWindow is how long a stored answer is kept.
	idempotencyWindow = 24 * time.Hour
)

// fingerprint identifies what was asked, so that an idempotency key cannot be used for anything else.
func fingerprint(r Request) (string, error) {
	sum, err := pat.ExecuteDigest(r.IntentUID, r.Parameters)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	return sum, nil
}
