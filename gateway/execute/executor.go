// Package execute executes the calls of agents, if the agreed policy permits them. The steps of a call are: authenticate, resolve,
// validate, prove, decide, enter, begin, call, shape, settle. They are the same for every protocol: a door converts a request into a Call,
// and renders the Result or the Refusal.
//
//	executor := execute.New(execute.Config{…})
//	result, err := executor.Execute(ctx, execute.Call{Service: served, Token: token, Read: read})
//	var refused *reason.Refusal // every error is one
package execute

import (
	"context"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store"
)

// A Config configures an Executor. The fields before Journal are required.
type Config struct {
	Store       Store
	State       State
	Revocations Revocations
	Recorder    Recorder
	Now         func() time.Time
	// Journal records calls before they are made. If it is nil, calls are recorded only when they have ended.
	Journal Journal
	// Receipts signs receipts for charges. If it is nil, responses have no receipts.
	Receipts Receipts
	// Limits reads how many more calls the limits admit, for Left.
	Limits Limits
	// Late is called when the Executor has stored an outcome that it could not store when the call ended, or has given up storing it. Late may
	// be nil. It must be safe for concurrent use, and fast.
	Late func(LateEnd)
	// Cashier takes the payments that come with calls. If it is nil, the gateway takes no payments.
	Cashier *payments.Cashier
}

// A Store reserves limits and charges for calls, and stores their outcomes.
type Store interface {
	// Begin reserves the nonce, the idempotency key, the limits and the charge of a call. If it returns an error, it has reserved nothing.
	Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error)
	// Settle stores the end of an admitted call. If the call has already been settled, it returns store.ErrSettled.
	Settle(ctx context.Context, a store.Admission, to store.Settlement) (store.Execution, error)
}

// Limits reads the states of limits. It must be safe for concurrent use.
type Limits interface {
	// Left returns the state of each limit, and takes nothing.
	Left(ctx context.Context, service string, of []store.Reservation) ([]store.Remainder, error)
}

// A State reads what the store keeps about agents and calls, and stores what people confirm. It must be safe for concurrent use.
type State interface {
	Confirmations
	Entries
	Records
	Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error)
	// KeyOwner returns the agent to which a key belongs, or pat.ErrNotFound.
	KeyOwner(ctx context.Context, service string, key keys.ID) (pat.AgentID, error)
	Agreement(ctx context.Context, service string, id pat.AgreementID) (pat.Agreement, error)
}

// Revocations is this process's view of revocations and of changes to agents.
type Revocations interface {
	// Refresh updates the view from the store.
	Refresh(ctx context.Context) error
	// AgentChanges returns a number that grows whenever the view reads a change to an agent.
	AgentChanges() uint64
}

// A Recorder records the Events of calls. It must be safe for concurrent use, and fast, because the agent waits for it.
type Recorder interface{ Record(e *Event) }

// A Journal records calls before they are made. It must be safe for concurrent use.
type Journal interface {
	// Required reports whether calls must be recorded before they are made.
	Required() bool
	// Begin records a call that the policy permits, before anything is reserved or sent. If it returns an error, the call is refused.
	Begin(e *Event) error
}

// An Executor executes the calls of agents that the agreed policies permit. It is safe for concurrent use.
type Executor struct {
	cfg         Config
	keys        *cache.Cache[string, keys.Key]         // of agreements, by id: the key of an agreement never changes
	standings   *cache.Cache[[2]string, approval]      // by service and agent
	beyond      *cache.Cache[[2]string, limitAttempts] // by service with agent, and by limit
	failing     *ratelimit.Set                         // by agent: counts the calls that were refused as invalid
	comparisons *ratelimit.Set                         // by agent: counts the refused calls for which other plans were evaluated
	late        *lateEnds
	started     sync.WaitGroup // calls that continue in the background
}

// New returns an Executor.
func New(c Config) *Executor {
	return &Executor{
		cfg:       c,
		keys:      cache.New(cache.Options[string, keys.Key]{Max: maxKeys}),
		standings: cache.New(cache.Options[[2]string, approval]{Max: maxStandings, SinceWrite: standingsKept}),
		beyond:    cache.New(cache.Options[[2]string, limitAttempts]{Max: maxAttempts}),
		failing:   ratelimit.NewSet(failuresPerMinute), comparisons: ratelimit.NewSet(comparisonsPerMinute),
		late: newLateEnds(c.Store, c.Now, c.Late),
	}
}

// Run stores the outcomes of calls that could not be stored when the calls ended. It returns nil when ctx ends.
func (x *Executor) Run(ctx context.Context) error {
	x.late.run(ctx)
	return nil
}

// Drain waits for the calls in the background, and then stores the remaining outcomes of calls. Both end when ctx ends. Drain returns the
// number of outcomes that it could not store; the records of these calls become unresolved. Do not start a call during or after Drain.
func (x *Executor) Drain(ctx context.Context) int {
	ended := make(chan struct{})
	go func() {
		x.started.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return x.late.settle(ctx)
}

// Execute executes one call. Every error is a *reason.Refusal. A call that fails before begin consumes no limit, costs nothing and does not
// reach the service. From begin on, the call continues even if the client disconnects. See UIM core, section 3.1.
func (x *Executor) Execute(ctx context.Context, call Call) (Result, error) {
	e := &execution{call: call, started: x.cfg.Now()}
	e.at = e.started
	result, err := x.caught(ctx, e)
	if err == nil {
		result.License, result.Sunset = e.service.License, e.service.Sunset(e.intent.ID)
		result.Paid, result.PaymentIgnored = e.paid, e.paymentIgnored
	}
	return x.finish(e, result, err)
}

// Identify verifies the PAT of a call as the first step of Execute does, and returns its claims. Doors use it before they read a message,
// and for requests that are not calls. Within pat.PollEvery, Execute does not verify the PAT of the same Call again. Every error is the
// *reason.Refusal that Execute would return.
func (x *Executor) Identify(ctx context.Context, call *Call) (*pat.Claims, error) {
	call.identity = nil
	e, err := x.identified(ctx, *call)
	if err != nil {
		return nil, Unsent(err)
	}
	call.identity = &identity{e.current, call.Token, e.claims, e.at}
	return e.claims, nil
}

// identified creates an execution and authenticates its agent. The error is a *reason.Refusal.
func (x *Executor) identified(ctx context.Context, call Call) (*execution, error) {
	now := x.cfg.Now()
	e := &execution{call: call, started: now, at: now}
	if err := x.authenticate(ctx, e); err != nil {
		return nil, refusal.For(err)
	}
	return e, nil
}

// caught runs the steps, and converts a panic into a refusal. If begin has already recorded the call, the record stays held, and its charge
// is pending until the record is resolved.
func (x *Executor) caught(ctx context.Context, e *execution) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			f := refusal.Panic(p)
			if e.admission != nil {
				f.Charged(chargeOf(e.admission.Execution))
			}
			result, err = Result{}, f
		}
	}()
	return x.steps(ctx, e)
}

// steps runs the steps of a call in order. An error of a step ends the call.
func (x *Executor) steps(ctx context.Context, e *execution) (Result, error) {
	if err := x.authenticate(ctx, e); err != nil { // verify the PAT, its policy and its revocation
		return Result{}, err
	}
	if err := x.heldBack(e); err != nil { // refuse agents that have sent too many invalid calls
		return Result{}, err
	}
	e.adopt()                                 // if the call has no idempotency key, the id of the payment serves as one
	if err := x.resolve(ctx, e); err != nil { // find the intent, and check that the PAT covers it
		return Result{}, err
	}
	if err := e.stopped(); err != nil { // refuse calls that the operator has stopped
		return Result{}, err
	}
	if err := x.heldBack(e); err != nil { // again, because other calls may have failed while this call was read
		return Result{}, err
	}
	if err := x.validate(e); err != nil { // check the parameters, and fill in defaults
		return Result{}, err
	}
	if err := x.prove(ctx, e); err != nil { // verify a proof of key, if one was sent; it only sets facts
		return Result{}, err
	}
	if err := x.decide(ctx, e); err != nil { // evaluate the policy: permissions, limits and charges
		return Result{}, err
	}
	if err := x.pay(ctx, e); err != nil { // take the payment that came with the call, if there is one
		return Result{}, err
	}
	if err := x.enter(ctx, e); err != nil { // get a place among the calls in progress to the service
		return Result{}, err
	}
	defer e.leave()
	grant, replay, err := x.beginWithin(ctx, e) // reserve nonce, idempotency key, limits and charge: all or none
	if err != nil {
		return Result{}, err
	}
	if replay != nil { // executed before under this idempotency key: return the same response
		return x.again(ctx, e, replay)
	}
	ctx = context.WithoutCancel(ctx)  // from here on, the call continues if the client disconnects
	answer := x.call(ctx, e, grant)   // send the request, which needs a live Grant
	shaped := x.shape(ctx, e, answer) // reduce the response to the intent's output parameters
	return x.settle(ctx, e, shaped)   // capture or release the charge
}
