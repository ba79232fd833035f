package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/reason"
)

// explain writes what a refusal says beside its message.
func explain(w io.Writer, err error) {
	var refusal *agent.Error
	if !errors.As(err, &refusal) {
		return
	}
	for _, v := range refusal.Violations {
		fmt.Fprintf(w, "  %s\n", v)
	}
	if refusal.Suggestion != "" {
		fmt.Fprintf(w, "  %s\n", refusal.Suggestion)
	}
	if id, ok := refusal.Details["suggested_agent_id"].(string); ok {
		fmt.Fprintf(w, "  --agent-id %s is free for your key.\n", printable(id))
	}
	if refusal.RetryAfter > 0 {
		fmt.Fprintf(w, "  It may be tried again after %s.\n", refusal.RetryAfter)
	}
	if refusal.Outcome == "unknown" || refusal.Outcome == "done" {
		fmt.Fprintf(w, "  The call may have taken effect (outcome: %s).\n", refusal.Outcome)
	}
	if refusal.Charge != nil {
		fmt.Fprintf(w, "  Charge: %s\n", refusal.Charge)
	}
}

// errorData is an error as data.
func errorData(err error) map[string]any {
	data := map[string]any{"message": err.Error()}
	put := func(name string, value any, there bool) {
		if there {
			data[name] = value
		}
	}
	if changed, ok := errors.AsType[*agent.PolicyChangedError](err); ok {
		data["reason"] = reason.PolicyRequiresAgreement
		data["agreed"] = changed.Agreed
		put("offered", changed.Offered, changed.Offered != "")
	}
	if pending, ok := errors.AsType[*agent.PendingError](err); ok {
		data["reason"], data["agreement_id"] = "PENDING", pending.AgreementID
	}
	var refusal *agent.Error
	if !errors.As(err, &refusal) {
		return data
	}
	data["status"] = refusal.Status
	put("message", refusal.Message, refusal.Message != "")
	put("code", refusal.Code, refusal.Code != "")
	put("reason", refusal.Reason, refusal.Reason != "")
	put("uim_code", refusal.UIMCode, refusal.UIMCode != "")
	put("suggestion", refusal.Suggestion, refusal.Suggestion != "")
	put("violations", refusal.Violations, len(refusal.Violations) > 0)
	put("retry_after", int64(math.Ceil(refusal.RetryAfter.Seconds())), refusal.RetryAfter > 0)
	put("outcome", refusal.Outcome, refusal.Outcome != "")
	put("charge", chargeData(refusal.Charge), refusal.Charge != nil)
	put("suggested_agent_id", refusal.Details["suggested_agent_id"], refusal.Details["suggested_agent_id"] != nil)
	put("request_id", refusal.RequestID, refusal.RequestID != "")
	return data
}

func chargeData(c *agent.Charge) map[string]string {
	if c == nil {
		return nil
	}
	return map[string]string{"amount": c.Decimal(), "currency": c.Currency, "id": c.ExecutionID, "state": c.State}
}
