// Package execute carries a call of an agent to the service behind the gateway, exactly as far as the agreed policy allows: authenticate,
// resolve, validate, prove, decide, begin, call, shape, settle. It is the same for every protocol: a door makes a Call of a request, and
// renders the Result or the Refusal.
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
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// A Config configures an Executor.
type Config struct {
	Store       Store
	Agents      Agents
	Revocations Revocations
	Recorder    Recorder
	Now         func() time.Time
	// Journal may be nil, unlike the fields above: calls are then recorded only when they have ended.
	Journal Journal
	// Records returns the records of calls to agents whose protocol can ask for them. nil: no protocol can.
	Records Records
	// Late is called when an end that could not be stored with its call has been stored, or has been given up. nil: there is no callback.
	// It must be safe for concurrent use, and fast.
	Late func(LateEnd)
}

// A Store reserves limits and charges for calls, and stores their outcomes.
type Store interface {
	// Begin takes the nonce, the idempotency key, the limits and the charge of a call: all of them, or none with an error.
	Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error)
	// Settle ends an admitted call, once: store.ErrSettled.
	Settle(ctx context.Context, a store.Admission, to store.Settlement) (store.Execution, error)
}

// Agents are the records of agents and their keys.
type Agents interface {
	Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error)
	// KeyOwner returns the agent that a key belongs to, or pat.ErrNotFound.
	KeyOwner(ctx context.Context, service string, key keys.ID) (pat.AgentID, error)
	Agreement(ctx context.Context, service string, id pat.AgreementID) (pat.Agreement, error)
}

// Revocations is this process's view of revocations and of changes of agents.
type Revocations interface {
	// Refresh reads the revocations up to now.
	Refresh(ctx context.Context) error
	// AgentChanges grows with every change of an agent that was read.
	AgentChanges() uint64
}

// A Recorder records the Events of calls. It is safe for concurrent use, and fast: the agent waits for it.
type Recorder interface{ Record(e *Event) }

// A Journal records calls before they are made. It is safe for concurrent use.
type Journal interface {
	// Required reports whether calls are recorded before they are made.
	Required() bool
	// Begin records a call that the policy permits, before anything is taken or sent. An error refuses the call.
	Begin(e *Event) error
}

// An Executor carries calls of agents to the services behind the gateway, exactly as far as the agreed policies allow.
// It is safe for concurrent use.
type Executor struct {
	store       Store
	agents      Agents
	revocations Revocations
	keys        *agreedKeys
	standings   *standings
	now         func() time.Time
	suspension  *suspension
	failing     *ratelimit.Set // of the agents whose calls are refused for what is in them
	late        *lateEnds
	recorder    Recorder
	journal     Journal
	records     Records
	started     sync.WaitGroup // calls that continue in the background
}

// New makes an Executor.
func New(c Config) *Executor {
	return &Executor{
		store: c.Store, agents: c.Agents, revocations: c.Revocations, keys: newAgreedKeys(c.Agents), now: c.Now,
		standings: newStandings(c.Agents, c.Revocations.AgentChanges), suspension: newSuspension(), failing: ratelimit.NewSet(failuresPerMinute),
		recorder: c.Recorder, journal: c.Journal, records: c.Records, late: newLateEnds(c.Store, c.Now, c.Late),
	}
}

// Run stores the ends of calls that could not be stored when the calls ended, until ctx ends.
func (x *Executor) Run(ctx context.Context) error {
	x.late.run(ctx)
	return nil
}

// Drain waits for calls in the background, and stores the remaining ends, until ctx ends. It returns how many ends were left: their
// records become unresolved. No call may be started any more.
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

// Execute makes one call. Every error is a *reason.Refusal. A call that fails before begin consumes no limit, costs nothing and does not
// reach the service. From begin on, a client that disconnects cancels nothing. UIM core 3.1.
func (x *Executor) Execute(ctx context.Context, call Call) (Result, error) {
	e := &execution{call: call, started: x.now()}
	e.at = e.started
	result, err := x.caught(ctx, e)
	if err == nil {
		result.License = e.service.License
	}
	return x.finish(e, result, err)
}

// Identify verifies the PAT of a call as the first step of Execute does, and returns its claims. Doors use it before they read a
// message, and for requests that are not calls. Execute does not verify the PAT of the same call again within pat.PollEvery. Every error
// is a *reason.Refusal, that of Execute for the same call: nothing was sent.
func (x *Executor) Identify(ctx context.Context, call *Call) (*pat.Claims, error) {
	call.identity = nil
	e, err := x.identified(ctx, *call)
	if err != nil {
		return nil, Unsent(err)
	}
	call.identity = &identity{e.service, call.Token, e.claims, e.at}
	return e.claims, nil
}

// identified begins an execution and identifies its agent.
func (x *Executor) identified(ctx context.Context, call Call) (*execution, error) {
	now := x.now()
	e := &execution{call: call, started: now, at: now}
	if err := x.authenticate(ctx, e); err != nil {
		return nil, refusal.For(err)
	}
	return e, nil
}

// caught runs the steps, and converts a panic into a refusal. If something was already taken, its record stays held, so that its charge
// is pending until it is resolved.
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

// steps are the steps of a call, in order. Each denies by default.
func (x *Executor) steps(ctx context.Context, e *execution) (Result, error) {
	if err := x.authenticate(ctx, e); err != nil { // the PAT, its policy, its revocation
		return Result{}, err
	}
	if err := x.heldBack(e); err != nil { // agents that keep sending invalid calls
		return Result{}, err
	}
	if err := x.resolve(ctx, e); err != nil { // the intent, and whether the PAT covers it
		return Result{}, err
	}
	if err := x.heldBack(e); err != nil { // again, for calls that were read meanwhile
		return Result{}, err
	}
	if err := x.validate(e); err != nil { // parameters against the intent; defaults filled in
		return Result{}, err
	}
	if err := x.prove(ctx, e); err != nil { // a proof of key, if one was sent; it only sets facts
		return Result{}, err
	}
	if err := x.decide(ctx, e); err != nil { // the policy: permissions, limits and charges
		return Result{}, err
	}
	if err := x.enter(ctx, e); err != nil { // a place among the calls in progress to the service
		return Result{}, err
	}
	defer e.leave()
	grant, replay, err := x.begin(ctx, e) // nonce, idempotency, limits and charge: all or none
	if err != nil {
		return Result{}, err
	}
	if replay != nil { // made before under this idempotency key: the same response, nothing is executed again
		return replay.result()
	}
	ctx = e.room.detached.from(ctx)   // a client that disconnects no longer cancels anything
	answer := x.call(ctx, e, grant)   // only a live Grant reaches the upstream
	shaped := x.shape(ctx, e, answer) // to the intent's output parameters
	return x.settle(ctx, e, shaped)   // capture or release
}
