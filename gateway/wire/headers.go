package wire

import (
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
)

// Header fields of responses, as net/http canonicalizes their names.
const (
	Charge   = "Uim-Charge"
	Receipt  = "Uim-Receipt"
	Replayed = "Idempotency-Replayed"
	Warning  = "Uim-Warning"
	// TopUpReceipt carries the receipt of the payment that came with a call.
	TopUpReceipt = "Uim-Top-Up-Receipt"
)

// WriteCharge sets the header fields for the charge of a call and its receipt, unless c is nil.
func WriteCharge(h http.Header, c *reason.Charge) {
	if c == nil {
		return
	}
	h.Set(Charge, c.String()+"; id="+c.ExecutionID+"; state="+c.State)
	if c.Receipt != "" {
		h.Set(Receipt, c.Receipt)
	}
}

// ChargeMembers returns a charge as it appears in response bodies, under meta.charge or details.charge.
func ChargeMembers(c *reason.Charge) map[string]string {
	return map[string]string{"amount": c.Decimal(), "currency": c.Currency, "id": c.ExecutionID, "state": c.State}
}

// WriteReplayed sets the header field Idempotency-Replayed if the response is the one that was stored under the same idempotency key.
func WriteReplayed(h http.Header, replayed bool) {
	if replayed {
		h.Set(Replayed, "true")
	}
}

// maxWarnings is the maximum number of missing outputs that one response lists.
const maxWarnings = 16

// WriteWarnings adds a field for each missing required output: missing-output; name="…", with the name encoded as in RFC 8187. After 16
// fields, a final field gives the number of the remaining outputs.
func WriteWarnings(h http.Header, missing []intents.MissingOutput) {
	for i, m := range missing {
		if i == maxWarnings {
			h.Add(Warning, fmt.Sprintf("missing-output; more=%d", len(missing)-i))
			return
		}
		h.Add(Warning, mime.FormatMediaType("missing-output", map[string]string{"name": m.Name}))
	}
}

// WriteNear adds a warning for each limit and budget that is nearly or completely used: limit-near or limit-reached, with the limit and the
// number of calls that are left, and budget-near or budget-reached, with amounts.
func WriteNear(h http.Header, near []limit.Status) {
	for _, l := range near {
		kind, most, left := "limit", l.String(), strconv.FormatInt(max(0, l.Left), 10)
		if l.Kind == limit.Budget {
			currency := limit.BudgetCurrency(l.ID)
			kind, left = "budget", limit.AllowanceLeft(max(0, l.Left), currency).String()
			most = limit.Allowance{Amount: limit.AllowanceLeft(l.Max, currency), Period: l.Period}.String()
		}
		stage := "near"
		if l.Stage() == limit.Reached {
			stage = "reached"
		}
		h.Add(Warning, mime.FormatMediaType(kind+"-"+stage, map[string]string{kind: most, "left": left}))
	}
}

// WriteRateLimit sets the RateLimit and RateLimit-Policy fields: one item for each limit, the limits of the policy first. r is a lower
// bound for the number of calls that are still admitted; t is the number of seconds until the oldest counted slot expires. See
// draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4; RFC 9651.
func WriteRateLimit(h http.Header, limits []limit.Status) {
	if len(limits) == 0 {
		return
	}
	var spaceOfPolicies, spaceOfStandings [128]byte // enough for two limits, the usual number
	policies, standings := spaceOfPolicies[:0], spaceOfStandings[:0]
	names := make([]string, 0, 4)
	for _, own := range []bool{false, true} {
		for _, l := range limits {
			if own == (l.Kind == limit.Policy) {
				continue
			}
			name := limitName(l.Limit)
			names = append(names, name)
			n := 0
			for _, written := range names {
				if written == name {
					n++
				}
			}
			policies, standings = startItem(policies, name, n), startItem(standings, name, n)
			policies = parameter(policies, ";q=", fieldInteger(l.Max))
			if w := l.Period.Seconds(); w > 0 {
				policies = parameter(policies, ";w=", w)
			}
			standings = parameter(standings, ";r=", fieldInteger(l.Left))
			if l.Resets > 0 {
				standings = parameter(standings, ";t=", Seconds(l.Shown(l.Resets)))
			}
		}
	}
	n := len(policies) // both fields share an allocation
	text := string(append(policies, standings...))
	values := []string{text[:n], text[n:]}
	h["Ratelimit-Policy"], h["Ratelimit"] = values[:1:1], values[1:]
}

// startItem appends the name of a list item (RFC 9651 4.1.1). n is the number of this item among those with the same name; from 2 on, it
// becomes part of the name.
func startItem(list []byte, name string, n int) []byte {
	if len(list) > 0 {
		list = append(list, ", "...)
	}
	list = append(append(list, '"'), name...)
	if n > 1 {
		list = strconv.AppendInt(append(list, '-'), int64(n), 10)
	}
	return append(list, '"')
}

func parameter(item []byte, name string, value int64) []byte {
	return strconv.AppendInt(append(item, name...), value, 10)
}

// fieldInteger limits a count to the range of integers in RFC 9651 3.3.1. r and q remain lower bounds of the actual counts.
func fieldInteger(n int64) int64 {
	const largest = 999_999_999_999_999
	return min(max(0, n), largest)
}

// limitName returns the name of a limit: the period for a limit of the policy, "pat" for the limit of the PAT itself, and "service" for
// the limit that all agents share.
func limitName(l limit.Limit) string {
	switch l.Kind {
	case limit.Token:
		return "pat"
	case limit.Ceiling:
		return "service"
	default:
		return string(l.Period)
	}
}

// Tightest returns the limit with the fewest remaining calls. ok is false if there are no limits.
func Tightest(limits []limit.Status) (least limit.Status, ok bool) {
	for i, l := range limits {
		if i == 0 || l.Left < least.Left {
			least = l
		}
	}
	return least, len(limits) > 0
}

// Seconds returns a duration in whole seconds, rounded up.
func Seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
