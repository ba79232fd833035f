package soak

import (
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
)

// clockError is the maximum difference between the clock of the store and that of the test. The clocks of replicas may differ by more.
const clockError = 2 * time.Second

// open reports whether the outcome of an execution is still unknown.
func open(s store.State) bool { return s == store.Held || s == store.Unresolved }

// judgeCharges checks that each charged call that reached the upstream has one record that agrees with the upstream, that the responses to
// agents agree with the records, and that a charge was left unreported only if it could not be reported.
func (e *evidence) judgeCharges(breach func(string, ...any)) {
	records := map[string]store.Execution{}
	sent := e.firstSent()
	for _, x := range e.Executions {
		if _, twice := records[x.ID]; twice {
			breach("execution %s is listed twice", x.ID)
		}
		records[x.ID] = x
	}
	arrived := map[string]arrival{}
	for _, a := range e.Arrivals {
		price, x := prices[a.Intent], records[a.Execution]
		if price.IsZero() {
			continue
		}
		if _, twice := arrived[a.Execution]; twice {
			breach("execution %s reached the upstream twice", a.Execution)
		}
		arrived[a.Execution] = a
		switch {
		case x.ID == "":
			breach("execution %s (%s) reached the upstream, but has no record", a.Execution, a.Ref)
		case x.Charge != price || string(x.AgentID) != a.Agent || x.Intent != a.Intent:
			breach("execution %s: recorded as %s of %s for %s", a.Execution, x.Intent, x.AgentID, x.Charge)
		case x.BeganAt.After(e.Began.Add(a.At+clockError)) || x.BeganAt.Before(e.Began.Add(sent[a.Ref]-clockError)):
			breach("execution %s began at %s according to the store, but reached the upstream at %s", a.Execution, x.BeganAt, e.Began.Add(a.At))
		case !fits(a.Effect, x.State):
			breach("execution %s is %s, but the effect of the upstream was %s", a.Execution, x.State, a.Effect)
		}
	}
	reported := e.judgeReported(records, arrived, breach)
	e.judgeUnreported(records, arrived, reported, breach)
}

// firstSent returns when each call was first sent. A gateway may have begun a call before it was stopped, and forwarded it when it
// continued: the record is then as old as the first attempt.
func (e *evidence) firstSent() map[string]time.Duration {
	first := map[string]time.Duration{}
	for _, a := range e.Attempts {
		if was, known := first[a.Ref]; !known || a.Sent < was {
			first[a.Ref] = a.Sent
		}
	}
	return first
}

// fits reports whether a record may have this state, given the effect of the upstream.
func fits(did effect, s store.State) bool {
	switch {
	case open(s): // the gateway may have been killed before the outcome, or have stopped waiting
		return true
	case did == effectDone:
		return s == store.Captured
	case did == effectBrokenAnswer || did == effectNoAnswer:
		return false
	default:
		return s == store.Released
	}
}

// judgeReported compares the charges in responses to agents with the records. It returns the executions that were reported as captured.
func (e *evidence) judgeReported(records map[string]store.Execution, arrived map[string]arrival,
	breach func(string, ...any),
) map[string]bool {
	captured, byKey := map[string]bool{}, map[string]string{}
	executions := map[int]string{}
	for id, a := range arrived {
		executions[a.Serial] = id
	}
	for _, a := range e.Attempts {
		if id := executions[a.Serial]; a.Way == wayBytes && a.Status == 200 && id != "" { // the answer is the output of a paid call
			a.Execution, a.Charge = id, "captured"
		}
		if a.Charge == "" {
			if a.Status == 200 && !prices[a.Intent].IsZero() {
				breach("%s was answered without its charge", a.Ref)
			}
			continue
		}
		x := records[a.Execution]
		switch {
		case prices[a.Intent].IsZero():
			breach("%s is free, but was charged", a.Ref)
		case x.ID == "":
			breach("%s was reported as execution %s, which has no record", a.Ref, a.Execution)
		case a.Charge == "pending":
		case a.Charge != string(x.State):
			breach("%s was reported as %s, but its record is %s", a.Ref, a.Charge, x.State)
		}
		captured[a.Execution] = captured[a.Execution] || a.Charge == "captured"
		if _, sent := arrived[x.ID]; !sent && x.State == store.Released && x.Outcome == store.NotSent {
			continue // its commit was not confirmed; once it is undone, the key can be used again
		}
		if key := a.Agent + " " + a.Key; a.Key != "" {
			if byKey[key] != "" && byKey[key] != a.Execution {
				breach("two executions under the key %s: %s and %s", a.Key, byKey[key], a.Execution)
			}
			byKey[key] = a.Execution
		}
	}
	return captured
}

// judgeUnreported checks that a charge that was not reported to any agent belongs to a call with a lost or uncertain response.
func (e *evidence) judgeUnreported(records map[string]store.Execution, arrived map[string]arrival, reported map[string]bool,
	breach func(string, ...any),
) {
	attempts := group(e.Attempts, func(a attempt) string { return a.Ref })
	unreported := map[string]int{} // agent → charges that never reached the upstream and are not settled
	for id, x := range records {
		a, reached := arrived[id]
		switch {
		case x.Charge.IsZero() || reported[id]:
		case reached && !slices.ContainsFunc(attempts[a.Ref], uncertain):
			breach("execution %s (%s) is %s, but every response to it states otherwise", id, a.Ref, x.State)
		case x.State == store.Captured && !reached:
			breach("execution %s was charged, but never reached the upstream", id)
		case open(x.State) && !reached:
			unreported[string(x.AgentID)]++
		}
	}
	unanswered := map[string]int{}
	for _, a := range e.Attempts {
		if !prices[a.Intent].IsZero() && uncertain(a) {
			unanswered[a.Agent]++
		}
	}
	for agent, n := range unreported {
		if n > unanswered[agent] {
			breach("%d open charges of %s never reached the upstream, but only %d of its calls were not answered", n, agent, unanswered[agent])
		}
	}
}

// uncertain reports whether a response leaves the outcome unknown. A 503 means that the call was not executed, but the store may have
// failed after it had committed the begin of the call.
func uncertain(a attempt) bool {
	return a.Lost || a.Charge != "" && a.Charge != "captured" || a.Status == 503
}

// judgeLedger checks that every charge goes through permitted states, that its last state in the ledger is that of its record, and that
// the accounts are the sums over the ledger.
func (e *evidence) judgeLedger(breach func(string, ...any)) {
	at := map[string]store.State{}
	amounts := map[string]money.Amount{}
	entries := slices.SortedFunc(slices.Values(e.Ledger), func(a, b store.Entry) int { return int(a.Seq - b.Seq) })
	for _, x := range entries {
		if x.ExecutionID == "" {
			continue // a top-up
		}
		if was, known := at[x.ExecutionID]; was != x.From || known == (x.From == "") {
			breach("entry %d moves %s from %q to %q, but its state was %q", x.Seq, x.ExecutionID, x.From, x.To, was)
		}
		if amount, known := amounts[x.ExecutionID]; known && amount != x.Amount {
			breach("entry %d has the amount %s, but %s began with %s", x.Seq, x.Amount, x.ExecutionID, amount)
		}
		at[x.ExecutionID], amounts[x.ExecutionID] = x.To, x.Amount
	}
	if e.Unbalanced != nil {
		breach("%v", e.Unbalanced)
	}
	held, captured := map[string]int64{}, map[string]int64{}
	for _, x := range e.Executions {
		if x.Charge.IsZero() {
			continue
		}
		if at[x.ID] != x.State || amounts[x.ID] != x.Charge {
			breach("execution %s is %s for %s, but in the ledger it is %q for %s", x.ID, x.State, x.Charge, at[x.ID], amounts[x.ID])
		}
		delete(at, x.ID)
		switch account := string(x.AgentID) + " " + x.Charge.Currency; {
		case x.State == store.Captured:
			captured[account] += x.Charge.Nano
		case open(x.State):
			held[account] += x.Charge.Nano
		}
	}
	for id := range at {
		breach("the ledger has %s, which has no record", id)
	}
	for _, a := range e.Accounts {
		account := string(a.AgentID) + " " + a.Currency
		if a.Held.Nano != held[account] || a.Captured.Nano != captured[account] {
			breach("the account of %s has %s held and %s captured, but its ledger adds up to %d and %d", account, a.Held, a.Captured, held[account],
				captured[account])
		}
		delete(held, account)
		delete(captured, account)
	}
	for account, nano := range captured {
		breach("%s was charged %d, but has no account", account, nano)
	}
	for account, nano := range held {
		breach("%s has %d held, but has no account", account, nano)
	}
}

// judgeSweeper checks that no call becomes unresolved before its deadline, by the clock of the store.
func (e *evidence) judgeSweeper(breach func(string, ...any)) {
	deadlines := map[string]time.Time{}
	for _, x := range e.Executions {
		deadlines[x.ID] = x.Deadline
	}
	for _, x := range e.Ledger {
		if x.By == "sweeper" && x.At.Before(deadlines[x.ExecutionID]) {
			breach("entry %d makes %s unresolved at %s, before its deadline", x.Seq, x.ExecutionID, x.At)
		}
	}
}

// judgeCredit checks that no agent ever owed more than its credit, and that all unapproved agents together never owed more than the credit
// plus the faded part.
func (e *evidence) judgeCredit(breach func(string, ...any)) {
	owed := map[string]int64{}
	entries := slices.SortedFunc(slices.Values(e.Ledger), func(a, b store.Entry) int { return int(a.Seq - b.Seq) })
	for _, x := range entries {
		if x.ExecutionID == "" {
			continue
		}
		most := map[string]int64{string(x.AgentID): credit.Nano}
		if e.Unapproved[string(x.AgentID)] {
			faded := credit.Nano / int64(store.PoolFades/time.Second) * (int64(x.At.Sub(entries[0].At)/time.Second) + 1)
			most = map[string]int64{string(x.AgentID): newcomers.Nano, "all unapproved agents": credit.Nano + faded}
		}
		for debtor, most := range most {
			switch {
			case x.From == "":
				owed[debtor] += x.Amount.Nano
			case x.To == store.Released:
				owed[debtor] -= x.Amount.Nano
			}
			if owed[debtor] > most {
				breach("entry %d: the debt of %s is %d, more than %d", x.Seq, debtor, owed[debtor], most)
			}
		}
	}
}
