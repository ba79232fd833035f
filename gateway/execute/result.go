package gateway

import (
	"net/http"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// A Result is what a successful call answers.
type Result struct {
	Status   int
	Output   []byte // JSON: the output parameters
	Charge   *Charge
	Standing []store.Standing // how the limits of the call stand
	// Attribution are notices that the policy obliges whoever uses the output to show.
	Attribution []string
	Replayed    bool // told again under the same idempotency key; nothing was done now
}

// A Charge is what the agent is told it owes for one call.
type Charge struct {
	money.Amount
	ExecutionID string
	State       string // captured, released or pending
}

// chargeOf reads the charge off a record; nil where the call is free.
func chargeOf(e store.Execution) *Charge {
	if e.Charge.IsZero() {
		return nil
	}
	c := &Charge{Amount: e.Charge, ExecutionID: e.ID, State: "pending"}
	if e.State == store.Captured || e.State == store.Released {
		c.State = string(e.State)
	}
	return c
}

// field is the value of the UIM-Charge header.
func (c *Charge) field() string { return c.String() + "; id=" + c.ExecutionID + "; state=" + c.State }

// members is the charge as it stands in a body: meta.charge, details.charge.
func (c *Charge) members() map[string]string {
	return map[string]string{"amount": c.Decimal(), "currency": c.Currency, "id": c.ExecutionID, "state": c.State}
}

func (f *Fault) charged(c *Charge) *Fault {
	if c != nil {
		f.charge = c
		f.setHeader(headerCharge, c.field())
		f.with("charge", c.members())
	}
	return f
}

func (f *Fault) standing(limits []store.Standing) *Fault {
	writeRateLimit(f.headers(), limits)
	return f
}

func (f *Fault) headers() http.Header {
	if f.Header == nil {
		f.Header = http.Header{}
	}
	return f.Header
}

func (f *Fault) setHeader(name, value string) { f.headers().Set(name, value) }

// result tells the earlier call's answer again: the body as it was, or its Fault.
func (r *replay) result() (Result, error) {
	a, charge := r.execution.Answer, chargeOf(r.execution)
	if a == nil && r.execution.State == store.Captured {
		f := newFault("RESPONSE_INVALID", "The call under this Idempotency-Key took effect; its answer is not known any more.").with("outcome", store.Done)
		f.with("suggestion", "Do not make the call again; ask the service what came of it.").setHeader(headerReplayed, "true")
		return Result{}, f.charged(charge)
	}
	if a == nil {
		return Result{}, newFault("OUTCOME_UNKNOWN", "The call under this Idempotency-Key has ended, but its answer was not kept.").with("state", r.execution.State).charged(charge)
	}
	if a.Reason == "" {
		return Result{Status: a.Status, Output: a.Body, Charge: charge, Replayed: true}, nil
	}
	f := newFault(Reason(a.Reason), "The call failed when it was first made.")
	f.Status = a.Status
	if body, err := strictjson.DecodeObject(a.Body); err == nil {
		if inner, ok := body["error"].(map[string]any); ok {
			f.Code, _ = inner["code"].(string)
			f.Message, _ = inner["message"].(string)
			f.Details, _ = inner["details"].(map[string]any)
		}
	}
	f.setHeader(headerReplayed, "true")
	return Result{}, f.charged(charge)
}

const (
	headerCharge   = "UIM-Charge"
	headerReplayed = "Idempotency-Replayed"
	// headerAttribution carries a notice as RFC 8187 writes text in a parameter, so that any language fits.
	headerAttribution = "UIM-Attribution"
)
