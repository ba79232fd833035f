package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testMoves(t *testing.T, open Opener) {
	t.Helper()
	balancedEach(t, open, map[string]func(*suite){
		"unused credit moves to another agent":   creditMoved,
		"what is held or owed does not move":     heldCreditStays,
		"a move with a reference is made once":   moveOnce,
		"parallel moves through three processes": movesAtOnce,
	})
}

// move returns a move from the agent to another one.
func move(reference string, amount money.Amount) store.CreditMove {
	return store.CreditMove{Service: service, From: agent, To: "another", Amount: amount, Reference: reference, Reason: "consented again"}
}

// toppedUp checks what was topped up for agents.
func (b *suite) toppedUp(want map[pat.AgentID]int64) {
	b.Helper()
	for id, nano := range want {
		list, err := b.Accounts(b.Context(), store.Filter{Service: service, AgentID: id})
		b.must(err)
		if len(list) != 1 || list[0].ToppedUp != usd(nano) {
			b.Fatalf("%s: got %+v, want %d", id, list, nano)
		}
	}
}

func (b *suite) noMove(m store.CreditMove, left int64) {
	b.Helper()
	_, _, err := b.MoveCredit(b.Context(), m)
	if short, ok := errors.AsType[*store.MoveError](err); !ok || short.Left != usd(left) {
		b.Fatalf("got %v, want %d left", err, left)
	}
}

func creditMoved(b *suite) {
	b.topUp(agent, usd(10))
	b.clock.Advance(time.Minute)
	made, repeated, err := b.MoveCredit(b.Context(), move("m-1", usd(4)))
	b.must(err)
	if repeated || made.Amount != usd(4) || !made.At.Equal(b.clock.Now()) {
		b.Errorf("got %+v, %v", made, repeated)
	}
	b.toppedUp(map[pat.AgentID]int64{agent: 6, "another": 4})
	all, _, err := b.MoveCredit(b.Context(), move("m-2", usd(0)))
	b.must(err)
	if all.Amount != usd(6) {
		b.Errorf("got %+v", all)
	}
	b.toppedUp(map[pat.AgentID]int64{agent: 0, "another": 10})
	b.noMove(move("m-3", usd(1)), 0)
	b.noMove(move("m-3", usd(0)), 0)
	from, to := made.References()
	for id, reference := range map[pat.AgentID]string{agent: from, "another": to} {
		e, err := b.TopUpEntry(b.Context(), service, id, reference)
		b.must(err)
		got, err := evidence.ParseEntry(e.Bytes)
		b.must(err)
		if want := map[bool]evidence.Kind{true: evidence.KindReversal, false: evidence.KindTopUp}[id == agent]; got.Kind != want {
			b.Errorf("the entry of %s is a %s, want a %s", id, got.Kind, want)
		}
	}
	for _, bad := range []store.CreditMove{
		move("m-4", usd(-1)), move("m-4", money.Amount{}), move("", usd(1)), {Service: service, From: agent, To: agent, Amount: usd(1), Reference: "m-4"},
	} {
		_, _, err := b.MoveCredit(b.Context(), bad)
		b.want(err, money.ErrAmount)
	}
}

func heldCreditStays(b *suite) {
	b.topUp(agent, usd(10))
	held := b.begin(b.paid(3))
	b.settle(b.begin(b.paid(2)), store.Captured, store.Done)
	b.noMove(move("m-1", usd(6)), 5)
	b.settle(held, store.Released, store.Failed)
	_, _, err := b.MoveCredit(b.Context(), move("m-1", usd(8)))
	b.must(err)
	b.toppedUp(map[pat.AgentID]int64{agent: 2, "another": 8})
	b.begin(b.paid(1)) // owed
	b.noMove(move("m-2", usd(0)), 0)
	b.noMove(store.CreditMove{Service: service, From: "unknown", To: agent, Amount: usd(0), Reference: "m-3"}, 0)
}

func moveOnce(b *suite) {
	b.topUp(agent, usd(10))
	first, _, err := b.MoveCredit(b.Context(), move("m-1", usd(4)))
	b.must(err)
	b.reopen()
	for _, amount := range []money.Amount{usd(4), usd(0)} {
		again, repeated, err := b.MoveCredit(b.Context(), move("m-1", amount))
		b.must(err)
		if !repeated || again != first {
			b.Errorf("got %+v, %v; want %+v", again, repeated, first)
		}
	}
	for _, other := range []store.CreditMove{
		move("m-1", usd(5)), move("m-1", money.Amount{Nano: 4, Currency: "EUR"}),
		{Service: service, From: agent, To: "third", Amount: usd(4), Reference: "m-1"},
		{Service: service, From: "another", To: agent, Amount: usd(4), Reference: "m-1"},
	} {
		_, _, err := b.MoveCredit(b.Context(), other)
		b.want(err, store.ErrReferenceUsed)
	}
	b.toppedUp(map[pat.AgentID]int64{agent: 6, "another": 4})
}

// movesAtOnce moves credit back and forth, each move twice.
func movesAtOnce(b *suite) {
	b.topUp(agent, usd(60)) // in any order, no move finds too little
	b.topUp("another", usd(30))
	second, third := b.open(b.T, b.place, b.clock.Now), b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(errors.Join(second.Close(), third.Close())) }()
	concurrently(b, 120, []Engine{b, second, third}, func(e Engine, i int) error {
		n := i % 60
		m := move(fmt.Sprint("m-", n), usd(1))
		if n%3 == 0 {
			m.From, m.To = m.To, m.From
		}
		_, _, err := e.MoveCredit(b.Context(), m)
		return err
	}, anyOf())
	b.toppedUp(map[pat.AgentID]int64{agent: 40, "another": 50})
}
