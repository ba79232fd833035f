package gateway

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An Executor carries calls of agents to the services behind the gateway, exactly as far as the agreed
// policies allow. It knows no transport: HTTP and every other binding make a Call and render the Result.
// It is safe for concurrent use.
type Executor struct {
	store   store.Executions
	agents  pat.Store
	view    *pat.View
	keys    *agreedKeys
	now     func() time.Time
	trouble *troublemakers
	audit   *Audit
	metrics *Metrics
}

// A Call is one call of an agent, whatever way it came in.
type Call struct {
	Service        *Service
	Token          string       // the PAT, without a scheme; empty if none was sent
	IdempotencyKey string       // empty: none
	Proof          string       // compact JWS of typ uim-proof+jwt; empty: none
	RequestID      string       // for correlation only
	Traceparent    string       // W3C trace context to go on with; empty: none
	Caller         Caller       // who calls, as far as the transport knows
	Observe        func(*Event) // told how the call ended; may be nil
	// Read reads what is asked. It is called once, after the PAT was accepted, so that nobody unknown
	// makes the gateway read a body.
	Read func() (Request, error)
}

// A Request is what an agent asks for.
type Request struct {
	IntentUID  string
	Parameters map[string]any // as sent: a tree of package strictjson
	Proof      string         // proof of key that came in the body; a header's wins
}

// Execute makes one call. Every error is a *Fault. What fails before begin consumes no limit, costs
// nothing and reaches nobody; from begin on, a client that hangs up cancels nothing. UIM core 3.1.
func (x *Executor) Execute(ctx context.Context, call Call) (Result, error) {
	e := &execution{call: call, service: call.Service, begun: x.now()}
	e.at = e.begun
	result, err := x.caught(ctx, e)
	return x.finish(e, result, err)
}

// caught are the steps, with a panic on the way turned into a refusal. Where something was taken already its
// record stays held, so that its charge is pending until somebody knows better.
func (x *Executor) caught(ctx context.Context, e *execution) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			f := newFault("INTERNAL", "The gateway failed.").because(&panicError{p, debug.Stack()})
			if e.taken != nil {
				f.charged(chargeOf(e.taken.Execution))
			}
			result, err = Result{}, f
		}
	}()
	return x.steps(ctx, e)
}

// A panicError is a fault of the gateway itself. Its text does not hold the value of the panic, which may hold
// anything.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic of type %T\n%s", e.value, e.stack) }

// steps is the way through, in order. Deny is the default at each.
func (x *Executor) steps(ctx context.Context, e *execution) (Result, error) {
	if err := x.authenticate(ctx, e); err != nil { // the PAT, its policy, its revocation
		return Result{}, err
	}
	if err := x.resolve(ctx, e); err != nil { // the intent, and whether the PAT covers it
		return Result{}, err
	}
	if err := x.validate(e); err != nil { // parameters against the intent; defaults filled in
		return Result{}, err
	}
	if err := x.prove(ctx, e); err != nil { // a proof of key, if one was sent; it only sets facts
		return Result{}, err
	}
	if err := x.decide(ctx, e); err != nil { // the policy: under which permissions, limits and charges
		return Result{}, err
	}
	grant, replay, err := x.begin(ctx, e) // nonce, idempotency, limits and charge: all or none
	if err != nil {
		return Result{}, err
	}
	if replay != nil { // made before under this idempotency key: told again, not done again
		return replay.result()
	}
	ctx = context.WithoutCancel(ctx)
	answer := x.call(ctx, e, grant) // only a live Grant reaches the upstream
	shaped := x.shape(e, answer)    // to the intent's output parameters
	return x.settle(ctx, e, shaped) // capture or release
}
