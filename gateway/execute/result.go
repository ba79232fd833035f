package execute

import (
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// A Result is the result of a successful call.
type Result struct {
	Output   []byte // JSON: the output parameters
	Charge   *reason.Charge
	Standing []limit.Status // states of the limits of the call
	// Attribution has the notices that the policy obliges every user of the output to show.
	Attribution []string
	// Warnings are required outputs that are missing in the service's response, where such responses are passed on.
	Warnings []intents.MissingOutput
	License  string // of the output, as a header field can hold it; empty: none
	Replayed bool   // a stored response under the same idempotency key; nothing was executed now
	buffer   *upstream.Buffer
}

// Sent releases Output after it was completely sent: other calls reuse its memory.
func (r *Result) Sent() { r.buffer.Release() }

// chargeOf reads the charge from a record; nil if the call is free.
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
