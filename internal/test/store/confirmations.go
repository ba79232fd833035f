package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testConfirmations(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a call has one confirmation":              confirmationOnce,
		"a confirmation is decided, then used":     confirmationUsed,
		"open confirmations are bounded per agent": confirmationsBounded,
		"attempts to decide are bounded":           confirmationTries,
		"a confirmation ends":                      confirmationEnds,
		"open and recent confirmations are listed": confirmationsRecent,
		"a consent is found by its agreement":      consentOf,
		"changes of a budget do not overlap":       budgetChanged,
	})
}

func confirmationOf(id, binding string) store.Confirmation {
	return store.Confirmation{
		Service: service, ID: id, AgentID: spender, AgreementID: "agreement", Intent: "shop.example:order:v1", Digest: "sha-256:call",
		Binding: binding, Parameters: []byte(`{"n":1}`), Sent: []byte(`{}`), Charge: cents(250), PolicyDigest: "sha-256:policy",
		Until: start.Add(10 * time.Minute),
	}
}

func (b *suite) asked(id, binding string) store.Confirmation {
	b.Helper()
	c, err := b.AskConfirmation(b.Context(), confirmationOf(id, binding), 3)
	b.must(err)
	return c
}

// confirmationOnce adds a confirmation for one call through two processes at once.
func confirmationOnce(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	var ids sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		engine := []Engine{b.Engine, other}[i%2]
		all.Go(func() {
			c, err := engine.AskConfirmation(b.Context(), confirmationOf(fmt.Sprint("c", i), "one"), 3)
			if err != nil {
				b.Error(err)
			}
			ids.Store(c.ID, c)
		})
	}
	all.Wait()
	n := 0
	ids.Range(func(id, v any) bool {
		n++
		got, err := b.Confirmation(b.Context(), service, id.(string)) //nolint:forcetypeassert // the ids compare like strings
		b.must(err)
		if d := cmp.Diff(v, got); d != "" {
			b.Errorf("differs (-want +got):\n%s", d)
		}
		return true
	})
	if n != 1 {
		b.Errorf("%d confirmations of one call; want 1", n)
	}
}

func confirmationUsed(b *suite) {
	b.asked("c", "one")
	b.want(b.UseConfirmation(b.Context(), service, "c", "x"), store.ErrUsed) // no person has confirmed the call
	until := start.Add(20 * time.Minute)
	b.must(b.DecideConfirmation(b.Context(), service, "c", "token", "record", until))
	b.want(b.DecideConfirmation(b.Context(), service, "c", "", "", until), store.ErrUsed)
	b.reopen()
	got, err := b.NewestConfirmation(b.Context(), service, string(spender), "one")
	b.must(err)
	if got.State != store.ConfirmationConfirmed || got.Token != "token" || got.Record != "record" || !got.Until.Equal(until) {
		b.Errorf("got %+v", got)
	}
	var uses atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if b.UseConfirmation(b.Context(), service, "c", "execution") == nil {
				uses.Add(1)
			}
		})
	}
	all.Wait()
	if uses.Load() != 1 {
		b.Errorf("used %d times", uses.Load())
	}
	got, err = b.Confirmation(b.Context(), service, "c")
	b.must(err)
	if got.State != store.ConfirmationUsed || got.ExecutionID != "execution" || len(got.Parameters)+len(got.Sent) != 0 {
		b.Errorf("got %+v", got)
	}
	again := b.asked("d", "one")
	if newest, err := b.NewestConfirmation(b.Context(), service, string(spender), "one"); err != nil || again.ID != "d" || newest.ID != "d" {
		b.Errorf("asked %+v; the newest is %+v, %v", again, newest, err)
	}
}

func confirmationsBounded(b *suite) {
	for i := range 3 {
		b.asked(fmt.Sprint("c", i), fmt.Sprint(i))
	}
	_, err := b.AskConfirmation(b.Context(), confirmationOf("c3", "3"), 3)
	b.want(err, store.ErrFull)
	if c := b.asked("c4", "0"); c.ID != "c0" {
		b.Errorf("got %+v", c)
	}
	b.must(b.DecideConfirmation(b.Context(), service, "c1", "", "", start))
	b.asked("c5", "3")
}

func confirmationTries(b *suite) {
	b.asked("c", "one")
	for range 4 {
		b.must(b.MissConfirmation(b.Context(), service, "c", 5))
	}
	if c, err := b.Confirmation(b.Context(), service, "c"); err != nil || c.State != store.ConfirmationAsked || c.Tries != 4 {
		b.Errorf("got %+v, %v", c, err)
	}
	b.must(b.MissConfirmation(b.Context(), service, "c", 5))
	b.want(b.DecideConfirmation(b.Context(), service, "c", "token", "record", start.Add(time.Hour)), store.ErrUsed)
}

func confirmationsRecent(b *suite) {
	b.asked("old", "1")
	b.asked("decided", "2")
	b.must(b.DecideConfirmation(b.Context(), service, "decided", "token", "record", start.Add(time.Hour)))
	b.clock.Advance(time.Minute)
	b.asked("refused", "3")
	b.must(b.DecideConfirmation(b.Context(), service, "refused", "", "", start.Add(time.Hour)))
	other := confirmationOf("other", "4")
	other.AgentID = "another"
	_, err := b.AskConfirmation(b.Context(), other, 3)
	b.must(err)
	for since, want := range map[time.Time]map[string]store.ConfirmationState{
		start: {
			"old": store.ConfirmationAsked, "decided": store.ConfirmationConfirmed, "refused": store.ConfirmationRefused,
		},
		start.Add(time.Minute):     {"old": store.ConfirmationAsked, "refused": store.ConfirmationRefused},
		start.Add(2 * time.Minute): {"old": store.ConfirmationAsked},
	} {
		got, err := b.RecentConfirmations(b.Context(), service, string(spender), since)
		b.must(err)
		if d := cmp.Diff(want, got); d != "" {
			b.Errorf("since %v, differs (-want +got):\n%s", since, d)
		}
	}
}

func confirmationEnds(b *suite) {
	b.asked("c", "one")
	b.clock.Advance(10 * time.Minute)
	b.want(b.DecideConfirmation(b.Context(), service, "c", "token", "record", start.Add(time.Hour)), store.ErrUsed)
	c := confirmationOf("d", "one")
	c.Until = b.clock.Now().Add(10 * time.Minute)
	got, err := b.AskConfirmation(b.Context(), c, 3)
	b.must(err)
	if got.ID != "d" {
		b.Errorf("got %+v", got)
	}
	b.clock.Advance(time.Hour)
	_, err = b.Purge(b.Context())
	b.must(err)
	for _, id := range []string{"c", "d"} {
		_, err := b.Confirmation(b.Context(), service, id)
		b.want(err, store.ErrNotFound)
	}
}

func consentOf(b *suite) {
	want := b.consent()
	got, err := b.ConsentOf(b.Context(), service, want.AgreementID)
	b.must(err)
	if d := cmp.Diff(want, got); d != "" {
		b.Errorf("differs (-want +got):\n%s", d)
	}
	_, err = b.ConsentOf(b.Context(), service, "another")
	b.want(err, store.ErrNotFound)
	second := want
	second.Handle, second.RefreshHandle, second.CreatedAt = "h2", "r2", start.Add(time.Second)
	b.must(b.AddConsent(b.Context(), second))
	for limit, handles := range map[int]int{1: 1, 10: 2} {
		list, err := b.ConsentsOf(b.Context(), service, want.Browser, limit)
		b.must(err)
		if len(list) != handles || list[0].Handle != "h2" {
			b.Errorf("got %+v", list)
		}
	}
	if list, err := b.ConsentsOf(b.Context(), service, "", 10); err != nil || len(list) != 0 {
		b.Errorf("without a cookie: %+v, %v", list, err)
	}
}

// budgetChanged changes the budget of a consent through two processes at once.
func budgetChanged(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	agreed, policy := b.agreement("changed")
	_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: agreed, Policy: policy, NonceUntil: start.Add(time.Hour)})
	b.must(err)
	a := agreed.ID
	_, _, err = b.Budget(b.Context(), service, a)
	b.want(err, store.ErrNotFound)
	b.want(b.SetBudget(b.Context(), service, a, 2, signedBudget("record")), store.ErrUsed) // the first change has the number 1
	b.want(b.SetBudget(b.Context(), service, a, store.MaxBudgets+1, signedBudget("record")), store.ErrFull)
	b.want(b.SetBudget(b.Context(), service, "another", 1, signedBudget("record")), pat.ErrRevoked)
	for n := 1; n <= 2; n++ {
		var changes atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			engine := []Engine{b.Engine, other}[i%2]
			all.Go(func() {
				if engine.SetBudget(b.Context(), service, a, n, signedBudget(fmt.Sprint("record ", n))) == nil {
					changes.Add(1)
				}
			})
		}
		all.Wait()
		record, number, err := b.Budget(b.Context(), service, a)
		b.must(err)
		if changes.Load() != 1 || number != n || record != fmt.Sprint("record ", n) {
			b.Errorf("%d changes, the newest is %d %q", changes.Load(), number, record)
		}
	}
	b.reopen()
	got, err := b.Agreement(b.Context(), service, a)
	b.must(err)
	if got.NewBudget != "record 2" {
		b.Errorf("got %q", got.NewBudget)
	}
	list, err := b.Budgets(b.Context(), service, a)
	b.must(err)
	if d := cmp.Diff([]pat.SignedBudget{signedBudget("record 1"), signedBudget("record 2")}, list); d != "" {
		b.Errorf("the changes (-want +got):\n%s", d)
	}
	if list, err := b.Budgets(b.Context(), service, "another"); err != nil || len(list) != 0 {
		b.Errorf("of an agreement without changes: %v, %v", list, err)
	}
	b.must(b.Revoke(b.Context(), pat.Revocation{
		Service: service, Kind: pat.RevokedAgreement, Subject: string(a), At: start, Until: start.Add(time.Hour),
	}))
	b.want(b.SetBudget(b.Context(), service, a, 3, signedBudget("record")), pat.ErrRevoked)
}

// signedBudget returns a record of a budget with the key that signed it.
func signedBudget(record string) pat.SignedBudget {
	return pat.SignedBudget{Record: record, PublicKey: []byte("key of " + record)}
}
