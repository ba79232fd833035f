package execute

import (
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// A Result is what a successful call answers.
type Result struct {
	Output   []byte // JSON: the output parameters
	Charge   *reason.Charge
	Standing []limit.Status // states of the limits of the call
	// Attribution has the notices that the policy obliges every user of the output to show.
	Attribution []string
	// Warnings are required outputs that the service's answer does not have, where such answers are passed on.
	Warnings []intents.MissingOutput
	License  string // of the output, as a header field can hold it; empty: none
	Replayed bool   // answered before under the same idempotency key; nothing was done now
	buffer   *upstream.Buffer
}

// Sent releases Output after the whole of it was sent: its memory serves other calls.
func (r *Result) Sent() { r.buffer.Release() }

// chargeOf reads the charge off a record; nil where the call is free.
func chargeOf(e store.Execution) *reason.Charge {
	if e.Charge.IsZero() {
		return nil
	}
	c := &reason.Charge{Amount: e.Charge, ExecutionID: e.ID, State: "pending"}
	if e.State == store.Captured || e.State == store.Released {
		c.State = string(e.State)
	}
	return c
}
