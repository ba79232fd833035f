package execute

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store"
)

// An execution is the state of one call. The steps fill it in order.
type execution struct {
	call           Call
	started        time.Time
	at             time.Time        // time for which the call is decided: first the start of the call, later the time when it was read
	current        *service.Service // the service as configured at the last authentication, with the policy in force; nil: not yet known
	service        *service.Service // the present version and, from resolve on, the version that decides the call
	claims         *pat.Claims
	budget         *pat.Budget       // the present budget of the consent, if it covers the intent; nil: none
	budgetNumber   int               // the number of the change that set the budget; 0: the person has not changed it
	blocked        *pat.BlockedError // the PAT was refused because its agent is blocked; nil: it was not
	caller         string            // identifies the agent among the agents of all services
	request        Request
	intent         *service.Intent
	filled         strictjson.Object // the parameters with their defaults, if a person may have to confirm the call; otherwise nil
	prepared       *upstream.PreparedRequest
	proof          *pat.Proof
	unconfirmed    *money.Amount       // the charge of the candidate that a person must confirm first; nil: none
	confirmation   *store.Confirmation // the confirmation by the person; nil: none
	digest         string              // the digest of the request, if a proof of key was verified
	decided        bool
	question       odrl.Request // the request that led to decision
	decision       odrl.Decision
	reproduction   odrl.Reproduction // the request for the decision, which can be evaluated again with the policy alone
	fromParameters []string          // operands whose facts came from parameters
	id             string            // id of the record; empty: the call did not reach begin
	approved       bool              // the operator has approved the agent
	place          func()            // releases the place among the calls in progress; nil: the call has none
	paid           *payments.Paid    // the payment that came with the call; nil: none, or the gateway did not take it
	paymentIgnored bool              // a payment came with the call, but the gateway did not take it because the call is free
	admission      *store.Admission
	reference      *Reference        // to the record of the call, or of the earlier call that it repeats; nil: no record
	sendBy         time.Time         // nothing is sent from then on, because other processes may end the record
	fitted         intents.FitResult // the result of reducing the response to the outputs
	outcome        store.Outcome
	upstream       time.Duration // duration of the call to the service; 0: no call
	cut            bool          // the response was a stream that broke, but the call counts as done
	status         int           // the status of the service's response; 0: none
	client         trace.Span    // the span of the call to the service
	steps          StepTimes
	exceeded       limit.Period // period of the exhausted limit, if any
	// settleErr is why the end of the call could not be stored. The record of the call stays held.
	settleErr  error
	receiptErr error // why the charge has no receipt
	answerLost bool  // the response was not stored under the idempotency key, because there was not enough space
}

// assurance returns the assurance of the agreement, or pat.Fresh if the call has a proof of key and the agreement is not implied.
func (e *execution) assurance() pat.Assurance {
	if e.proof != nil && e.claims.Assurance != pat.Implied {
		return pat.Fresh
	}
	return e.claims.Assurance
}

// authenticate verifies that the PAT is valid and not revoked, as of at most a second ago, and that the service still offers the policy of
// the PAT. See UIM core, sections 4.3 and 4.5.
func (x *Executor) authenticate(ctx context.Context, e *execution) error {
	x.begins(e, Authenticate)
	if e.current = e.call.Service(); e.current == nil {
		return reason.UnknownHost.Refusal("")
	}
	e.service = e.current
	claims, err := x.verify(ctx, e)
	if err == nil && e.call.ofAnother(claims) {
		err = reason.InvalidToken.Refusal("The PAT belongs to an agent other than the sender.")
	}
	if err != nil {
		e.blocked, _ = errors.AsType[*pat.BlockedError](err)
		return refusal.For(err)
	}
	e.claims = claims
	e.caller = callerOf(e.service.ID, claims.Principal())
	if share := membudget.Of(ctx); share != nil && !x.Unapproved(ctx, e.service.ID, claims.Principal()) {
		share.Approved() // before the body is read: some of the memory is reserved for approved agents
	}
	return agreed(claims, e.current, "")
}

// verify returns the claims of the call's PAT. It verifies the PAT, unless Identify has just verified it for the same service.
func (x *Executor) verify(ctx context.Context, e *execution) (*pat.Claims, error) {
	if i := e.call.identity; i != nil && i.service == e.current && i.token == e.call.Token && e.at.Sub(i.at).Abs() <= pat.PollEvery {
		return i.claims, nil
	}
	claims, err := e.current.Verifier.Verify(ctx, e.call.Token, e.at)
	if errors.Is(err, pat.ErrUnavailable) && x.catchUp(ctx) { // polling is late on an overloaded machine: poll now, for all waiting calls
		e.at = x.cfg.Now()
		return e.current.Verifier.Verify(ctx, e.call.Token, e.at)
	}
	return claims, err
}

// agreed refuses a PAT that was issued under an earlier policy if the clause of the intent has changed since. If uid is empty, it refuses a
// PAT that no longer permits any intent.
func agreed(c *pat.Claims, s *service.Service, uid string) error {
	if err := s.Holds(c.PolicyDigest, uid); err != nil {
		return changed(err, c, s)
	}
	return nil
}

// changed returns the refusal of a PAT whose agreement no longer permits a call. err is the reason.
func changed(err error, c *pat.Claims, s *service.Service) error {
	f := refusal.For(err)
	if s.Holds(c.PolicyDigest, "") == nil {
		f.Message = "The terms of this intent have changed since you agreed. Your agreement still holds for intents with the same terms."
	}
	s.AddChanges(f, c.PolicyDigest)
	return f.With("policy", s.PolicyRef())
}

// catchUp updates the view of revocations. It reports whether the store responded within pat.MaxAge.
func (x *Executor) catchUp(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pat.MaxAge)
	defer cancel()
	return x.cfg.Revocations.Refresh(ctx) == nil
}

// resolve reads the request and finds its intent. Reading may take long. Afterwards, the call uses the current configuration of the
// service; if that has changed, or reading took longer than pat.PollEvery, resolve authenticates the call again. See UIM core, sections
// 1.2, 4.3.
func (x *Executor) resolve(ctx context.Context, e *execution) error {
	x.begins(e, Resolve)
	request, err := e.call.Read()
	if err != nil {
		return refusal.For(err)
	}
	e.at = x.cfg.Now()
	if e.at.Sub(e.started).Abs() > pat.PollEvery || e.call.Service() != e.current {
		if err := x.authenticate(ctx, e); err != nil {
			return err
		}
	}
	if e.call.Proof != "" {
		request.Proof = e.call.Proof
	}
	e.request = request
	if e.intent, err = e.service.Executable(request.IntentUID); err != nil {
		return err
	}
	if !e.claims.Permits(e.intent.ID) {
		return x.outOfScope(ctx, e)
	}
	if e.service, err = e.current.Under(e.claims.PolicyDigest, e.intent.ID); err != nil {
		return changed(err, e.claims, e.current)
	}
	return nil
}

// outOfScope refuses an intent that is not in the scope of the PAT. The refusal states a sufficient scope, if there is one. A renewal omits
// intents whose terms have changed since the agreement; for such an intent, outOfScope returns the refusal of changed.
func (x *Executor) outOfScope(ctx context.Context, e *execution) error {
	if plans, own := e.service.PlansWith(ctx, e.claims, e.intent.ID); len(plans) > 0 {
		return refusal.PlanRequired(own, plans)
	}
	switch {
	case e.intent.Reserved(e.claims.Assurance):
		return freshRequired(e)
	case e.claims.Assurance == pat.Consent && e.service.NeedsKey(ctx, e.intent) && e.service.BudgetOffer() != nil:
		return reason.ScopeExceeded.Refusal("This intent charges or requires a key, and the person did not permit this client to spend money on it.").
			With("suggestion", "Ask the person to consent again, and to select this intent among those that may cost money.")
	case e.claims.Assurance == pat.Consent && e.service.NeedsKey(ctx, e.intent):
		return reason.ScopeExceeded.Refusal("This intent charges or requires a key, so a person's consent does not cover it.").
			With("suggestion", "Use an agent that signs with its own key, such as the bridge uimgate mcp.")
	}
	if ended := e.current.Holds(e.claims.PolicyDigest, e.intent.ID); ended != nil && e.claims.Assurance != pat.Consent {
		if a, err := x.cfg.State.Agreement(ctx, e.service.ID, e.claims.Agreement); err == nil && a.Covers(e.intent.ID) {
			return changed(ended, e.claims, e.current)
		}
	}
	return reason.ScopeExceeded.Refusal("").With("scope_needed", e.intent.ID+":execute")
}

// validate checks the parameters against the intent, and builds the upstream request from them, so that later steps can rely on a request
// that can be sent. See UIM core, section 3.1.1.
func (x *Executor) validate(e *execution) error {
	x.begins(e, Validate)
	filled, violations := e.intent.Validate(e.request.Parameters)
	if len(violations) > 0 {
		return refusal.InvalidParameters(e.request.Pointer(), violations)
	}
	if e.call.IdempotencyKey != "" || e.request.Proof != "" || e.call.Proved != nil {
		if err := strictjson.Exact(e.request.Parameters); err != nil {
			return refusal.InexactParameter(e.request.Pointer(), err)
		}
	}
	prepared, unsendable := e.intent.Route.Prepare(filled)
	if len(unsendable) > 0 {
		return refusal.UnsendableParameters(e.request.Pointer(), unsendable)
	}
	e.prepared = prepared
	if e.claims.Assurance == pat.Consent {
		e.filled = filled
	}
	return nil
}

// prove verifies a proof of key, if one was sent. A valid proof only sets a fact; begin consumes the nonce of the proof.
func (x *Executor) prove(ctx context.Context, e *execution) error {
	if e.request.Proof == "" {
		if proved := e.call.Proved; proved != nil && e.claims.KeyID != "" && proved.Key.Thumbprint() == e.claims.KeyID {
			e.proof = proved
		}
		return nil
	}
	x.begins(e, Prove)
	digest, err := pat.ExecuteDigest(e.request.IntentUID, e.request.Parameters)
	if err != nil {
		return refusal.InexactParameter("", err) // the pointer in err is relative to {"intent_uid", "parameters"}
	}
	key, err := x.agreedKey(ctx, e)
	if err != nil {
		return refusal.For(err)
	}
	proof, err := pat.VerifyProof(e.request.Proof, key, pat.ProofBinding{
		Audience: e.service.Issuer, TokenID: e.claims.ID, Digest: digest,
	}, e.at)
	if err != nil {
		return refusal.For(err)
	}
	e.proof, e.digest = &proof, digest
	return nil
}

// decide evaluates the policy, then the operator's own Rego, and then checks whether the assurance of the agreement is sufficient.
func (x *Executor) decide(ctx context.Context, e *execution) error {
	x.begins(e, Decide)
	request, err := x.question(ctx, e)
	if err != nil {
		return err
	}
	decision, err := e.service.Policy.Decide(ctx, request)
	if err != nil {
		return reason.Internal.Refusal("The policy could not be evaluated.").Because(err)
	}
	e.question, e.decision, e.decided = request, decision, true
	if !decision.Permit && decision.Reason == reason.PolicyNotApplicable {
		if plans := x.otherPlans(ctx, e); len(plans) > 0 {
			return refusal.PlanRequired(e.service.PlanOf(e.claims), plans).With("rule", decision.Rule)
		}
	}
	if !decision.Permit {
		return decision.Reason.Refusal(denial(decision)).With("rule", decision.Rule)
	}
	if err := x.extra(ctx, e, request); err != nil {
		return err
	}
	if err := x.readBudget(ctx, e); err != nil {
		return err
	}
	return x.allow(ctx, e)
}

// allow keeps only the candidates for which the assurance of the agreement and the budget are sufficient, and that need no confirmation by
// a person or are already confirmed. It refuses the call if none is left.
func (x *Executor) allow(ctx context.Context, e *execution) error {
	var spends func(currency string) bool
	if e.budget != nil {
		spends = e.spends
	}
	reached, refused := e.intent.Allowed(e.claims.Assurance, e.proof != nil, e.decision.Candidates, spends)
	switch refused {
	case "":
		e.decision.Candidates = reached
		if err := e.freeIfStopped(); err != nil {
			return err
		}
		return x.confirm(ctx, e)
	case reason.FreshAgreementRequired:
		return e.beyondBudget(freshRequired(e))
	default:
		message := "A call that is charged needs a proof of key."
		if e.intent.ProvedAlways() {
			message = "Each call to this intent needs a proof of key."
		}
		e.decision.Permit, e.decision.Rule = false, ProofRule
		return refused.Refusal(message).With("rule", ProofRule)
	}
}

// ProofRule identifies the operator's rule about proofs in decisions.
const ProofRule = "services[].intents.proof"

// extra evaluates the operator's own Rego for a call that the policy permits. The Rego can refuse the call, but cannot permit a call that
// the policy refuses.
func (x *Executor) extra(ctx context.Context, e *execution, request odrl.Request) error {
	if e.service.Extra == nil {
		return nil
	}
	denied, err := e.service.Extra.Denies(ctx, request, e.decision)
	if err != nil {
		return reason.Internal.Refusal("The service's own rules could not be evaluated.").Because(err)
	}
	if denied {
		e.decision.Permit, e.decision.Rule = false, odrl.ExtraRule
		return reason.PolicyViolation.Refusal("A rule of the service that is not part of its policy prohibits this call.").With("rule", odrl.ExtraRule)
	}
	return nil
}

// denial returns the message of a denied call: the Detail of the decision as a sentence.
func denial(d odrl.Decision) string {
	if d.Detail != "" {
		return strings.ToUpper(d.Detail[:1]) + d.Detail[1:] + "."
	}
	return "The policy does not permit this call."
}

func freshRequired(e *execution) *reason.Refusal {
	message := "This intent requires an agreement that cannot be replayed, or a proof of key with the call."
	if e.claims.Assurance == pat.Implied {
		message = "This call has a price, or the service reserves it for agents that agree to its policy themselves: " +
			"the agreement that a message implies does not permit it."
	}
	return reason.FreshAgreementRequired.Refusal(message).
		With("issuer", e.service.Issuer).With("policy", e.service.PolicyRef())
}

// question returns the request for the decision, with the facts that the policy may use.
func (x *Executor) question(ctx context.Context, e *execution) (odrl.Request, error) {
	request := odrl.Request{
		AgentID: string(e.claims.Subject), KeyID: string(e.claims.KeyID), Intent: e.intent.ID, Now: e.at,
	}
	request.Facts, e.fromParameters = e.service.Facts(service.Circumstances{
		Claims: e.claims, Version: e.intent.Version, Parameters: e.request.Parameters, Caller: e.call.Caller,
	})
	if e.proof == nil || e.claims.Assurance == pat.Implied {
		return request, nil
	}
	key, err := x.agreedKey(ctx, e)
	if err != nil {
		return odrl.Request{}, refusal.For(err)
	}
	request.AgentKey, request.ProofKey = key.SPKI(), e.proof.Key.SPKI()
	return request, nil
}
