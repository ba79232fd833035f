package soak

import (
	"slices"
	"strconv"
	"time"
)

// revokedWithin is the time within which a revocation must take effect on all gateways.
const revokedWithin = time.Second

// notSentAfter is the time after a revocation from which nothing may reach the upstream, however long ago it was accepted. It is
// revokedWithin plus the time that a busy machine may take between the last check and the first byte.
const notSentAfter = revokedWithin + 1500*time.Millisecond

// judgeEndings checks that no call is accepted that was sent more than revokedWithin after its PAT was revoked, and that no call is
// forwarded more than notSentAfter after that, wherever it waited.
func (e *evidence) judgeEndings(breach func(string, ...any)) {
	e.judgeLateArrivals(breach)
	arrivals := group(e.Arrivals, func(a arrival) string { return a.Ref })
	byAgent := group(e.Attempts, func(a attempt) string { return a.Agent })
	for _, end := range e.Endings {
		for _, a := range byAgent[end.Agent] {
			late := end.ends(a) && a.Sent > end.Answered+revokedWithin
			if late && (a.Status == 200 || len(arrivals[a.Ref]) > 0) {
				breach("%s was accepted by %s although it was sent %s after its PAT had been revoked", a.Ref, a.Gateway, a.Sent-end.Answered)
			}
		}
	}
}

func (e *evidence) judgeLateArrivals(breach func(string, ...any)) {
	attempts := group(e.Attempts, func(a attempt) string { return a.Ref })
	byAgent := group(e.Arrivals, func(a arrival) string { return a.Agent })
	for _, end := range e.Endings {
		for _, a := range byAgent[end.Agent] {
			of := attempts[a.Ref]
			if len(of) == 0 || !end.ends(of[0]) || a.At <= end.Answered+notSentAfter {
				continue
			}
			stopped := func(f freeze) bool { return f.Gateway == of[0].Gateway && f.From < a.At && of[0].Sent < f.To }
			if !slices.ContainsFunc(e.Freezes, stopped) { // the gateway may have been stopped between the last check and the first byte
				breach("%s was forwarded by %s %s after its PAT had been revoked", a.Ref, of[0].Gateway, a.At-end.Answered)
			}
		}
	}
}

// judgeAnswers checks that the logs contain a cause for every response.
func (e *evidence) judgeAnswers(breach func(string, ...any)) {
	proofs, unsure := map[string]int{}, map[string]bool{}
	for _, a := range e.Attempts {
		if a.Proof != "" {
			proofs[a.Proof]++
		}
		// The store may have recorded the call although its response was lost: the envelope then cannot be used again, and the call was not
		// executed.
		unsure[a.Ref] = unsure[a.Ref] || a.Lost || a.Outcome == "not_sent"
	}
	for _, a := range e.Attempts {
		if a.Lost {
			continue
		}
		wait, _ := strconv.Atoi(a.RetryAfter)
		ok := false
		switch does := effectOf(a.Ref); a.Reason {
		case "":
			ok = a.Status == 200 && (does == effectDone || does == effectCutOff || !prices[a.Intent].IsZero() && does == effectNoAnswer)
		case "RATE_LIMIT_EXCEEDED", "RESTORED_LIMITS":
			ok = a.Status == 429 && wait > 0
		case "SERVICE_CEILING":
			ok = a.Status == 429 && wait > 0 && a.Intent == ceiled
		case "POLICY_REQUIRES_PAYMENT":
			ok = a.Status == 402 && !prices[a.Intent].IsZero()
		case "NEWCOMERS_EXHAUSTED":
			ok = a.Status == 402 && wait > 0 && !prices[a.Intent].IsZero() && e.Unapproved[a.Agent]
		case "IDEMPOTENCY_IN_PROGRESS":
			ok = a.Status == 409 && wait > 0 && a.Key != ""
		case "OUTCOME_UNKNOWN":
			ok = a.Status == 409 && a.Key != ""
		case "PROOF_REPLAYED":
			ok = a.Status == 403 && (proofs[a.Proof] > 1 || a.enveloped() && unsure[a.Ref])
		case "REVOKED_TOKEN":
			ok = a.Status == 401 && e.endedBy(a)
		case "AGENT_BLOCKED":
			ok = a.Status == 403 && e.endedBy(a)
		case "STORE_UNAVAILABLE", "GRANT_EXPIRED":
			ok = a.Status == 503 && wait > 0 && a.Outcome == "not_sent"
		case "UPSTREAM_REJECTED":
			ok = a.Status == 409 && does == effectConflict
		case "UPSTREAM_ERROR":
			brokenOff := does == effectBrokenAnswer || does == effectCutOff
			ok = a.Status == 502 && (does == effectError && a.Outcome == "failed" || brokenOff && a.Outcome == "unknown")
		case "OVERLOADED":
			ok = a.Status == 503 && wait > 0 && e.Attacked
		case "RESPONSE_INVALID":
			ok = a.Status == 502 && (does == effectInvalidAnswer || does == effectFlood) && a.Outcome == "done"
		case "UPSTREAM_TIMEOUT": // a slow machine can cause it
			ok = a.Status == 504 && (a.Outcome == "unknown" || a.Outcome == "not_sent")
		case "UPSTREAM_UNREACHABLE":
			ok = a.Status == 502 && a.Outcome == "not_sent"
		}
		if !ok {
			breach("%s of %s at %s, %s: %d %s, outcome %q, Retry-After %q", a.Ref, a.Agent, a.Gateway, a.Sent, a.Status, a.Reason,
				a.Outcome, a.RetryAfter)
		}
	}
}

// endedBy reports whether a revocation of the PAT was requested before the response.
func (e *evidence) endedBy(a attempt) bool {
	return slices.ContainsFunc(e.Endings, func(end revocation) bool { return end.ends(a) && end.Requested <= a.Answered })
}

// unreadyWithin is the time after the loss of the store within which a gateway must report that it is not ready: the maximum age of its
// view, the duration of a check, and the maximum age of a cached result.
const unreadyWithin = 4 * time.Second

// judgeReadiness checks that a gateway that cannot reach its store does not report that it is ready, and does not accept calls.
func (e *evidence) judgeReadiness(breach func(string, ...any)) {
	sent := map[string]int{}
	for _, a := range e.Attempts {
		sent[a.Ref]++
	}
	for _, o := range e.Outages {
		for _, p := range e.Probes {
			if o.of(p.Gateway) && p.Sent > o.From+unreadyWithin && p.Answered < o.To && p.Status == 200 {
				breach("%s reported that it was ready %s after it had lost its store", p.Gateway, p.Sent-o.From)
			}
		}
		for _, a := range e.Attempts {
			if a.Way == wayLater && sent[a.Ref] > 1 { // the answer may belong to another attempt, and come from any gateway
				continue
			}
			if o.of(a.Gateway) && a.Sent > o.From+revokedWithin && a.Answered < o.To && a.Status == 200 {
				breach("%s was accepted by %s %s after the gateway had lost its store", a.Ref, a.Gateway, a.Sent-o.From)
			}
		}
	}
}
