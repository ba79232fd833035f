package evidence

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// maxProblems is the maximum number of problems that a Chain stores. Further problems are only counted.
const maxProblems = 1000

// A Chain checks the entries of one account, which can be added in any order. It needs memory for each call that has not ended and for each
// run of entries without a gap, and 16 bytes for each entry. It does not verify signatures.
//
//	chain := evidence.NewChain(account)
//	for … { chain.Add(receipt.Entry, receipt.Leaf) }
//	summary := chain.Finish(false)
//	problems := chain.Problems()
type Chain struct {
	account  Account
	runs     map[int64]*run   // by the number of the first entry
	ends     map[int64]*run   // by the number of the last entry
	prints   map[int64]uint64 // the first bytes of the leaf hash of each entry
	cuts     map[int64]carryPosition
	problems []Problem
	more     int
}

// A carryPosition is the position after an entry, according to a carry.
type carryPosition struct {
	through Through
	sums    Sums
	by      int64 // the number of the carry
}

// NewChain returns a Chain for the entries of an account.
func NewChain(account Account) *Chain {
	return &Chain{
		account: account, runs: map[int64]*run{}, ends: map[int64]*run{}, prints: map[int64]uint64{}, cuts: map[int64]carryPosition{},
	}
}

// Problems returns at most 1000 of the problems that were found, and the number of the others.
func (c *Chain) Problems() (list []Problem, more int) { return slices.Clone(c.problems), c.more }

func (c *Chain) report(name ProblemName, k int64, format string, args ...any) {
	if len(c.problems) == maxProblems {
		c.more++
		return
	}
	c.problems = append(c.problems, Problem{name, c.Where(k), fmt.Sprintf(format, args...)})
}

// Where returns the name of an entry in problems: the currency of the account and the number of the entry.
func (c *Chain) Where(k int64) string { return c.account.Currency + " " + strconv.FormatInt(k, 10) }

// Expect announces a carry, which states the sums of the entries before it. A caller that has these entries must call Expect before it adds
// them. Otherwise, the sums are compared only if the entries are added after the carry or are missing.
func (c *Chain) Expect(carry Entry) {
	if t := carry.Through; t != nil && carry.Sums != nil {
		c.cuts[t.K] = carryPosition{*t, *carry.Sums, carry.K}
	}
}

// Add adds an entry with its leaf hash. The entry must come from ParseEntry or ParseReceipt.
func (c *Chain) Add(e Entry, leaf Hash) {
	if e.Account != c.account || !e.chained() {
		c.report(ProblemAgreement, e.K, "the entry is not of this account")
		return
	}
	mark := binary.BigEndian.Uint64(leaf[:])
	if had, twice := c.prints[e.K]; twice {
		if had == mark {
			c.report(ProblemDuplicate, e.K, "the entry occurs twice")
		} else {
			c.report(ProblemFork, e.K, "there are two entries with this number")
		}
		return
	}
	c.prints[e.K] = mark
	if e.Kind == KindCarry {
		c.addCarry(e)
	}
	r := c.newRun(e, leaf)
	if after := c.runs[e.K+1]; after != nil && !c.cut(e.K) {
		c.drop(after)
		r = c.join(r, after)
	}
	if before := c.ends[e.K-1]; before != nil && !c.cut(e.K-1) {
		c.drop(before)
		r = c.join(before, r)
	}
	c.runs[r.from], c.ends[r.to] = r, r
}

func (c *Chain) cut(k int64) bool {
	_, is := c.cuts[k]
	return is
}

func (c *Chain) drop(r *run) {
	delete(c.runs, r.from)
	delete(c.ends, r.to)
}

// addCarry compares a carry with the known entries that it replaces.
func (c *Chain) addCarry(e Entry) {
	t := e.Through
	switch {
	case t == nil && e.K > 0:
		c.report(ProblemGap, e.K, "the carry does not name the last entry that it replaces")
	case t != nil && t.K >= e.K:
		c.report(ProblemOrder, e.K, "the carry replaces entries that come after it")
	case t != nil:
		if had, known := c.prints[t.K]; known && had != binary.BigEndian.Uint64(t.Hash[:]) {
			c.report(ProblemFork, e.K, "the carry replaces another entry %d", t.K)
		}
		if c.ends[t.K] != nil || c.prints[t.K] == 0 {
			c.Expect(e)
		}
	}
}

// A Summary describes the entries that a Chain has checked.
type Summary struct {
	From, To int64 // numbers of the first and the last entry; To is -1 if there are none
	Head     Hash  // leaf hash of the last entry
	Entries  int64
	Missing  int64 // entries between From and To that were not added
	Sums     Sums  // position after the last entry, if Known
	Known    bool  // whether no entry is missing, so that Sums is known
	Open     int   // executions that are held or unresolved
}

// Finish makes the checks that need all entries. If sparse is true, entries may be missing, because the service sends receipts only for
// some of them. No entry may be added after Finish.
func (c *Chain) Finish(sparse bool) Summary {
	s := Summary{To: -1, Entries: int64(len(c.prints))}
	var all *run
	for _, from := range slices.Sorted(maps.Keys(c.runs)) {
		next := c.runs[from]
		if all == nil {
			all = next
			s.From = from
			c.begin(all, sparse)
		} else {
			if missing := next.from - all.to - 1; missing > 0 {
				s.Missing += missing
				if !sparse {
					c.report(ProblemGap, all.to+1, "%d entries are missing before %d", missing, next.from)
				}
				all.known = false
			}
			all = c.join(all, next)
		}
		if at, is := c.cuts[all.to]; is && all.known {
			c.compare(at, all)
		}
	}
	if all == nil {
		return s
	}
	s.To, s.Head, s.Known, s.Open = all.to, all.leaf, all.known, len(all.calls)
	if all.known {
		s.Sums = all.sums.amounts(c.account.Currency)
		c.settled(all)
	}
	return s
}

// begin finds the position at which the first run begins.
func (c *Chain) begin(first *run, sparse bool) {
	if first.from == 0 {
		first.known = true
		return
	}
	at, is := c.cuts[first.from-1]
	switch {
	case is && at.through.Hash != first.prev:
		c.report(ProblemFork, first.from, "the entry does not follow the one that the carry %d names", at.by)
	case is:
		first.known, first.base = true, sumsOf(at.sums)
		first.sums = first.sums.plus(first.base)
	case !sparse:
		c.report(ProblemGap, 0, "%d entries are missing before %d, and no carry replaces them", first.from, first.from)
	}
}

// compare compares the position after a run with the sums in a carry.
func (c *Chain) compare(at carryPosition, r *run) {
	if at.through.Hash != r.leaf {
		c.report(ProblemFork, at.by, "the carry replaces another entry %d", at.through.K)
	} else if sumsOf(at.sums) != r.sums {
		c.report(ProblemAmount, at.by, "the sums of the carry are not those of the entries up to %d", at.through.K)
	}
}

// settled checks that each ended charge was held before, by an entry or according to the carry at the beginning, and that no sum is below
// zero.
func (c *Chain) settled(r *run) {
	var held, unresolved int64
	for id, s := range r.calls {
		if s.first == "" {
			continue
		}
		if s.first == StateUnresolved {
			unresolved += s.amount
		} else {
			held += s.amount
		}
		if held > r.base.held-r.base.unresolved || unresolved > r.base.unresolved {
			c.report(ProblemState, s.k, "the execution %.64q was %s without an entry before", id, s.first)
			return
		}
	}
	if r.sums.held < 0 || r.sums.unresolved < 0 || r.sums.captured < 0 || r.sums.toppedUp < 0 {
		c.report(ProblemAmount, r.to, "a sum of the account is below zero")
	}
}
