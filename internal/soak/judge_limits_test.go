package soak

import (
	"cmp"
	"slices"
	"time"
)

// A span is a call that a limit counted at some time between from and to.
type span struct{ from, to time.Duration }

// judgeLimits checks that no window of a limit contains more calls than the limit, in the log of the upstream and in the responses to
// agents. The time at which a call was counted is known only within bounds: not before the agent sent it, and not after it reached the
// upstream. So a window counts only the calls that are certainly inside it. The limits of the configuration do not count calls that the
// database lacks.
func (e *evidence) judgeLimits(breach func(string, ...any)) {
	sent := e.earliest()
	for _, t := range e.Terms {
		counter := func(agent string) string {
			if t.All {
				return "all"
			}
			return agent
		}
		reached, reported := map[string][]span{}, map[string][]span{}
		for _, a := range e.Arrivals {
			if s := (span{sent(a), a.At}); t.covers(a.Intent) && !e.lacks(t, s) { // repeated requests count as well
				reached[counter(a.Agent)] = append(reached[counter(a.Agent)], s)
			}
		}
		for _, a := range e.Attempts {
			s := span{a.Sent, a.Answered}
			if t.covers(a.Intent) && !a.Lost && a.Status == 200 && a.Key == "" && !e.lacks(t, s) {
				reported[counter(a.Agent)] = append(reported[counter(a.Agent)], s)
			}
		}
		for where, logs := range map[string]map[string][]span{"reached the upstream": reached, "were answered": reported} {
			for agent, spans := range logs {
				if from, n := overfullWindow(spans, t.Max, t.Period); n > 0 {
					breach("%s: %d calls of %s %s within %s, starting at %s; the limit is %d", t.Name, n, agent, where, t.Period, from, t.Max)
				}
			}
		}
	}
}

// lacks reports whether the count of a call by a limit may be missing from the database.
func (e *evidence) lacks(t term, s span) bool {
	return t.Own && e.Lacking.to > 0 && s.from <= e.Lacking.to && s.to >= e.Lacking.from
}

// overfullWindow looks for a window that contains more than most complete spans. It returns the start of the window and the number of
// spans.
func overfullWindow(spans []span, most int, period time.Duration) (time.Duration, int) {
	if len(spans) <= most {
		return 0, 0
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i, first := range spans {
		n := 0
		for _, s := range spans[i:] {
			if s.from >= first.from+period {
				break
			}
			if s.to < first.from+period {
				n++
			}
		}
		if n > most {
			return first.from, n
		}
	}
	return 0, 0
}

// earliest returns a function that returns the earliest time at which a request can have left its gateway: not before the agent sent it
// and, if the gateway was stopped in the meantime, not before the gateway continued. For each freeze, one call keeps the time at which it
// was sent: the gateway may have been stopped between the last check of its grant and the write, which cannot be prevented.
func (e *evidence) earliest() func(arrival) time.Duration {
	attempts := group(e.Attempts, func(a attempt) string { return a.Ref })
	responsive, between := e.responsive(), map[freeze]string{}
	return func(a arrival) time.Duration {
		of := attempts[a.Ref]
		if len(of) == 0 {
			return a.At
		}
		first := slices.MinFunc(of, func(a, b attempt) int { return cmp.Compare(a.Sent, b.Sent) })
		if len(of) > 1 {
			return first.Sent
		}
		for _, f := range e.Freezes {
			if f.Gateway != first.Gateway || first.Sent >= f.To || a.At < f.To || !responsive(f) {
				continue
			}
			if between[f] == "" && first.Sent < f.From {
				between[f] = a.Ref
			}
			if between[f] != a.Ref {
				return f.To
			}
		}
		return first.Sent
	}
}

// responsive returns a function that reports whether the upstream accepted requests while a gateway was stopped. If it did, it would also
// have accepted earlier requests of that gateway.
func (e *evidence) responsive() func(freeze) bool {
	sent := map[string]time.Duration{}
	for _, a := range e.Attempts {
		sent[a.Ref] = max(sent[a.Ref], a.Sent)
	}
	known := map[freeze]bool{}
	return func(f freeze) bool {
		is, ok := known[f]
		if !ok {
			is = slices.ContainsFunc(e.Arrivals, func(a arrival) bool {
				return sent[a.Ref] > f.From+100*time.Millisecond && a.At < f.To && sent[a.Ref] < a.At
			})
			known[f] = is
		}
		return is
	}
}
