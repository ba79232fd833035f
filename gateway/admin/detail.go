package admin

import (
	"maps"
	"strconv"
	"time"
)

// A describer is a request or a result of an operation that describes the change for the audit stream. Empty values are left out.
type describer interface{ detail() map[string]string }

// detailsOf returns the details of the requests and results that have some, or nil if there are none. The last value of a name counts.
func detailsOf(list ...any) map[string]string {
	var out map[string]string
	for _, v := range list {
		d, ok := v.(describer)
		if !ok {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		maps.Copy(out, d.detail())
	}
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	if len(out) == 0 {
		return nil
	}
	return out
}

// flag returns the value of a flag in details, which leave false out.
func flag(set bool) string {
	if !set {
		return ""
	}
	return strconv.FormatBool(set)
}

func (t TopUp) detail() map[string]string {
	return map[string]string{"amount": t.Amount, "reference": t.Reference, "reverse": flag(t.Reverse)}
}

func (r TopUpResult) detail() map[string]string {
	return map[string]string{"repeated": flag(r.Repeated)}
}

func (r Resolution) detail() map[string]string { return map[string]string{"state": string(r.State)} }

func (r PaymentResolution) detail() map[string]string {
	return map[string]string{"state": string(r.State), "agent": string(r.AgentID)}
}

func (n NotSent) detail() map[string]string {
	return map[string]string{"before": n.Before.UTC().Format(time.RFC3339Nano), "agent": string(n.AgentID)}
}

func (r RefundRequest) detail() map[string]string {
	return map[string]string{"amount": r.Amount, "name": r.Name, "reason": r.Reason}
}

func (r Refund) detail() map[string]string {
	return map[string]string{"amount": r.Amount + " " + r.Currency, "number": r.Number, "repeated": flag(r.Repeated)}
}

func (r IssueRequest) detail() map[string]string { return map[string]string{"month": r.Month} }

func (r ReloadRequest) detail() map[string]string { return map[string]string{"force": flag(r.Force)} }

func (r PolicyEdit) detail() map[string]string {
	return map[string]string{"force": flag(r.Force), "previous_sha256": r.SHA256}
}

func (r SaveResult) detail() map[string]string {
	return map[string]string{"policy_digest": r.Policy.Digest}
}

func (k AgentKey) detail() map[string]string { return map[string]string{"jkt": k.KeyID} }

func (r Rotation) detail() map[string]string {
	return map[string]string{"all": flag(r.All), "purpose": string(r.Purpose)}
}

func (r Revocation) detail() map[string]string { return map[string]string{"reason": r.Reason} }
