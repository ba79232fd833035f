package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

func testConcurrency(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"10,000 calls on a limit of 1,000":        concurrentLimit,
		"concurrent calls on a credit":            concurrentCredit,
		"concurrent calls with one key are one":   concurrentKey,
		"concurrent calls with one nonce are one": concurrentNonce,
		"one of two settlements wins":             concurrentSettlements,
		"one id is claimed once":                  concurrentIDs,
		"concurrent implied agreements are one":   concurrentImplied,
		"one renewal has one successor":           concurrentRenewals,
		"a reader of changes misses none":         followChanges,
		"canceled calls took nothing or all":      callersGiveUp,
		"two processes share limits and accounts": twoProcesses,
		"a message at two processes is one call":  oneMessage,
	})
}

// concurrently runs n calls from many goroutines, spread over the engines, and returns the number of calls without an error. An
// unexpected error fails the test.
func concurrently(b *suite, n int, engines []Engine, call func(e Engine, i int) error, expected func(error) bool) int64 {
	b.Helper()
	var next, ok atomic.Int64
	var wg sync.WaitGroup
	for g := range 64 {
		e := engines[g%len(engines)]
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				switch err := call(e, int(i)); {
				case err == nil:
					ok.Add(1)
				case !expected(err):
					b.Errorf("call %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	return ok.Load()
}

func anyOf(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
}

func isLimit(err error) bool {
	_, ok := errors.AsType[*store.LimitError](err)
	return ok
}

func beginErr(ctx context.Context, e Engine, r store.BeginRequest) error {
	_, err := e.Begin(ctx, r)
	return err
}

func concurrentLimit(b *suite) {
	r := b.free(rate("l", 1000, limit.Hour), rate("wide", 5000, limit.Day))
	var ticks atomic.Int64
	got := concurrently(b, 10_000, []Engine{b}, func(e Engine, _ int) error {
		if ticks.Add(1)%1000 == 0 {
			b.clock.Advance(time.Minute) // ten slots pass meanwhile
		}
		return beginErr(b.Context(), e, r)
	}, isLimit)
	if got != 1000 {
		b.Fatalf("%d admitted; want 1000", got)
	}
	if s := b.begin(b.free(rate("wide", 5000, limit.Day))).Standing[0]; s.Left != 3999 {
		b.Fatalf("got %+v, want Left 3999", s)
	}
}

func concurrentCredit(b *suite) {
	template := b.paid(3)
	template.Billing = store.Billing{Credit: usd(300), Unapproved: true}
	got := concurrently(b, 1000, []Engine{b}, func(e Engine, i int) error {
		r := template
		r.Execution.ID, r.Execution.AgentID = fmt.Sprintf("%032d", i), pat.AgentID(fmt.Sprintf("agent-%d", i%5))
		admission, err := e.Begin(b.Context(), r)
		if err == nil {
			_, err = e.Settle(b.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done})
		}
		return err
	}, anyOf(store.ErrCredit))
	if got != 100 {
		b.Fatalf("%d charged; want 100", got)
	}
	b.balanced()
}

func concurrentKey(b *suite) {
	template := b.paid(1, rate("l", 1000, limit.Hour))
	template.Execution.IdempotencyKey = "k"
	var started sync.Map
	got := concurrently(b, 500, []Engine{b}, func(e Engine, i int) error {
		r := template
		r.Execution.ID = fmt.Sprintf("%032d", i)
		got, err := e.Begin(b.Context(), r)
		if err == nil {
			started.Store(i, got)
		}
		return err
	}, anyOf(store.ErrInProgress))
	if got != 1 {
		b.Fatalf("%d began; want 1", got)
	}
	if a := b.account(); a.Held != usd(1) {
		b.Fatalf("got %+v", a)
	}
}

func concurrentNonce(b *suite) {
	r := b.free(rate("l", 1000, limit.Hour))
	r.Nonce = &store.Nonce{KeyID: "k", ID: "n", Until: start.Add(time.Hour)}
	if got := concurrently(b, 500, []Engine{b}, func(e Engine, _ int) error { return beginErr(b.Context(), e, r) },
		anyOf(store.ErrNonceUsed)); got != 1 {
		b.Fatalf("%d began; want 1", got)
	}
}

func concurrentSettlements(b *suite) {
	for range 5 {
		r := b.paid(7)
		admission := b.begin(r)
		won := map[store.State]*atomic.Int64{store.Captured: {}, store.Released: {}}
		got := concurrently(b, 200, []Engine{b}, func(e Engine, i int) error {
			to, o := store.Captured, store.Done
			if i%2 == 0 {
				to, o = store.Released, store.NotSent
			}
			_, err := e.Settle(b.Context(), admission, store.Settlement{State: to, Outcome: o})
			if err == nil {
				won[to].Add(1)
			}
			return err
		}, anyOf(store.ErrSettled))
		e, err := b.Execution(b.Context(), service, r.Execution.ID)
		b.must(err)
		if got != 1 || won[e.State] == nil || won[e.State].Load() != 1 {
			b.Fatalf("%d won; the record is %+v", got, e)
		}
	}
	b.balanced()
}

func concurrentIDs(b *suite) {
	template, p := b.agreement("")
	got := concurrently(b, 300, []Engine{b}, func(e Engine, i int) error {
		a := template
		a.ID, a.Nonce, a.KeyID = pat.AgreementID(fmt.Sprintf("%032d", i)), fmt.Sprint(i), keys.ID(fmt.Sprintf("key-%d", i))
		_, err := e.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, NonceUntil: start.Add(time.Hour)})
		return err
	}, anyOf(pat.ErrAgentIDTaken))
	if got != 1 {
		b.Fatalf("%d claimed the id; want 1", got)
	}
}

func concurrentRenewals(b *suite) {
	a := b.agree(b.agreement("n"))
	old, template := b.issue(a), b.token(a)
	var successors sync.Map
	concurrently(b, 300, []Engine{b}, func(e Engine, i int) error {
		next := template
		next.ID = pat.TokenID(fmt.Sprintf("next-%d", i))
		got, err := e.Renew(b.Context(), pat.Renewal{
			Old: old.ID, Next: next, Ends: start.Add(time.Minute), RepeatSince: start.Add(-time.Minute),
			Nonce: "p", NonceUntil: start.Add(time.Hour),
		})
		successors.Store(got.ID, true)
		return err
	}, anyOf())
	n := 0
	successors.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		b.Fatalf("%d successors; want 1", n)
	}
}

func followChanges(b *suite) {
	const many = 400
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	done := make(chan struct{})
	seen := make(chan int, 1)
	go func() {
		reported := map[string]bool{}
		var seq int64
		for last := false; ; {
			list, newest, err := other.Changes(b.Context(), seq)
			if err != nil {
				b.Error(err)
				break
			}
			for _, c := range list {
				reported[c.Revocation.Subject] = true
			}
			if seq = newest; last {
				break
			}
			select {
			case <-done:
				last = true
			default:
			}
		}
		seen <- len(reported)
	}()
	concurrently(b, many, []Engine{b, other}, func(e Engine, i int) error {
		return e.Revoke(b.Context(),
			pat.Revocation{Service: service, Kind: pat.RevokedToken, Subject: fmt.Sprint(i), At: start, Until: start.Add(time.Hour)})
	}, anyOf())
	close(done)
	if n := <-seen; n != many {
		b.Fatalf("%d of %d changes were reported", n, many)
	}
}

func callersGiveUp(b *suite) {
	l := rate("l", 1_000_000, limit.Lifetime)
	var maybe atomic.Int64
	got := concurrently(b, 500, []Engine{b}, func(e Engine, i int) error {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		if i%2 == 0 {
			go cancel()
		}
		r := b.template(i, l)
		_, err := e.Begin(ctx, r)
		if err != nil {
			maybe.Add(1)
			if _, missing := e.Execution(b.Context(), service, r.Execution.ID); !errors.Is(missing, store.ErrNotFound) {
				return fmt.Errorf("the call was canceled, but: %w", missing)
			}
		}
		return err
	}, anyOf(store.ErrUnavailable))
	left := b.begin(b.free(l)).Standing[0].Left
	if used := 1_000_000 - left - 1; used != got {
		b.Fatalf("%d succeeded, %d canceled, %d counted", got, maybe.Load(), used)
	}
	b.balanced()
}

// template returns a paid call whose id has no shared counter.
func (b *suite) template(i int, limits ...store.Reservation) store.BeginRequest {
	return store.BeginRequest{
		Execution:  store.Execution{ID: fmt.Sprintf("%032d", i), Service: service, AgentID: agent},
		Candidates: []store.Candidate{{Limits: limits, Charge: usd(1)}},
		Billing:    store.Billing{Credit: usd(1_000_000_000)},
		Hold:       time.Minute,
	}
}

func twoProcesses(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	got := concurrently(b, 1000, []Engine{b, other}, func(e Engine, i int) error {
		r := b.template(i, rate("l", 300, limit.Hour))
		if i%2 == 0 {
			r.Candidates[0].Charge = usd(0)
		}
		return beginErr(b.Context(), e, r)
	}, isLimit)
	// If units are leased, the process whose callers finished first may have some left, which only its own calls can use.
	for i, e := range []Engine{b, other} {
		for n := 1000 * (i + 1); ; n++ {
			r := b.template(n, rate("l", 300, limit.Hour))
			r.Candidates[0].Charge = usd(0)
			err := beginErr(b.Context(), e, r)
			if isLimit(err) {
				break
			}
			b.must(err)
			got++
		}
	}
	if got != 300 {
		b.Fatalf("%d admitted; want 300", got)
	}
	b.balanced()
}

// oneMessage begins calls whose id is both proof and idempotency key. A copy that arrives while the first is in progress must get
// ErrInProgress. After a replay error, the sender would send a new message.
func oneMessage(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	for m := range 40 {
		got := concurrently(b, 8, []Engine{b, other}, func(e Engine, i int) error {
			r := b.template(100*m + i)
			r.KeyFor = time.Hour
			r.Execution.IdempotencyKey = fmt.Sprint("message-", m)
			r.Nonce = &store.Nonce{KeyID: "k", ID: r.Execution.IdempotencyKey, Until: start.Add(time.Hour)}
			return beginErr(b.Context(), e, r)
		}, anyOf(store.ErrInProgress))
		if got != 1 {
			b.Fatalf("%d began; want 1", got)
		}
	}
}
