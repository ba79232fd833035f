package soak

import (
	"cmp"
	"slices"
	"time"
)

// A span is a call that took its place in a limit at some moment from From to To.
type span struct{ from, to time.Duration }

// judgeLimits: in no window of a limit's length are there more calls than it allows, neither in the upstream's own log
// nor in what agents were told was done. When a call took its place is known within bounds only: not before the agent
// sent it, and not after it reached the upstream. So a window counts the calls that lie in it surely.
func (e *evidence) judgeLimits(breach func(string, ...any)) {
	sent := e.earliest()
	for _, t := range e.Terms {
		who := func(agent string) string {
			if t.All {
				return "all"
			}
			return agent
		}
		reached, told := map[string][]span{}, map[string][]span{}
		seen := map[string]bool{}
		for _, a := range e.Arrivals {
			if t.covers(a.Intent) && !seen[a.Execution] { // a repeated request is one call
				seen[a.Execution] = true
				reached[who(a.Agent)] = append(reached[who(a.Agent)], span{sent(a), a.At})
			}
		}
		for _, a := range e.Attempts {
			if t.covers(a.Intent) && !a.Lost && a.Status == 200 && a.Key == "" {
				told[who(a.Agent)] = append(told[who(a.Agent)], span{a.Sent, a.Answered})
			}
		}
		for where, logs := range map[string]map[string][]span{"reached the upstream": reached, "were answered": told} {
			for agent, spans := range logs {
				if from, n := crowded(spans, t.Max, t.Period); n > 0 {
					breach("%s: %d calls of %s %s within %s from %s on; the limit is %d", t.Name, n, agent, where, t.Period, from, t.Max)
				}
			}
		}
	}
}

// crowded looks for a window with more than most spans wholly in it, and returns its beginning and how many they are.
func crowded(spans []span, most int, period time.Duration) (time.Duration, int) {
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

// earliest tells the earliest moment at which a request can have left its gateway: not before the agent asked, nor,
// where the gateway was stopped meanwhile, before it went on. One call of each freeze is taken for as early as it was
// sent: it may have been stopped between the last look at its grant and the write, which nothing can undo.
func (e *evidence) earliest() func(arrival) time.Duration {
	attempts := group(e.Attempts, func(a attempt) string { return a.Ref })
	awake, between := e.awake(), map[freeze]string{}
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
			if f.Gateway != first.Gateway || first.Sent >= f.To || a.At < f.To || !awake(f) {
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

// awake reports whether the upstream took what came in while a gateway was stopped: then it would have taken also
// what that gateway had sent before.
func (e *evidence) awake() func(freeze) bool {
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
