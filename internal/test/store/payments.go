package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testPayments(t *testing.T, open Opener) {
	t.Helper()
	balancedEach(t, open, map[string]func(*suite){
		"a payment is entered once":                      paymentOnce,
		"a refund takes back what was paid in":           paymentRefund,
		"an unclaimed payment waits for the operator":    paymentUnclaimed,
		"an agent settles one payment at a time":         paymentOpen,
		"an x402 payment belongs to one service":         paymentOfOneService,
		"processes that receive a payment enter it once": paymentAtReplicas,
		"a payment that has ended is kept, then deleted": paymentDeleted,
		"payments are listed in pages, the newest first": paymentPages,
		"a process that is late cannot change a payment": paymentMoved,
		"a payment that was not sent is forgotten":       paymentDropped,
		"what an agent can afford, and has not used":     paymentUnspent,
		"unused credit is bounded":                       paymentBounded,
		"unused credit is bounded across processes":      paymentBoundedAtOnce,
		"a payment has an entry with a receipt":          paymentEntry,
	})
}

// card returns a credited payment by card.
func card(reference string, id pat.AgentID, nano int64) store.Payment {
	return store.Payment{
		Service: service, Reference: reference, AgentID: id, Rail: store.RailCard, Kind: store.PaymentTopUp, Amount: usd(nano),
		State: store.PaymentCredited,
	}
}

// settling returns an x402 payment whose outcome the facilitator must report.
func (b *suite) settling(reference string, id pat.AgentID, nano int64) store.Payment {
	p := card(reference, id, nano)
	p.Rail, p.State, p.Payload, p.Digest = store.RailX402, store.PaymentSettling, []byte(`{"a":1}`), "d-"+reference
	p.NextAt, p.AskUntil = b.clock.Now().Add(time.Second), b.clock.Now().Add(time.Hour)
	return p
}

func (b *suite) pay(p store.Payment, wantKnown bool) store.Payment {
	b.Helper()
	out, known, err := b.Pay(b.Context(), p, money.Amount{})
	b.must(err)
	if known != wantKnown {
		b.Fatalf("payment %s: known %v, want %v", p.Reference, known, wantKnown)
	}
	return out
}

func (b *suite) payErr(p store.Payment, want error) {
	b.Helper()
	_, _, err := b.Pay(b.Context(), p, money.Amount{})
	b.want(err, want)
}

func paymentOnce(b *suite) {
	for i := range 3 {
		if out := b.pay(card("p-1", agent, 5), i > 0); out.State != store.PaymentCredited || out.BegunAt.IsZero() {
			b.Fatalf("got %+v", out)
		}
		b.reopen()
	}
	other := card("p-1", agent, 6)
	b.payErr(other, store.ErrReferenceUsed)
	b.payErr(card("p-1", "another", 5), store.ErrReferenceUsed)
	refund := card("p-1", agent, 5)
	refund.Kind = store.PaymentRefund
	b.payErr(refund, store.ErrReferenceUsed)
	b.payErr(card("p-2", agent, 0), money.ErrAmount)
	_, err := b.TopUp(b.Context(), store.TopUp{Service: service, AgentID: agent, Amount: usd(7), Reference: "by hand"})
	b.must(err)
	b.pay(card("by hand", agent, 7), false) // the operator has already entered it
	b.payErr(card("by hand", agent, 8), store.ErrReferenceUsed)
	if a := b.account(); a.ToppedUp != usd(12) {
		b.Fatalf("got %+v, want 12 paid in", a)
	}
	if entries, err := b.Ledger(b.Context(), store.Filter{Service: service}); err != nil || len(entries) != 2 ||
		entries[1].Reference != "p-1" {
		b.Fatalf("got %+v, %v", entries, err)
	}
}

func paymentRefund(b *suite) {
	refund := card("r-1", agent, 4)
	refund.Kind = store.PaymentRefund
	b.payErr(refund, store.ErrRefund) // it existed before the payment
	if _, err := b.Payment(b.Context(), service, "r-1"); err == nil {
		b.Fatal("a refund that was refused was recorded")
	}
	waits := refund
	waits.State, waits.Reason = store.PaymentUnclaimed, "early"
	b.pay(waits, false)
	b.pay(card("p-1", agent, 5), false)
	if out := b.pay(refund, true); out.State != store.PaymentCredited {
		b.Fatalf("got %+v, want the refund credited", out)
	}
	b.pay(refund, true)
	if a := b.account(); a.ToppedUp != usd(1) {
		b.Fatalf("got %+v, want 1 paid in", a)
	}
}

func paymentUnclaimed(b *suite) {
	p := card("p-1", "", 5)
	p.State, p.Reason = store.PaymentUnclaimed, "no agent"
	b.pay(p, false)
	b.pay(p, true)
	list, err := b.Payments(b.Context(), store.PaymentFilter{Service: service, State: store.PaymentUnclaimed})
	if b.must(err); len(list) != 1 || list[0].Reason != "no agent" || list[0].Amount != usd(5) {
		b.Fatalf("got %+v", list)
	}
	for range 2 {
		out, err := b.MovePayment(b.Context(), service, "p-1", store.PaymentMove{To: store.PaymentCredited, AgentID: agent})
		if b.must(err); out.State != store.PaymentCredited || out.AgentID != agent {
			b.Fatalf("got %+v", out)
		}
	}
	_, err = b.MovePayment(b.Context(), service, "p-1", store.PaymentMove{To: store.PaymentFailed})
	b.want(err, store.ErrSettled)
	_, err = b.MovePayment(b.Context(), service, "none", store.PaymentMove{To: store.PaymentFailed})
	b.want(err, store.ErrNotFound)
	if a := b.account(); a.ToppedUp != usd(5) {
		b.Fatalf("got %+v, want 5 paid in", a)
	}
}

func paymentOpen(b *suite) {
	one, two := b.settling("x-1", agent, 5), b.settling("x-2", agent, 6)
	b.pay(one, false)
	b.payErr(two, store.ErrPaymentOpen)
	if out := b.pay(one, true); out.State != store.PaymentSettling || string(out.Payload) != `{"a":1}` || !out.AskUntil.Equal(one.AskUntil) {
		b.Fatalf("got %+v", out)
	}
	b.pay(b.settling("x-3", "another", 6), false)
	b.pay(card("p-1", agent, 1), false) // a payment by card has no facilitator
	open, found, err := b.OpenPayment(b.Context(), service, agent)
	if b.must(err); !found || open.Reference != "x-1" {
		b.Fatalf("got %+v, %v", open, found)
	}
	due, err := b.DuePayments(b.Context(), b.clock.Now(), 10)
	if b.must(err); len(due) != 0 {
		b.Fatalf("got %+v before it is due", due)
	}
	if due, err = b.DuePayments(b.Context(), b.clock.Now().Add(2*time.Second), 10); err != nil || len(due) != 2 {
		b.Fatalf("got %+v, %v, want two", due, err)
	}
	out, err := b.MovePayment(b.Context(), service, "x-1", store.PaymentMove{To: store.PaymentCredited, Tx: "0x1"})
	if b.must(err); out.Tx != "0x1" || len(out.Payload) != 0 || !out.NextAt.IsZero() {
		b.Fatalf("got %+v", out)
	}
	b.pay(two, false)
	named := b.settling("x-4", "third", 1)
	named.PaymentID = "id"
	b.pay(named, false)
	_, err = b.MovePayment(b.Context(), service, "x-4", store.PaymentMove{To: store.PaymentFailed})
	b.must(err)
	again := b.settling("x-5", "third", 1)
	again.PaymentID = "id"
	b.payErr(again, store.ErrPaymentIDUsed)
}

func paymentAtReplicas(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	replicas := []Engine{b, other}
	concurrently(b, 60, replicas, func(e Engine, i int) error {
		_, _, err := e.Pay(b.Context(), card([]string{"p-1", "p-2", "p-3"}[i%3], agent, 5), money.Amount{})
		return err
	}, anyOf())
	began := concurrently(b, 60, replicas, func(e Engine, i int) error {
		_, known, err := e.Pay(b.Context(), b.settling([]string{"x-1", "x-2"}[i%2], agent, 5), money.Amount{})
		if err == nil && known {
			err = store.ErrPaymentOpen
		}
		return err
	}, anyOf(store.ErrPaymentOpen))
	if a := b.account(); a.ToppedUp != usd(15) || began != 1 {
		b.Fatalf("got %+v, %d began to settle; want 15 paid in, and one", a, began)
	}
}

func paymentOfOneService(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	at := func(service string) store.Payment {
		p := b.settling("x-1", agent, 5)
		p.Service = service
		return p
	}
	services := []string{service, "second", "third"}
	began := concurrently(b, 30, []Engine{b, other}, func(e Engine, i int) error {
		_, known, err := e.Pay(b.Context(), at(services[i%3]), money.Amount{})
		if err == nil && known {
			err = store.ErrPaymentOpen // repeated at the service that owns it
		}
		return err
	}, anyOf(store.ErrReferenceUsed, store.ErrPaymentOpen))
	var list []store.Payment
	for _, s := range services {
		at, err := b.Payments(b.Context(), store.PaymentFilter{Service: s})
		b.must(err)
		list = append(list, at...)
	}
	if began != 1 || len(list) != 1 {
		b.Fatalf("%d began, recorded %+v; want one", began, list)
	}
	for _, s := range services {
		if s == list[0].Service {
			b.pay(at(s), true)
		} else {
			b.payErr(at(s), store.ErrReferenceUsed)
		}
	}
	byCard := card("p-1", agent, 5) // references of different sellers may be equal
	b.pay(byCard, false)
	byCard.Service = "second"
	b.pay(byCard, false)
}

func paymentDeleted(b *suite) {
	ended := b.settling("p-1", agent, 5)
	b.pay(ended, false)
	_, err := b.MovePayment(b.Context(), service, "p-1", store.PaymentMove{To: store.PaymentFailed})
	b.must(err)
	waits := card("p-2", "", 5)
	waits.State = store.PaymentUnclaimed
	b.pay(waits, false)
	b.clock.Advance(399 * 24 * time.Hour)
	_, err = b.Purge(b.Context())
	b.must(err)
	b.pay(ended, true)
	b.clock.Advance(2 * 24 * time.Hour)
	_, err = b.Purge(b.Context())
	b.must(err)
	list, err := b.Payments(b.Context(), store.PaymentFilter{Service: service})
	if b.must(err); len(list) != 1 || list[0].Reference != "p-2" {
		b.Fatalf("got %+v, want the payment that waits", list)
	}
}

func paymentPages(b *suite) {
	for _, r := range []string{"p-1", "p-2", "p-3"} {
		b.pay(card(r, agent, 5), false)
		b.clock.Advance(time.Second)
	}
	b.pay(card("p-4", "another", 5), false)
	var got []string
	after := ""
	for {
		list, err := b.Payments(b.Context(), store.PaymentFilter{Service: service, AgentID: agent, Limit: 2, After: after})
		b.must(err)
		for _, p := range list {
			got, after = append(got, p.Reference), p.Reference
		}
		if len(list) < 2 {
			break
		}
	}
	if len(got) != 3 || got[0] != "p-3" || got[2] != "p-1" {
		b.Fatalf("got %v", got)
	}
}

func paymentMoved(b *suite) {
	p := b.pay(b.settling("x-1", agent, 5), false)
	b.clock.Advance(time.Second)
	moved, err := b.MovePayment(b.Context(), service, "x-1", store.PaymentMove{
		To: store.PaymentUnknown, Reason: "no answer",
		After: p.ChangedAt,
	})
	b.must(err)
	_, err = b.MovePayment(b.Context(), service, "x-1", store.PaymentMove{To: store.PaymentFailed, After: p.ChangedAt})
	b.want(err, store.ErrPaymentMoved)
	b.clock.Advance(time.Second)
	_, err = b.MovePayment(b.Context(), service, "x-1", store.PaymentMove{To: store.PaymentFailed, After: moved.ChangedAt})
	b.must(err)
	b.pay(b.settling("x-1", agent, 5), true) // the store remembers it
	if a, err := b.Accounts(b.Context(), store.Filter{Service: service}); err != nil || len(a) > 0 && a[0].ToppedUp.Nano != 0 {
		b.Fatalf("got %+v, %v", a, err)
	}
}

func paymentDropped(b *suite) {
	p := b.pay(b.settling("x-1", agent, 5), false)
	b.want(b.DropPayment(b.Context(), service, "x-1", p.ChangedAt.Add(-time.Second)), store.ErrPaymentMoved)
	b.must(b.DropPayment(b.Context(), service, "x-1", p.ChangedAt))
	b.want(b.DropPayment(b.Context(), service, "x-1", p.ChangedAt), store.ErrPaymentMoved)
	p = b.pay(b.settling("x-1", agent, 5), false)
	moved, err := b.MovePayment(b.Context(), service, "x-1", store.PaymentMove{To: store.PaymentUnknown, After: p.ChangedAt})
	b.must(err)
	b.want(b.DropPayment(b.Context(), service, "x-1", moved.ChangedAt), store.ErrPaymentMoved) // the payment may have been made
}

func paymentUnspent(b *suite) {
	billing := store.Billing{Credit: usd(3)}
	unspent := func(want int64) { // pays 1 where the bound is 0
		b.Helper()
		p := b.settling("x-9", agent, 1)
		_, _, err := b.Pay(b.Context(), p, usd(0))
		full, ok := errors.AsType[*store.UnspentError](err)
		if !ok || full.Unspent != usd(want) || full.Most != usd(0) {
			b.Fatalf("got %v, want %d", err, want)
		}
		_, err = b.Payment(b.Context(), service, "x-9")
		b.want(err, store.ErrNotFound)
	}
	unspent(0)
	b.must(b.Affords(b.Context(), service, agent, usd(3), billing))
	err := b.Affords(b.Context(), service, agent, usd(4), billing)
	if short, ok := errors.AsType[*store.CreditError](err); !ok || short.Shortfall() != usd(1) {
		b.Fatalf("got %v, want 1 missing", err)
	}
	b.pay(card("p-1", agent, 7), false)
	unspent(0)
	p := card("x-1", agent, 5)
	p.Rail = store.RailX402
	b.pay(p, false)
	b.must(b.Affords(b.Context(), service, agent, usd(15), billing))
	unspent(5)
	_, err = b.TopUp(b.Context(), store.TopUp{Service: service, AgentID: agent, Amount: usd(9), Reverse: true})
	b.must(err)
	unspent(3)
}

// bounded makes an x402 payment that is credited, and returns the error of Pay within a bound of 5 USD.
func (b *suite) bounded(reference string, nano int64) error {
	p := card(reference, agent, nano)
	p.Rail = store.RailX402
	_, _, err := b.Pay(b.Context(), p, usd(5))
	return err
}

func paymentBounded(b *suite) {
	over := func(err error) {
		b.Helper()
		if _, ok := errors.AsType[*store.UnspentError](err); !ok {
			b.Fatalf("got %v, want an UnspentError", err)
		}
	}
	over(b.bounded("x-1", 6))
	b.must(b.bounded("x-2", 3))
	b.must(b.bounded("x-3", 2))
	over(b.bounded("x-4", 1))
	b.must(b.bounded("x-3", 2)) // known: it is not counted twice
	held := b.begin(b.paid(2))
	over(b.bounded("x-4", 1)) // what is held may be released
	b.settle(held, store.Captured, store.Done)
	b.must(b.bounded("x-4", 2))
	over(b.bounded("x-5", 1))
	b.pay(card("p-1", agent, 50), false) // by another rail, without a bound
	if a := b.account(); a.ToppedUp != usd(57) {
		b.Fatalf("got %+v, want 57 paid in", a)
	}
}

// paymentBoundedAtOnce makes a hundred payments at once through three processes, although only four are within the bound.
func paymentBoundedAtOnce(b *suite) {
	second, third := b.open(b.T, b.place, b.clock.Now), b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(errors.Join(second.Close(), third.Close())) }()
	got := concurrently(b, 100, []Engine{b, second, third}, func(e Engine, i int) error {
		p := b.settling(fmt.Sprintf("x-%d", i), agent, 5)
		for {
			_, _, err := e.Pay(b.Context(), p, usd(20))
			if errors.Is(err, store.ErrPaymentOpen) { // another payment is being settled
				continue
			}
			if err != nil {
				return err
			}
			_, err = e.MovePayment(b.Context(), service, p.Reference, store.PaymentMove{To: store.PaymentCredited})
			return err
		}
	}, func(err error) bool {
		_, ok := errors.AsType[*store.UnspentError](err)
		return ok
	})
	if a := b.account(); got != 4 || a.ToppedUp != usd(20) {
		b.Fatalf("got %d payments and %+v, want 4 and 20 paid in", got, a)
	}
}

func paymentEntry(b *suite) {
	b.pay(card("p-1", agent, 7), false)
	e, err := b.TopUpEntry(b.Context(), service, agent, "p-1")
	if b.must(err); len(e.Bytes) == 0 || !strings.Contains(string(e.Bytes), `"p-1"`) {
		b.Fatalf("got %s", e.Bytes)
	}
	_, err = b.TopUpEntry(b.Context(), service, "another", "p-1")
	b.want(err, store.ErrNotFound)
	_, err = b.TopUpEntry(b.Context(), service, agent, "")
	b.want(err, store.ErrNotFound)
}
