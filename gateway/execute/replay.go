package execute

import (
	"encoding/json"
	"maps"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// answer returns the response to store under the idempotency key of the call, or nil if the call has no key.
func (e *execution) answer(s shapedCall) *store.Answer {
	if e.call.IdempotencyKey == "" {
		return nil
	}
	if s.refusal == nil {
		a := &store.Answer{Output: s.output}
		if len(s.missing) > 0 {
			a.Details = keptWarnings(s.missing)
		}
		return a
	}
	f := s.refusal
	a := &store.Answer{Reason: f.Reason, Code: f.Code, Message: f.Message}
	details := map[string]any{}
	maps.Copy(details, f.Details)
	if f.RetryAfter > 0 { // stored only as a detail: a replay has no Retry-After field
		details["retry_after"] = f.RetrySeconds()
	}
	if text, err := json.Marshal(details); err == nil {
		a.Details = text
	}
	return a
}

// A replay is an earlier call under the same idempotency key.
type replay struct {
	execution store.Execution
	standing  []limit.Status // current state of the limits of the call
}

// result returns the response of the earlier call: the same output or Refusal, but with the current state of the limits.
func (r *replay) result() (Result, error) {
	result, f := r.answer()
	if f != nil {
		return Result{}, f.Standings(r.standing)
	}
	result.Standing = r.standing
	return result, nil
}

func (r *replay) answer() (Result, *reason.Refusal) {
	a, charge := r.execution.Answer, chargeOf(r.execution)
	switch {
	case a == nil && r.execution.State == store.Captured:
		f := reason.ResponseInvalid.Refusal("The call with this Idempotency-Key took effect, but its response was not stored.").
			With("outcome", store.Done).With("suggestion", "Do not repeat the call. Ask the operator of the service for the result.").Charged(charge)
		f.Replayed = true
		return Result{}, f
	case a == nil:
		return Result{}, reason.OutcomeUnknown.Refusal("The call with this Idempotency-Key has ended, but its response was not stored.").
			With("state", r.execution.State).With("execution_id", r.execution.ID).Charged(charge)
	case a.Reason == "":
		return Result{Output: a.Output, Charge: charge, Warnings: warningsIn(a.Details), Replayed: true}, nil
	}
	f := a.Reason.Refusal(a.Message).WithCode(a.Code).Charged(charge)
	if details, err := strictjson.DecodeObject(a.Details); err == nil {
		f.Details = details
	}
	f.Replayed = true
	return Result{}, f
}

// warnings are the stored details of a response that lacks required outputs.
type warnings struct {
	Missing []intents.MissingOutput `json:"warnings"`
}

func keptWarnings(missing []intents.MissingOutput) []byte {
	text, err := json.Marshal(warnings{missing})
	if err != nil { // cannot happen: every string can be encoded
		return nil
	}
	return text
}

func warningsIn(details []byte) []intents.MissingOutput {
	var w warnings
	if json.Unmarshal(details, &w) != nil {
		return nil
	}
	return w.Missing
}
