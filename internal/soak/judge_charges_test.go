package soak

import (
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
)

// clockError is how far the store's clock may be from that of the test; replicas' clocks are set off by more.
const clockError = 2 * time.Second

// open reports whether nobody can say yet how an execution ended.
func open(s store.State) bool { return s == store.Held || s == store.Unresolved }

// judgeCharges: what reached the upstream has one record, which says what the upstream did; what agents were told is
// what the record says; and what they were not told they had no way to be told.
func (e *evidence) judgeCharges(breach func(string, ...any)) {
	records := map[string]store.Execution{}
	sent := e.earliest()
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
			breach("execution %s (%s) reached the upstream, and has no record", a.Execution, a.Ref)
		case x.Charge != price || string(x.AgentID) != a.Agent || x.Intent != a.Intent:
			breach("execution %s: recorded as %s of %s for %s", a.Execution, x.Intent, x.AgentID, x.Charge)
		case x.BegunAt.After(e.Began.Add(a.At+clockError)) || x.BegunAt.Before(e.Began.Add(sent(a)-clockError)):
			breach("execution %s began at %s by the store, and reached the upstream at %s", a.Execution, x.BegunAt, e.Began.Add(a.At))
		case !fits(a.Effect, x.State):
			breach("execution %s is %s; the upstream %s", a.Execution, x.State, a.Effect)
		}
	}
	told := e.judgeTold(records, breach)
	e.judgeUntold(records, arrived, told, breach)
}

// fits reports whether a record may stand so, given what the upstream did.
func fits(did effect, s store.State) bool {
	switch {
	case open(s): // the gateway may have been killed before it knew, or given up waiting
		return true
	case did == works:
		return s == store.Captured
	case did == breaks || did == lingers:
		return false
	default:
		return s == store.Released
	}
}

// judgeTold holds what agents were told of charges against the records. It returns the executions they know of as captured.
func (e *evidence) judgeTold(records map[string]store.Execution, breach func(string, ...any)) map[string]bool {
	captured, byKey := map[string]bool{}, map[string]string{}
	for _, a := range e.Attempts {
		if a.Charge == "" {
			if a.Status == 200 && !prices[a.Intent].IsZero() {
				breach("%s was answered without a word of its charge", a.Ref)
			}
			continue
		}
		x := records[a.Execution]
		switch {
		case prices[a.Intent].IsZero():
			breach("%s is free, and was charged", a.Ref)
		case x.ID == "":
			breach("%s was told of execution %s, which has no record", a.Ref, a.Execution)
		case a.Charge == "pending":
		case a.Charge != string(x.State):
			breach("%s: the agent was told %s, the record says %s", a.Ref, a.Charge, x.State)
		}
		captured[a.Execution] = captured[a.Execution] || a.Charge == "captured"
		if key := a.Agent + " " + a.Key; a.Key != "" {
			if byKey[key] != "" && byKey[key] != a.Execution {
				breach("two executions under the key %s: %s and %s", a.Key, byKey[key], a.Execution)
			}
			byKey[key] = a.Execution
		}
	}
	return captured
}

// judgeUntold: a charge that no agent was told of belongs to a call of which some answer was lost or left open.
func (e *evidence) judgeUntold(records map[string]store.Execution, arrived map[string]arrival, told map[string]bool, breach func(string, ...any)) {
	attempts := group(e.Attempts, func(a attempt) string { return a.Ref })
	untold := map[string]int{} // agent → charges that never reached the upstream and are not settled
	for id, x := range records {
		a, reached := arrived[id]
		switch {
		case x.Charge.IsZero() || told[id]:
		case reached && !slices.ContainsFunc(attempts[a.Ref], uncertain):
			breach("execution %s (%s) is %s, and every answer to it was something else", id, a.Ref, x.State)
		case x.State == store.Captured && !reached:
			breach("execution %s was charged, and never reached the upstream", id)
		case open(x.State) && !reached:
			untold[string(x.AgentID)]++
		}
	}
	unanswered := map[string]int{}
	for _, a := range e.Attempts {
		if !prices[a.Intent].IsZero() && uncertain(a) {
			unanswered[a.Agent]++
		}
	}
	for agent, n := range untold {
		if n > unanswered[agent] {
			breach("%d charges of %s are left open that never reached the upstream; %d of its calls were not answered", n, agent, unanswered[agent])
		}
	}
}

// uncertain reports whether the agent knows from this answer that it does not know. A 503 says that nothing was done, but
// the store may have written down the beginning of the call and then been gone.
func uncertain(a attempt) bool {
	return a.Lost || a.Charge != "" && a.Charge != "captured" || a.Status == 503
}

// judgeLedger: every charge moves as it must, the ledger ends where the records stand, and the accounts are its sums.
func (e *evidence) judgeLedger(breach func(string, ...any)) {
	at := map[string]store.State{}
	amounts := map[string]money.Amount{}
	entries := slices.SortedFunc(slices.Values(e.Ledger), func(a, b store.Entry) int { return int(a.Seq - b.Seq) })
	for _, x := range entries {
		if x.ExecutionID == "" {
			continue // a top-up
		}
		if was, known := at[x.ExecutionID]; was != x.From || known == (x.From == "") {
			breach("entry %d moves %s from %q to %q, which was %q", x.Seq, x.ExecutionID, x.From, x.To, was)
		}
		if amount, known := amounts[x.ExecutionID]; known && amount != x.Amount {
			breach("entry %d is of %s; %s began with %s", x.Seq, x.Amount, x.ExecutionID, amount)
		}
		at[x.ExecutionID], amounts[x.ExecutionID] = x.To, x.Amount
	}
	if e.Unbalanced != nil {
		breach("%v", e.Unbalanced)
	}
	e.judgeSweeper(breach)
	held, captured := map[string]int64{}, map[string]int64{}
	for _, x := range e.Executions {
		if x.Charge.IsZero() {
			continue
		}
		if at[x.ID] != x.State || amounts[x.ID] != x.Charge {
			breach("execution %s is %s for %s; its ledger says %q for %s", x.ID, x.State, x.Charge, at[x.ID], amounts[x.ID])
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
			breach("the account of %s has %s held and %s captured; its ledger sums up to %d and %d", account, a.Held, a.Captured, held[account], captured[account])
		}
		delete(held, account)
		delete(captured, account)
	}
	for account, nano := range captured {
		breach("%s was charged %d and has no account", account, nano)
	}
	for account, nano := range held {
		breach("%s has %d held and no account", account, nano)
	}
}

// judgeSweeper: no call is given up before its deadline, by the store's clock.
func (e *evidence) judgeSweeper(breach func(string, ...any)) {
	deadlines := map[string]time.Time{}
	for _, x := range e.Executions {
		deadlines[x.ID] = x.Deadline
	}
	for _, x := range e.Ledger {
		if x.By == "sweeper" && x.At.Before(deadlines[x.ExecutionID]) {
			breach("entry %d gives %s up at %s, before its deadline", x.Seq, x.ExecutionID, x.At)
		}
	}
}

// judgeCredit: at no time did an agent owe more than its credit, nor all unapproved agents together.
func (e *evidence) judgeCredit(breach func(string, ...any)) {
	owed := map[string]int64{}
	entries := slices.SortedFunc(slices.Values(e.Ledger), func(a, b store.Entry) int { return int(a.Seq - b.Seq) })
	for _, x := range entries {
		if x.ExecutionID == "" {
			continue
		}
		who := []string{string(x.AgentID)}
		if e.Unapproved[string(x.AgentID)] {
			who = append(who, "all unapproved agents")
		}
		for _, who := range who {
			switch {
			case x.From == "":
				owed[who] += x.Amount.Nano
			case x.To == store.Released:
				owed[who] -= x.Amount.Nano
			}
			if owed[who] > credit.Nano {
				breach("entry %d: %s owe(s) %d of at most %d", x.Seq, who, owed[who], credit.Nano)
			}
		}
	}
}
