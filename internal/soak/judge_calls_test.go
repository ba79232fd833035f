package soak

import "time"

// judgeCalls checks that the upstream received each call that was reported as done, received it once, and received no other calls.
func (e *evidence) judgeCalls(breach func(string, ...any)) {
	arrivals := group(e.Arrivals, func(a arrival) string { return a.Ref })
	attempts := group(e.Attempts, func(a attempt) string { return a.Ref })
	for ref, arrived := range arrivals {
		of := attempts[ref]
		for _, a := range arrived {
			if !someSent(of, a) {
				breach("%s reached the upstream for %s with PAT %s, but no agent sent it like that", ref, a.Agent, a.Token)
			}
		}
		if n := executions(arrived); n > 1 {
			breach("%s was executed %d times", ref, n)
		}
		if !prices[arrived[0].Intent].IsZero() && len(arrived) > 1 {
			breach("%s reached the upstream %d times", ref, len(arrived))
		}
	}
	for ref, of := range attempts {
		arrived := arrivals[ref]
		reached, sure := false, true // according to its attempts: it reached the upstream; it certainly did not
		for _, a := range of {
			switch {
			case a.Lost || a.Reason == "IDEMPOTENCY_IN_PROGRESS" || a.Reason == "OUTCOME_UNKNOWN" || a.Reason == "PROOF_REPLAYED":
				sure = false
			case a.Status == 200:
				reached, sure = true, false
				if !serialKnown(arrived, a.Serial) {
					breach("%s was answered with the serial %d, which the upstream never sent", ref, a.Serial)
				}
			case a.Outcome == "failed" || a.Outcome == "done" || a.Outcome == "unknown" || a.Reason == "UPSTREAM_REJECTED":
				sure = false
			}
		}
		switch {
		case reached && len(arrived) == 0:
			breach("%s was answered, but never reached the upstream", ref)
		case sure && len(arrived) > 0:
			breach("%s was refused (%d %s), but reached the upstream", ref, of[0].Status, of[0].Reason)
		}
	}
}

func someSent(of []attempt, a arrival) bool {
	for _, s := range of {
		if s.Agent == a.Agent && s.Token == a.Token && s.Intent == a.Intent && s.Sent <= a.At &&
			(s.Lost || a.At <= s.Answered+upstreamTimeout+time.Minute) {
			return true
		}
	}
	return false
}

func executions(arrived []arrival) int {
	return len(group(arrived, func(a arrival) string { return a.Execution }))
}

func serialKnown(arrived []arrival, serial int) bool {
	for _, a := range arrived {
		if a.Serial == serial && a.Effect == effectDone {
			return true
		}
	}
	return false
}
