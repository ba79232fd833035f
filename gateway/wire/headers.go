package wire

import (
	"fmt"
	"math"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
)

// The header fields of answers.
const (
	Charge   = "UIM-Charge"
	Replayed = "Idempotency-Replayed"
	Warning  = "UIM-Warning"
)

// WriteCharge sets what a call costs; nil: nothing.
func WriteCharge(h http.Header, c *reason.Charge) {
	if c != nil {
		h.Set(Charge, c.String()+"; id="+c.ExecutionID+"; state="+c.State)
	}
}

// ChargeMembers is a charge as it stands in a body: meta.charge, details.charge.
func ChargeMembers(c *reason.Charge) map[string]string {
	return map[string]string{"amount": c.Decimal(), "currency": c.Currency, "id": c.ExecutionID, "state": c.State}
}

// WriteReplayed marks an answer that was given before under the same idempotency key.
func WriteReplayed(h http.Header, replayed bool) {
	if replayed {
		h.Set(Replayed, "true")
	}
}

// maxWarnings bounds the fields of one answer.
const maxWarnings = 16

// WriteWarnings adds a field for each required output that an answer does not have: missing-output; name="…", where the name
// is written as RFC 8187 writes text in a parameter. Beyond 16 the last field says how many more there are.
func WriteWarnings(h http.Header, missing []intents.MissingOutput) {
	for i, m := range missing {
		if i == maxWarnings {
			h.Add(Warning, fmt.Sprintf("missing-output; more=%d", len(missing)-i))
			return
		}
		h.Add(Warning, mime.FormatMediaType("missing-output", map[string]string{"name": m.Name}))
	}
}

// WriteRateLimit sets the RateLimit and RateLimit-Policy fields: one item a limit.
// r is a lower bound of what can still be admitted, t the seconds until the oldest counted slot falls
// out. draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4; RFC 9651.
func WriteRateLimit(h http.Header, limits []limit.Standing) {
	if len(limits) == 0 {
		return
	}
	policies, standings := make(httpsfv.List, 0, len(limits)), make(httpsfv.List, 0, len(limits))
	limits = slices.Clone(limits)
	slices.SortStableFunc(limits, func(a, b limit.Standing) int { return agreed(b.Limit) - agreed(a.Limit) })
	seen := map[string]int{}
	for _, l := range limits {
		name := limitName(l.Limit)
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[name])
		}
		policy, standing := httpsfv.NewItem(name), httpsfv.NewItem(name)
		policy.Params.Add("q", fieldInteger(l.Max))
		if w := l.Period.Seconds(); w > 0 {
			policy.Params.Add("w", w)
		}
		standing.Params.Add("r", fieldInteger(l.Left))
		if l.Resets > 0 {
			standing.Params.Add("t", Seconds(l.Resets))
		}
		policies, standings = append(policies, policy), append(standings, standing)
	}
	setField(h, "RateLimit-Policy", policies)
	setField(h, "RateLimit", standings)
}

// setField sets a structured field. One that cannot be written is left out: an answer is not worth less for it.
func setField(h http.Header, name string, list httpsfv.List) {
	if text, err := httpsfv.Marshal(list); err == nil {
		h.Set(name, text)
	}
}

// fieldInteger brings a count within the integers of RFC 9651 3.3.1; r and q are then lower bounds still.
func fieldInteger(n int64) int64 {
	const largest = 999_999_999_999_999
	return min(max(0, n), largest)
}

// limitName is how a limit is called: one of the policy by its period, that of the PAT itself pat, that
// which all agents share service.
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

// agreed is 1 for a limit of the policy and 0 for the gateway's own, which are sent after those.
func agreed(l limit.Limit) int {
	if l.Kind == limit.Policy {
		return 1
	}
	return 0
}

// Tightest is the limit with the least left; ok is false where there is none.
func Tightest(limits []limit.Standing) (least limit.Standing, ok bool) {
	for i, l := range limits {
		if i == 0 || l.Left < least.Left {
			least = l
		}
	}
	return least, len(limits) > 0
}

// Seconds is a duration in whole seconds, rounded up.
func Seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
