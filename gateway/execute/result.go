package execute

import (
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store"
)

// A Result is the result of a successful call.
type Result struct {
	Output   []byte         // JSON: the output parameters
	Charge   *reason.Charge // nil: the call is free
	Standing []limit.Status // states of the limits of the call
	// Near lists the limits, and the budget of a consent, that this call uses to at least 80 %.
	Near []limit.Status
	// Attribution contains the notices that, according to the policy, everyone who uses the output must show.
	Attribution []string
	// Warnings are required outputs that the response of the service lacks, if the intent is configured to pass on such responses.
	Warnings []intents.MissingOutput
	License  string          // the license of the output, as the value of a header field; empty: none
	Sunset   *service.Sunset // when the terms of the intent change; nil: no change is announced
	Replayed bool            // the response of an earlier call under the same idempotency key; this call executed nothing
	Cut      bool            // the response was a stream that broke after its first event
	// Paid is the payment that came with the call. It is nil if there was none, or if the gateway did not take it.
	Paid           *payments.Paid
	PaymentIgnored bool // a payment came with the call, but the gateway did not take it because the call is free
	buffer         *upstream.Buffer
}

// Sent releases the memory of Output for other calls. Call it after Output was completely sent, and do not use Output afterwards.
func (r *Result) Sent() { r.buffer.Release() }

// chargePending is the state of a charge that has not ended.
const chargePending = "pending"

// chargeOf returns the charge of a record, or nil if the call is free. The charge is pending unless the record is captured or released.
func chargeOf(e store.Execution) *reason.Charge {
	if e.Charge.IsZero() {
		return nil
	}
	c := &reason.Charge{Amount: e.Charge, ExecutionID: e.ID, State: chargePending}
	if e.State == store.Captured || e.State == store.Released {
		c.State = string(e.State)
	}
	return c
}
