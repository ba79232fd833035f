package bridge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/bridge/outbox"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	// heldFor is how long a service can work on a call before it reports an unknown outcome. A gateway waits at most 10 minutes for its API,
	// and then another 30 s until it counts the call as unresolved.
	heldFor = 11 * time.Minute
	// Waits between two requests for the outcome of a call.
	firstAsk, maxAsk = time.Second, 8 * time.Second
)

// An unknownError means that the outcome of a call is not known. The outbox keeps the call, unless the host supplied the idempotency key.
type unknownError struct {
	call  outbox.Call
	hosts bool  // the host supplied the idempotency key
	asks  bool  // the service can return the outcome stored under the key
	err   error // the error of the last request; nil if no request was sent
}

func (e *unknownError) Error() string {
	if e.err == nil {
		return "the outcome of the call is unknown"
	}
	return e.err.Error()
}

// Unwrap returns the error of the last request, or nil if no request was sent.
func (e *unknownError) Unwrap() error { return e.err }

// advice returns an instruction for the model.
func (e *unknownError) advice() string {
	const unknown = "Outcome unknown, do not repeat: the call that was sent at %s may have taken effect, and may have been charged. "
	text := fmt.Sprintf(unknown, e.call.Since.UTC().Format(time.RFC3339))
	switch {
	case !e.asks:
		return text + "The outcome cannot be queried from this service: ask the operator of the service."
	case e.hosts:
		return text + "To retrieve the outcome, repeat the call with the same Idempotency-Key: this does not make a second call."
	}
	return text + "To retrieve the outcome, call the same tool with exactly the same arguments: this does not make a second call. " +
		"Different arguments make a new call."
}

func (m *toolCall) unknown(err error) *unknownError {
	call := m.call
	if m.key != "" {
		call.Key, call.Since = m.key, m.b.now()
	}
	return &unknownError{call, m.key != "", m.asks && call.Key != "", err}
}

// send makes the call, or requests the outcome of an earlier one. It repeats the request while the outcome is unknown and can still become
// known. Errors: those of agent.Service.Execute, and those of storing the call. If the outcome remains unknown, and the outbox must store
// the call or the host supplied its key, the error is an *unknownError that wraps the error of the last request.
func (m *toolCall) send(ctx context.Context, s *agent.Service, arguments strictjson.Object, o agent.ExecuteOptions) (agent.Result, error) {
	if m.keeps && m.unkeyed {
		if err := m.sends(ctx, ""); err != nil {
			return agent.Result{}, err
		}
	}
	uid := m.t.intent.UID.String()
	result, err := s.Execute(ctx, uid, arguments, o)
	if ended(err, m.found) || !m.keeps && m.key == "" {
		return result, err
	}
	if !m.keeps {
		m.call.Since = m.b.now()
	}
	o.IdempotencyKey = m.unknown(err).call.Key
	began, waited, wait := m.b.now(), time.Duration(0), firstAsk
	for m.asks && o.IdempotencyKey != "" && canEnd(err) && max(waited, m.b.now().Sub(began)) < heldFor {
		pause := max(wait, min(asksFor(err), maxAsk))
		if m.rest(ctx, pause) != nil {
			break
		}
		waited, wait = waited+pause, min(2*wait, maxAsk)
		if result, err = s.Execute(ctx, uid, arguments, o); ended(err, true) {
			return result, err
		}
	}
	return result, m.unknown(err)
}

// rest waits for d without counting towards maxCalls. It returns an error immediately if no caller waits for the outcome.
func (m *toolCall) rest(ctx context.Context, d time.Duration) error {
	if m.host.Err() != nil {
		return context.Canceled
	}
	m.exit()
	if err := m.b.sleep(ctx, d); err != nil {
		return err
	}
	return m.enter()
}

// ended reports whether a response states the outcome of a call. For a call that may have been sent before, a refusal states the outcome
// only if the refusal was stored under the key or comes from the API itself.
func ended(err error, before bool) bool {
	if err == nil {
		return true
	}
	if _, lost := errors.AsType[*agent.LostError](err); lost {
		return false
	}
	if unsent(err) {
		return !before
	}
	if e, ok := errors.AsType[*agent.Error](err); ok {
		return endedBy(e, before)
	}
	failure, ok := errors.AsType[*fetch.Error](err)
	return !before && (!ok || !failure.Sent)
}

// endedBy implements ended for an error response of the service.
func endedBy(e *agent.Error, before bool) bool {
	switch {
	case e.Is(agent.ErrOutcomeUnknown):
		return e.Details["state"] == "released" || e.Details["state"] == "captured" // the call has ended, and its response was not stored
	case e.Outcome == "unknown", e.Is(agent.ErrIdempotencyInProgress):
		return false
	case e.Replayed, e.Outcome == "failed", e.Outcome == "done", e.Status/100 == 2,
		e.Reason == string(reason.UpstreamRejected), e.Reason == string(reason.UpstreamBusy):
		return true
	case e.Status >= http.StatusInternalServerError && e.Outcome == "":
		return false
	}
	return !before
}

// canEnd reports whether another request for the outcome can succeed after a response.
func canEnd(err error) bool {
	if e, ok := errors.AsType[*agent.Error](err); ok {
		return e.Is(agent.ErrIdempotencyInProgress) || e.Status == http.StatusTooManyRequests ||
			e.Status >= http.StatusInternalServerError && e.Outcome != "unknown"
	}
	_, ok := errors.AsType[*fetch.Error](err)
	return ok
}

// asksFor returns how long a response asks the client to wait; 0 if it does not ask.
func asksFor(err error) time.Duration {
	if e, ok := errors.AsType[*agent.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// replayed reports whether a response was stored under the key.
func replayed(r agent.Result, err error) bool {
	if e, ok := errors.AsType[*agent.Error](err); ok {
		return e.Replayed
	}
	return err == nil && r.Replayed
}
