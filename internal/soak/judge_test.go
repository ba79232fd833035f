package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A judge checks the records of a run for breaches of one promise, and reports each breach.
type judge struct {
	name string
	find func(e *evidence, breach func(format string, args ...any))
}

var judges = []judge{
	{"limits", (*evidence).judgeLimits},
	{"calls", (*evidence).judgeCalls},
	{"charges", (*evidence).judgeCharges},
	{"ledger", (*evidence).judgeLedger},
	{"deadlines", (*evidence).judgeSweeper},
	{"credit", (*evidence).judgeCredit},
	{"revocations", (*evidence).judgeEndings},
	{"answers", (*evidence).judgeAnswers},
	{"replies", (*evidence).judgeReplies},
	{"readiness", (*evidence).judgeReadiness},
	{"logs", (*evidence).judgeLogs},
}

const maxBreaches = 8

// judge runs all judges except those that are named in but, and returns the breaches: a few of each judge.
func (e *evidence) judge(but ...string) []string {
	var found []string
	for _, j := range judges {
		if slices.Contains(but, j.name) {
			continue
		}
		n := 0
		j.find(e, func(format string, args ...any) {
			if n++; n <= maxBreaches {
				found = append(found, j.name+": "+fmt.Sprintf(format, args...))
			}
		})
		if n > maxBreaches {
			found = append(found, fmt.Sprintf("%s: and %d more", j.name, n-maxBreaches))
		}
	}
	return found
}

// A floor is the minimum number of events of a run, so that the judges have something to check. It is far below the numbers of a slow
// machine.
type floor map[string]int

// count returns the number of events, by the names that a floor uses.
func (e *evidence) count() floor {
	n := floor{}
	for _, a := range e.Arrivals {
		n["upstream "+a.Intent]++
	}
	for _, a := range e.Attempts {
		switch {
		case a.Lost:
			n["lost"]++
		case a.Replayed:
			n["replayed"]++
		default:
			n[fmt.Sprintf("answered %d", a.Status)]++
		}
		if a.Status == 200 && !a.Lost {
			n["done by "+a.Way]++
		}
		if a.Charge != "" && !a.Replayed {
			n["reported "+a.Charge]++
		}
		if a.Reason != "" {
			n[a.Reason]++
		}
	}
	for _, x := range e.Executions {
		n["execution "+string(x.State)]++
	}
	n["revoked"] = len(e.Endings)
	n["answered after resending"] = e.repeatedReplies()
	n["freezes"] = len(e.Freezes)
	n["outages"] = len(e.Outages)
	n["declined"] = e.Declined
	maps.Copy(n, e.Faults)
	return n
}

// missing returns the events that happened less often than in least.
func (n floor) missing(least floor) floor {
	missed := floor{}
	for what, want := range least {
		if n[what] < want {
			missed[what] = want
		}
	}
	return missed
}

// runAndJudge runs a world under load with faults, checks that it recovers without help, and judges it.
func (w *world) runAndJudge(least floor, faults func()) {
	w.t.Helper()
	w.run(least, faults)
	w.recover()
	w.verdict(w.evidence(), least)
}

// verdict fails the test if the judges find breaches, or if there were too few events. The judges named in but do not apply to the run.
// The breaches are printed last, after the warnings and errors of the gateways, because readers look at the end of a long output.
func (w *world) verdict(e *evidence, least floor, but ...string) {
	w.t.Helper()
	n := e.count()
	missing, found := n.missing(least), e.judge(but...)
	if len(missing) > 0 || len(found) > 0 || w.t.Failed() {
		for name, log := range e.Logs {
			w.t.Logf("last warnings and errors of %s:\n%s", name, strings.Join(complaints(log, 10), "\n"))
		}
	}
	w.t.Log("events:\n" + tableOf(n))
	for what, want := range missing {
		w.t.Errorf("availability: %s happened %d times; want at least %d", what, n[what], want)
	}
	for _, breach := range found {
		w.t.Error(breach)
	}
}

// complaints returns the last n lines of a log whose level is not info, each cut to a readable length.
func complaints(log string, n int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(log), "\n") {
		if !strings.HasPrefix(line, `{"level":"info"`) {
			lines = append(lines, fmt.Sprintf("%.400s", line))
		}
	}
	return lines[max(0, len(lines)-n):]
}

func tableOf(n floor) string {
	var lines []string
	for what, n := range n {
		lines = append(lines, fmt.Sprintf("%8d  %s", n, what))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[10:], b[10:]) })
	return strings.Join(lines, "\n")
}

// usualFloor is the floor of every run under load.
func usualFloor() floor {
	least := floor{
		"upstream " + browse: 10, "upstream " + pulse: 20, "upstream " + search: 5, "upstream " + ceiled: 5,
		"upstream " + details: 10, "upstream " + sealed: 5, "upstream " + order: 20, "upstream " + reserve: 1,
		"RATE_LIMIT_EXCEEDED": 3, "PROOF_REPLAYED": 2, "replayed": 3, "reported captured": 10, "reported released": 1,
	}
	for what := range least {
		least[what] *= floorTimes
	}
	least["revoked"], least["upstream "+lookup] = 2, 5 // these numbers do not grow with the length of the run
	return least
}

// group groups records by a key.
func group[K comparable, T any](list []T, key func(T) K) map[K][]T {
	groups := map[K][]T{}
	for _, v := range list {
		groups[key(v)] = append(groups[key(v)], v)
	}
	return groups
}

func (e *evidence) judgeLogs(breach func(string, ...any)) {
	for name, log := range e.Logs {
		for line := range strings.SplitSeq(log, "\n") {
			if strings.Contains(line, "panic") || strings.Contains(line, "DATA RACE") || strings.Contains(line, "fatal error") {
				breach("%s: %.400s", name, line)
			}
		}
	}
}

// TestEveryJudgeHasAForgery checks that each judge is tested by a forged log.
func TestEveryJudgeHasAForgery(t *testing.T) {
	for _, j := range judges {
		if !slices.ContainsFunc(forgeries, func(f forgery) bool { return f.judge == j.name }) {
			t.Errorf("no forged log tests the judge of %s", j.name)
		}
	}
}
