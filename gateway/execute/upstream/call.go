package upstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/store"
)

// Call sends p and returns the service's answer and the outcome of the call:
//
//   - NotSent: no connection was made, or no byte of the request was written.
//   - Done: a complete 2xx answer, which Answer.Tree may find not to be JSON. With a *ResponseError if it cannot be used
//     (HTML, longer than Config.MaxResponse): the service executed the call.
//   - Failed: a complete answer that is not 2xx, with a *RejectedError, *BusyError or *StatusError; or one that is a refusal
//     by Endpoint.ErrorWhen, with a *RejectedError.
//   - Unknown: anything between, with ErrTimeout or ErrBroken.
//
// Other errors: ErrUnreachable, *BreakerOpenError, ErrGrantEnded, ErrIdentity (all NotSent, unless an earlier attempt was sent), and one
// wrapping context.Canceled if ctx was canceled. When ctx ends, the call stops; pass a context that outlives the agent's connection.
//
// Call checks the Grant before each attempt and again right before it writes the first byte of each. After the Grant has ended it sends
// nothing more. The zero Grant sends nothing.
//
// Call makes further attempts, within Config.Timeout and Config.Retry, after a broken connection or 502, 503, 504 without Retry-After, if
// the route is safe or the service takes an idempotency key; once after a 401, with a new access token; and for every method if no byte
// was written. After an attempt that wrote a byte, the next one needs another Grant; without it, Call does not make the attempt.
func (u *Upstream) Call(ctx context.Context, p *PreparedRequest, id Identity, g grant.Grant) (Answer, store.Outcome, error) {
	c := &callState{}
	c.begin(ctx, u.cfg.Timeout)
	defer c.end()
	header, err := u.header(&c.term, c.fields[:0], p, id, g.ExecutionID()) //nolint:contextcheck // the term is of ctx
	if err != nil {
		return Answer{}, store.NotSent, err
	}
	admitted, err := p.route.breakerOf(id.Unapproved).allow(id.Principal)
	if err != nil {
		return Answer{}, store.NotSent, err
	}
	reported := false
	defer func() {
		if !reported { // a panic must not leave the breaker waiting for its probe
			admitted.ended(ErrBroken)
		}
	}()
	result := u.attempts(&c.term, p, header, g) //nolint:contextcheck // as above
	if errors.Is(ctx.Err(), context.Canceled) && (errors.Is(result.err, ErrBroken) || errors.Is(result.err, ErrUnreachable)) {
		result.err = fmt.Errorf("the call was given up: %w", context.Canceled)
	}
	reported = true
	admitted.ended(result.err)
	return result.answer, result.outcome, result.err
}

// A callState is the state of a Call or a status request in progress, in one allocation.
type callState struct {
	term

	fields [ownFields + 7]pool.Field // where the header begins
}

// A result is the state after one attempt, or after all attempts so far.
type result struct {
	answer  Answer
	outcome store.Outcome
	err     error
	written bool // a byte of the last attempt may have reached the service
	again   bool // another attempt may succeed
	refused bool // for its access token
}

func (u *Upstream) attempts(ctx *term, p *PreparedRequest, header pool.Fields, g grant.Grant) result {
	last := u.attempt(ctx, p, header, g)
	known := last
	renewed := false
	for n := 1; last.again && n < u.cfg.Retry.Attempts && u.wait(ctx, n); n++ {
		if last.refused {
			other, ok := u.renewed(ctx, header)
			if renewed || !ok {
				return known
			}
			header, renewed = other, true
		}
		if last.written {
			another, err := g.Another(ctx)
			if err != nil {
				return known
			}
			g = another
		}
		last = u.attempt(ctx, p, header, g)
		known = merge(known, last, p.route.safe)
	}
	if !last.written {
		g.Unused(context.WithoutCancel(ctx))
	}
	return known
}

// merge combines the result so far with that of a further attempt. An attempt without a response changes nothing. If calls have effects,
// only success clears the doubt that an earlier attempt left.
func merge(before, now result, safe bool) result {
	switch {
	case now.outcome == store.NotSent && (before.outcome != store.NotSent || errors.Is(now.err, ErrGrantEnded)):
		return before
	case before.outcome == store.Unknown && now.outcome == store.Failed && !safe:
		return before
	default:
		return now
	}
}

// wait pauses before attempt n+1. It returns false if there is no time left for it.
func (u *Upstream) wait(ctx context.Context, n int) bool {
	pause := min(u.cfg.Retry.Wait<<(n-1), u.cfg.Retry.MaxWait)
	pause = pause/2 + rand.N(pause/2+1) //nolint:gosec // jitter, nothing secret
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// attempt makes one request and reads its answer.
func (u *Upstream) attempt(ctx *term, p *PreparedRequest, header pool.Fields, g grant.Grant) result {
	if err := g.Alive(); err != nil {
		return withoutGrant(err)
	}
	conn, err := u.conns.Take(ctx.Context, ctx.until)
	if err != nil {
		return result{outcome: store.NotSent, err: failure(ErrUnreachable, err), again: true}
	}
	defer conn.Release()
	var ended error
	written, err := conn.Send(pool.Request{
		Method: p.route.method, Target: p.target, Header: header, Body: p.body, HasBody: p.route.hasBody,
	}, func() error { ended = g.Alive(); return ended })
	switch {
	case ended != nil:
		return withoutGrant(ended)
	case err != nil:
		return failed(ctx, p.route, written, err)
	}
	resp, err := conn.Answer()
	if err != nil {
		return failed(ctx, p.route, written, err)
	}
	answer, err := u.read(ctx, resp, p.route)
	if broken, ok := errors.AsType[*brokenError](err); ok {
		return failed(ctx, p.route, written, broken.err)
	}
	r := result{answer: answer, outcome: store.Done, err: err, written: true}
	if answer.Status < 200 || answer.Status > 299 {
		r.outcome = store.Failed
		r.refused = answer.Status == http.StatusUnauthorized && u.tokens != nil
		r.again = p.route.repeatable && (r.refused || isTransient(answer, err))
		if r.refused {
			u.tokens.refused(header)
		}
		return r
	}
	switch {
	case err != nil || answer.JSON == nil:
	case p.route.errorWhen.in(answer.JSON):
		message := u.message(ctx, p.route, answer.JSON, p.route.errorWhen.Message)
		r.answer, r.outcome = Answer{Status: answer.Status, Header: answer.Header, ContentType: answer.ContentType}, store.Failed
		r.err = &RejectedError{Code: InvalidParameter, Status: answer.Status, Message: message}
	default:
		p.route.conceal(answer.JSON)
	}
	return r
}

func withoutGrant(ended error) result {
	return result{outcome: store.NotSent, err: fmt.Errorf("%w: %w", ErrGrantEnded, ended)}
}

// failed classifies an attempt on a connection without a complete response.
func failed(ctx context.Context, route *Route, written bool, err error) result {
	timedOut := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case !written && timedOut:
		return result{outcome: store.NotSent, err: failure(ErrTimeout, nil)}
	case !written:
		return result{outcome: store.NotSent, err: failure(ErrUnreachable, err), again: true}
	case timedOut:
		return result{outcome: store.Unknown, err: failure(ErrTimeout, nil), written: true}
	default:
		return result{outcome: store.Unknown, err: failure(ErrBroken, err), written: true, again: route.repeatable}
	}
}

// isTransient: another attempt may well succeed, and the service did not request a pause.
func isTransient(answer Answer, err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	if !ok || answer.Header["Retry-After"] != nil {
		return false
	}
	return status.Status == http.StatusBadGateway || status.Status == http.StatusServiceUnavailable ||
		status.Status == http.StatusGatewayTimeout
}
