package soak

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

var forgedDay = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// consistentLogs returns the logs of a small run without any fault.
func consistentLogs() *evidence {
	e := &evidence{Began: forgedDay, Terms: terms(), Unapproved: map[string]bool{"poor": true}, Logs: map[string]string{"a": "starting\n"}}
	at := time.Second
	arrive := func(a attempt, execution string) arrival {
		e.Arrivals = append(e.Arrivals, arrival{
			At: a.Sent + time.Millisecond, Execution: execution, Agent: a.Agent, Token: a.Token, Intent: a.Intent, Ref: a.Ref,
			Serial: len(e.Arrivals) + 1, Effect: effectOf(a.Ref),
		})
		return e.Arrivals[len(e.Arrivals)-1]
	}
	sent := func(agent, intent, ref string) attempt {
		at += 10 * time.Millisecond
		return attempt{
			Ref: ref, Gateway: "a", Agent: agent, Token: agent + "-pat", Intent: intent, Sent: at, Answered: at + 5*time.Millisecond,
			Status: 200,
		}
	}
	reported := func(a attempt) { e.Attempts = append(e.Attempts, a) }
	for i := range 10 { // the limit is 8 per second
		a := sent("busy", search, fmt.Sprintf("search-%d.works", i))
		if i < 8 {
			a.Serial = arrive(a, a.Ref).Serial
		} else {
			a.Status, a.Reason, a.RetryAfter = 429, "RATE_LIMIT_EXCEEDED", "1"
		}
		reported(a)
	}
	for i, how := range []string{"works", "works", "fails", "breaks", "works"} {
		id := fmt.Sprintf("x%d", i)
		a := sent("buyer", order, fmt.Sprintf("order-%d.%s", i, how))
		a.Key = "key-" + a.Ref
		if i == 4 { // the gateway was killed: the outcome is unknown
			a.Lost, a.Status = true, 0
			arrive(a, id)
			reported(a)
			e.charge(id, a, store.Held)
			continue
		}
		a.Execution, a.Serial = id, arrive(a, id).Serial
		switch how {
		case "works":
			a.Charge = "captured"
			e.charge(id, a, store.Held, store.Captured)
		case "fails":
			a.Status, a.Reason, a.Outcome, a.Charge, a.Serial = 502, "UPSTREAM_ERROR", "failed", "released", 0
			e.charge(id, a, store.Held, store.Released)
		case "breaks":
			a.Status, a.Reason, a.Outcome, a.Charge, a.Serial = 502, "UPSTREAM_ERROR", "unknown", "pending", 0
			e.charge(id, a, store.Held, store.Unresolved)
		}
		reported(a)
		if i == 1 {
			again := a
			again.Sent, again.Answered, again.Replayed = at+6*time.Millisecond, at+8*time.Millisecond, true
			reported(again)
		}
	}
	for i := range 3 {
		a := sent("victim", details, fmt.Sprintf("victim-%d.works", i))
		if i == 2 {
			a.Sent += 2 * time.Second
			a.Answered += 2 * time.Second
			a.Status, a.Reason = 401, "REVOKED_TOKEN"
		} else {
			a.Serial = arrive(a, a.Ref).Serial
		}
		reported(a)
	}
	e.Endings = []revocation{{Agent: "victim", Token: "victim-pat", Requested: at, Answered: at + time.Millisecond}}
	e.Freezes = []freeze{{"b", 10 * time.Second, 12 * time.Second}}
	e.Outages = []outage{{"a", 20 * time.Second, 30 * time.Second}}
	e.Probes = []probe{
		{"a", 15 * time.Second, 16 * time.Second, 200},
		{"a", 25 * time.Second, 26 * time.Second, 503},
		{"a", 35 * time.Second, 36 * time.Second, 200},
	}
	return e
}

// charge records an execution that passed through these states.
func (e *evidence) charge(id string, a attempt, states ...store.State) {
	amount := prices[a.Intent]
	e.Executions = append(e.Executions, store.Execution{
		ID: id, AgentID: pat.AgentID(a.Agent), Intent: a.Intent, Charge: amount,
		State: states[len(states)-1], BeganAt: e.Began.Add(a.Sent), Deadline: e.Began.Add(a.Sent + time.Minute),
	})
	var was store.State
	for _, s := range states {
		e.Ledger = append(e.Ledger,
			store.Entry{Seq: int64(len(e.Ledger) + 1), AgentID: pat.AgentID(a.Agent), ExecutionID: id, Amount: amount, From: was, To: s})
		was = s
	}
	i := slices.IndexFunc(e.Accounts, func(x store.Account) bool { return x.AgentID == pat.AgentID(a.Agent) })
	if i < 0 {
		i = len(e.Accounts)
		e.Accounts = append(e.Accounts, store.Account{
			AgentID: pat.AgentID(a.Agent), Currency: amount.Currency,
			Held: money.Amount{Currency: amount.Currency}, Captured: money.Amount{Currency: amount.Currency},
		})
	}
	switch {
	case open(was):
		e.Accounts[i].Held.Nano += amount.Nano
	case was == store.Captured:
		e.Accounts[i].Captured.Nano += amount.Nano
	}
}

func (e *evidence) attempt(ref string) *attempt {
	return &e.Attempts[slices.IndexFunc(e.Attempts, func(a attempt) bool { return a.Ref == ref })]
}

func (e *evidence) arrival(ref string) *arrival {
	return &e.Arrivals[slices.IndexFunc(e.Arrivals, func(a arrival) bool { return a.Ref == ref })]
}

func (e *evidence) drop(ref string) {
	e.Arrivals = slices.DeleteFunc(e.Arrivals, func(a arrival) bool { return a.Ref == ref })
}

// again records a second arrival of the same request.
func (e *evidence) again(ref string, change func(*arrival)) {
	a := *e.arrival(ref)
	a.Serial = len(e.Arrivals) + 1
	change(&a)
	e.Arrivals = append(e.Arrivals, a)
}

// A forgery is a change to consistent logs that a judge must detect.
type forgery struct {
	name, judge string
	change      func(e *evidence)
}

var forgeries = []forgery{
	{"one call over the limit", "limits", func(e *evidence) {
		a := *e.attempt("search-7.works")
		a.Ref = "search-more.works"
		e.Attempts = append(e.Attempts, a)
		e.again("search-7.works", func(b *arrival) { b.Ref, b.Execution = a.Ref, "more" })
	}},
	{"one call over the limit that only the agent recorded", "limits", func(e *evidence) {
		a := e.attempt("search-8.works")
		a.Status, a.Reason = 200, ""
	}},
	{"units of a window used again too soon", "limits", func(e *evidence) {
		for i := range 2 { // 900 ms after the first
			a := *e.attempt("search-0.works")
			a.Ref, a.Sent, a.Answered = fmt.Sprintf("soon-%d.works", i), a.Sent+900*time.Millisecond, a.Answered+900*time.Millisecond
			e.Attempts = append(e.Attempts, a)
			e.again("search-0.works", func(b *arrival) { b.Ref, b.Execution, b.At = a.Ref, a.Ref, b.At+900*time.Millisecond })
		}
	}},
	{"a repeated attempt that was not counted", "limits", func(e *evidence) { e.again("search-7.works", func(*arrival) {}) }},
	{"all agents together over a ceiling", "limits", func(e *evidence) {
		for i := range 61 {
			a := attempt{
				Ref: fmt.Sprintf("c-%d.works", i), Agent: fmt.Sprint(i), Intent: ceiled, Sent: time.Second, Answered: time.Minute,
				Status: 200,
			}
			e.Attempts = append(e.Attempts, a)
			e.Arrivals = append(e.Arrivals, arrival{At: 2 * time.Second, Agent: a.Agent, Intent: ceiled, Ref: a.Ref, Execution: a.Ref})
		}
	}},
	{"all agents together over a ceiling, outside the lost period", "limits", func(e *evidence) {
		e.Lacking = span{20 * time.Second, 30 * time.Second}
		for i := range 62 {
			at := time.Second + time.Duration(i%2)*30*time.Second
			if i == 61 {
				at = 25 * time.Second // in the lost period, so it does not count
			}
			a := attempt{Ref: fmt.Sprintf("c-%d.works", i), Agent: fmt.Sprint(i), Intent: ceiled, Sent: at, Answered: at, Status: 200}
			e.Attempts = append(e.Attempts, a)
			e.Arrivals = append(e.Arrivals, arrival{At: at, Agent: a.Agent, Intent: ceiled, Ref: a.Ref, Execution: a.Ref})
		}
	}},
	{"an expired unit used when a stopped gateway continues", "limits", func(e *evidence) {
		for i := range 10 {
			a := attempt{
				Ref: fmt.Sprintf("dead-%d.works", i), Gateway: "b", Agent: "busy", Intent: search,
				Sent: 9900*time.Millisecond + time.Duration(i), Lost: true,
			}
			b := arrival{At: 12010 * time.Millisecond, Agent: a.Agent, Intent: search, Ref: a.Ref, Execution: a.Ref}
			if i == 9 { // a call of another gateway shows that the upstream was responsive
				a.Gateway, a.Sent, b.At = "a", 11*time.Second, 11010*time.Millisecond
			}
			e.Attempts, e.Arrivals = append(e.Attempts, a), append(e.Arrivals, b)
		}
		a := attempt{Ref: "alive.works", Gateway: "a", Agent: "busy", Intent: search, Sent: 12100 * time.Millisecond, Lost: true}
		e.Attempts = append(e.Attempts, a)
		e.Arrivals = append(e.Arrivals, arrival{At: 12110 * time.Millisecond, Agent: a.Agent, Intent: search, Ref: a.Ref, Execution: a.Ref})
	}},
	{"a call that no agent made", "calls", func(e *evidence) {
		e.again("search-0.works", func(a *arrival) { a.Ref, a.Execution = "unsent.works", "n" })
	}},
	{"a call with another PAT", "calls", func(e *evidence) { e.arrival("search-0.works").Token = "other" }},
	{"a call executed twice", "calls", func(e *evidence) { e.again("victim-0.works", func(a *arrival) { a.Execution = "n" }) }},
	{"a charged call sent twice", "calls", func(e *evidence) { e.again("order-0.works", func(*arrival) {}) }},
	{"a response without an upstream request", "calls", func(e *evidence) { e.drop("search-0.works") }},
	{"the response of another call", "calls", func(e *evidence) { e.attempt("search-0.works").Serial = 3 }},
	{"a refused call that reached the upstream", "calls", func(e *evidence) {
		e.again("search-0.works", func(a *arrival) { a.Ref, a.Execution, a.At = "search-9.works", "n", e.attempt("search-9.works").Sent+1 })
	}},
	{"a lost record", "charges", func(e *evidence) { e.Executions = slices.Delete(e.Executions, 0, 1) }},
	{"a lost record of a call without a response", "charges", func(e *evidence) { e.Executions = e.Executions[:4] }},
	{"a record with a different amount", "charges", func(e *evidence) { e.Executions[0].Charge.Nano *= 2 }},
	{"released although done", "charges", func(e *evidence) { e.Executions[4].State = store.Released }},
	{"captured although failed", "charges", func(e *evidence) { e.Executions[2].State = store.Captured }},
	{"captured although the outcome is unknown", "charges", func(e *evidence) { e.Executions[3].State = store.Captured }},
	{"reported captured, but still open", "charges", func(e *evidence) { e.Executions[0].State = store.Unresolved }},
	{"two executions under one key", "charges", func(e *evidence) {
		a := *e.attempt("order-0.works")
		a.Execution = "x1"
		e.Attempts = append(e.Attempts, a)
	}},
	{"a charge without a call", "charges", func(e *evidence) { e.charge("x9", *e.attempt("order-0.works"), store.Held, store.Captured) }},
	{"charges left open without a reason", "charges", func(e *evidence) {
		for i := range 5 {
			e.charge(fmt.Sprintf("x9%d", i), *e.attempt("order-0.works"), store.Held)
		}
	}},
	{"a charge that was not reported", "charges", func(e *evidence) {
		for _, a := range []string{"order-0.works"} {
			e.attempt(a).Charge, e.attempt(a).Execution = "", ""
		}
	}},
	{"a lost entry", "ledger", func(e *evidence) { e.Ledger = e.Ledger[1:] }},
	{"the last entry is lost", "ledger", func(e *evidence) { e.Ledger = e.Ledger[:len(e.Ledger)-1] }},
	{"captured twice", "ledger", func(e *evidence) {
		x := e.Ledger[1]
		x.Seq = 100
		e.Ledger = append(e.Ledger, x)
	}},
	{"an account with less captured", "ledger", func(e *evidence) { e.Accounts[0].Captured.Nano-- }},
	{"an account with more held", "ledger", func(e *evidence) { e.Accounts[0].Held.Nano++ }},
	{"unresolved before its deadline", "deadlines", func(e *evidence) {
		e.Ledger[len(e.Ledger)-2].By = "sweeper"
		e.Ledger[len(e.Ledger)-2].At = e.Began
	}},
	{"begun by a fast clock", "charges", func(e *evidence) { e.Executions[0].BeganAt = e.Executions[0].BeganAt.Add(5 * time.Second) }},
	{
		"begun by a slow clock", "charges",
		func(e *evidence) { e.Executions[0].BeganAt = e.Executions[0].BeganAt.Add(-5 * time.Second) },
	},
	{"out of balance", "ledger", func(e *evidence) { e.Unbalanced = store.ErrUnbalanced }},
	{"no account", "ledger", func(e *evidence) { e.Accounts = nil }},
	{"an agent owes too much", "credit", func(e *evidence) {
		for i := range 11 {
			e.charge(fmt.Sprint("c", i), attempt{Agent: "rich", Intent: reserve}, store.Held)
		}
	}},
	{"an unapproved agent owes too much", "credit", func(e *evidence) {
		for i := range 7 {
			e.charge(fmt.Sprint("c", i), attempt{Agent: "poor", Intent: reserve}, store.Held)
		}
	}},
	{"unapproved agents together owe too much", "credit", func(e *evidence) {
		e.Unapproved["poorer"] = true
		for i := range 11 {
			e.charge(fmt.Sprint("c", i), attempt{Agent: []string{"poor", "poorer"}[i%2], Intent: reserve}, store.Held)
		}
	}},
	{"accepted long after the revocation", "revocations", func(e *evidence) {
		a := e.attempt("victim-2.works")
		a.Status, a.Reason = 200, ""
	}},
	{"forwarded long after the revocation although refused", "revocations", func(e *evidence) {
		e.again("victim-0.works", func(a *arrival) { a.Ref, a.At = "victim-2.works", e.attempt("victim-2.works").Sent })
	}},
	{"forwarded after a long wait", "revocations", func(e *evidence) {
		e.arrival("victim-0.works").At = e.Endings[0].Answered + notSentAfter + time.Millisecond
	}},
	{"refused before the revocation", "answers", func(e *evidence) { e.Endings[0].Requested += time.Hour }},
	{"an internal error", "answers", func(e *evidence) {
		a := e.attempt("search-0.works")
		a.Status, a.Reason = 500, "INTERNAL"
	}},
	{"a limit without Retry-After", "answers", func(e *evidence) { e.attempt("search-9.works").RetryAfter = "" }},
	{"an unavailable store without Retry-After", "answers", func(e *evidence) {
		a := e.attempt("search-9.works")
		a.Status, a.Reason, a.RetryAfter, a.Outcome = 503, "STORE_UNAVAILABLE", "", "not_sent"
	}},
	{"an unused envelope refused as replayed", "answers", func(e *evidence) {
		a := e.attempt("search-9.works")
		a.Status, a.Reason, a.RetryAfter, a.Way = 403, "PROOF_REPLAYED", "", wayEnvelope
	}},
	{"success although the upstream failed", "answers", func(e *evidence) {
		a := e.attempt("order-2.fails")
		a.Status, a.Reason = 200, ""
	}},
	{"ready without a store", "readiness", func(e *evidence) { e.Probes[1].Status = 200 }},
	{"accepted without a store", "readiness", func(e *evidence) {
		a := e.attempt("search-0.works")
		a.Sent, a.Answered = 25*time.Second, 26*time.Second
	}},
	{"accepted, but never answered", "replies", func(e *evidence) {
		a := e.attempt("order-4.works")
		a.Taken, a.Lost, a.Status = true, true, 0
	}},
	{"reported done in bytes, but released", "charges", func(e *evidence) {
		a := e.attempt("order-0.works")
		a.Way, a.Execution, a.Charge = wayBytes, "", ""
		e.Executions[0].State = store.Released
	}},
	{"a panic", "logs", func(e *evidence) { e.Logs["a"] += `{"level":"error","msg":"panic"}` }},
}

func TestNoBreachInConsistentLogs(t *testing.T) {
	for _, found := range consistentLogs().judge() {
		t.Error(found)
	}
}

// A gateway begins charged calls, is stopped, and forwards them when it continues.
func TestCallsBegunBeforeAStop(t *testing.T) {
	e := consistentLogs()
	e.Freezes = append(e.Freezes, freeze{"b", 13 * time.Second, 16 * time.Second})
	for i := range 4 {
		a := attempt{
			Ref: fmt.Sprintf("stopped-%d.works", i), Gateway: "b", Agent: "buyer", Token: "buyer-pat", Intent: order,
			Sent: 12900*time.Millisecond + time.Duration(i)*time.Millisecond, Lost: true,
		}
		at := 16010 * time.Millisecond
		if i == 3 { // a call of another gateway shows that the upstream was responsive
			a.Gateway, a.Sent, at = "a", 14*time.Second, 14010*time.Millisecond
		}
		id := "stopped-" + a.Ref
		e.Attempts = append(e.Attempts, a)
		e.Arrivals = append(e.Arrivals, arrival{
			At: at, Execution: id, Agent: a.Agent, Token: a.Token, Intent: order, Ref: a.Ref, Serial: 100 + i, Effect: effectDone,
		})
		e.charge(id, a, store.Held)
	}
	for _, found := range e.judge() {
		t.Error(found)
	}
}

func TestForgedLogsAreDetected(t *testing.T) {
	for _, f := range forgeries {
		t.Run(f.name, func(t *testing.T) {
			e := consistentLogs()
			f.change(e)
			found := e.judge()
			if !slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, f.judge+": ") }) {
				t.Errorf("the judge of %s missed it; found: %q", f.judge, found)
			}
		})
	}
}
