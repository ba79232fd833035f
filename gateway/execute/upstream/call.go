package upstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/store"
)

// Call sends p and returns the response of the service and the outcome of the call:
//
//   - NotSent: no connection was made, or no byte of the request was written. The error wraps ErrUnreachable, ErrTimeout, ErrGrantEnded or
//     ErrIdentity, or is a *BreakerOpenError. If an MCP server refuses to open a session, the error is a *StatusError or *BusyError.
//   - Done: the service executed the call and sent a complete 2xx response. If the response cannot be used (HTML, or longer than
//     Config.MaxResponse), the error is a *ResponseError. Answer.Tree may still find that the response is not JSON.
//   - Failed: the service sent a complete response that is not 2xx, or a 2xx response that is a refusal according to Endpoint.ErrorWhen.
//     The error is a *RejectedError, *BusyError or *StatusError; for a 2xx response, it is a *RejectedError.
//   - Unknown: a part of the request may have been sent, but there is no complete response. The error wraps ErrTimeout or ErrBroken.
//
// If ctx was canceled, the error may wrap context.Canceled instead. The call stops when ctx ends, so pass a context that outlives the
// connection of the agent.
//
// Call checks the Grant before each attempt, and again right before it writes the first byte of the attempt. It sends nothing after the
// Grant has ended. With the zero Grant, it sends nothing.
//
// Call makes further attempts within the timeout of the route and Config.Retry. It repeats any call if no byte was written. If the route is
// safe or the service accepts an idempotency key, Call also repeats a call:
//
//   - after a broken connection,
//   - after a status 502, 503 or 504 without Retry-After,
//   - once after a 401, with a new access token.
//
// After an attempt that wrote a byte, the next attempt needs another Grant; if it cannot get one, Call does not make the attempt.
func (u *Upstream) Call(ctx context.Context, p *PreparedRequest, id Identity, g grant.Grant) (Answer, store.Outcome, error) {
	limited, cancel := context.WithTimeout(ctx, p.route.timeout)
	defer cancel()
	header, err := u.header(limited, p, id, g.ExecutionID())
	if err != nil {
		return Answer{}, store.NotSent, err
	}
	admitted, err := p.route.breakerOf(id.Unapproved).allow(id.Principal)
	if err != nil {
		return Answer{}, store.NotSent, err
	}
	reported := false
	defer func() {
		if !reported { // after a panic, the breaker must not wait for its probe forever
			admitted.ended(ErrBroken)
		}
	}()
	result := u.attempts(limited, p, header, g)
	if errors.Is(ctx.Err(), context.Canceled) && (errors.Is(result.err, ErrBroken) || errors.Is(result.err, ErrUnreachable)) {
		result.err = fmt.Errorf("the call was canceled: %w", context.Canceled)
	}
	reported = true
	admitted.ended(result.err)
	return result.answer, result.outcome, result.err
}

// A result is the state after one attempt, or after all attempts so far.
type result struct {
	answer  Answer
	outcome store.Outcome
	err     error
	written bool // a byte of the last attempt may have reached the service
	again   bool // another attempt may succeed
	refused bool // the service refused the access token
}

func (u *Upstream) attempts(ctx context.Context, p *PreparedRequest, header pool.Fields, g grant.Grant) result {
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

// merge combines the result so far with the result of a further attempt. An attempt that was not sent does not change an earlier result. If
// the outcome of an earlier attempt is unknown and calls have effects, only a success makes the outcome known.
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

// wait pauses before attempt n+1. It returns false if ctx ends during the pause.
func (u *Upstream) wait(ctx context.Context, n int) bool {
	pause := min(u.cfg.Retry.Wait<<(n-1), u.cfg.Retry.MaxWait)
	pause = pause/2 + rand.N(pause/2+1) //nolint:gosec // jitter needs no secure randomness
	return delay.For(ctx, pause) == nil
}

// attempt sends one request and reads the response.
func (u *Upstream) attempt(ctx context.Context, p *PreparedRequest, header pool.Fields, g grant.Grant) result {
	if err := g.Alive(); err != nil {
		return withoutGrant(err)
	}
	if u.server != nil {
		return u.callTool(ctx, p, header, g)
	}
	conn, err := u.conns.Take(ctx)
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
	answer, err := u.read(ctx, resp, p)
	if broken, ok := errors.AsType[*brokenError](err); ok {
		r := failed(ctx, p.route, written, broken.err)
		r.again = r.again && !p.streamed
		return r
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
	return u.judge(ctx, p.route, r)
}

// judge returns an error for a 2xx response that is a refusal according to Endpoint.ErrorWhen, and conceals secrets in other responses.
func (u *Upstream) judge(ctx context.Context, route *Route, r result) result {
	answer := r.answer
	switch {
	case r.err != nil || answer.JSON == nil:
	case isRefusal(route.errorWhen, answer.JSON):
		message := u.message(ctx, route, answer.JSON, route.errorWhen.Message)
		r.answer, r.outcome = Answer{Status: answer.Status, Header: answer.Header, ContentType: answer.ContentType}, store.Failed
		r.err = &RejectedError{Code: InvalidParameter, Status: answer.Status, Message: message}
	default:
		route.conceal(answer.JSON)
	}
	return r
}

func withoutGrant(ended error) result {
	return result{outcome: store.NotSent, err: fmt.Errorf("%w: %w", ErrGrantEnded, ended)}
}

// failed returns the result of an attempt that had a connection, but no complete response.
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

// isTransient reports whether another attempt is likely to succeed: the status is 502, 503 or 504, and the service did not send
// Retry-After.
func isTransient(answer Answer, err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	if !ok || answer.Header["Retry-After"] != nil {
		return false
	}
	return status.Status == http.StatusBadGateway || status.Status == http.StatusServiceUnavailable ||
		status.Status == http.StatusGatewayTimeout
}
