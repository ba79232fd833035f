package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

var now = time.Date(2026, 11, 22, 10, 0, 0, 123, time.UTC)

func charge(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "EUR"} }

func execution(id string) *store.Execution {
	return &store.Execution{
		ID: id, Service: "s", AgentID: "a", Fingerprint: "f", Intent: "i", AgreementID: "g", TokenID: "t", PolicyDigest: "d", Rule: "r",
		Charge: charge(7), State: store.Held, BeganAt: now, Deadline: now.Add(time.Minute), ContextID: "c",
	}
}

func ended(id string, at time.Time) *store.Execution {
	return &store.Execution{
		ID: id, Service: "s", AgentID: "a", Intent: "i", Rule: "r", Charge: charge(7), State: store.Captured, Outcome: store.Done, SettledAt: at,
	}
}

func unresolved(id string) *store.Execution {
	e := ended(id, time.Time{})
	e.State, e.Outcome, e.UnresolvedAt = store.Unresolved, store.Unknown, now
	return e
}

func line(e *store.Execution, from store.State) ledger.Line {
	return ledger.Line{Execution: e, From: from, By: ledger.ByAgent, Place: chained(1)}
}

// chained returns a place in a chain.
func chained(k int64) ledger.Place {
	c := ledger.Place{Epoch: 3, K: k, Leaf: evidence.LeafHash([]byte{byte(k)})}
	if k > 0 {
		c.Prev = evidence.LeafHash([]byte{byte(k - 1)})
	}
	return c
}

func accountKey(agent string) ledger.AccountKey {
	return ledger.AccountKey{Service: "s", AgentID: agent, Currency: "EUR"}
}

func poolKey(currency string) ledger.PoolKey { return ledger.PoolKey{Service: "s", Currency: currency} }

func counterKey(agent string, p limit.Period) calls.CounterKey {
	return calls.CounterKey{Service: "s", AgentID: agent, LimitID: "l", Period: p}
}

// records are valid records.
func records() map[string]*calls.Changes {
	resolved := unresolved("3")
	resolved.State, resolved.Outcome, resolved.SettledAt = store.Released, store.Failed, now
	far := execution("4")
	far.Evidence = &store.Evidence{
		KeyID: "k", Proof: "sha-256:p", Decision: "sha-256:d", Text: &store.EvidenceText{Proof: "jws", Asked: []byte("{}")},
	}
	small := execution("5")
	small.Evidence = &store.Evidence{KeyID: "k"}
	far.Deadline = time.Unix(0, math.MaxInt64).UTC()
	return map[string]*calls.Changes{
		"nothing": {At: now},
		"all": {
			At: now,
			Lines: []ledger.Line{
				{Execution: execution("1"), By: ledger.ByAgent, Place: chained(0)},
				{Execution: ended("2", now), From: store.Held, By: ledger.ByAgent, Sent: "sha-256:x", Form: "jcs", Place: chained(5)},
				{Execution: unresolved("3"), From: store.Held, By: ledger.ByAgent, Place: chained(6)},
				{Execution: resolved, From: store.Unresolved, By: ledger.ByAgent, Place: chained(7)},
				{Execution: far, By: ledger.ByAgent, Place: chained(8)},
				{Execution: small, By: ledger.ByAgent, Place: chained(9)},
			},
			Counters: []calls.Counter{
				{CounterKey: counterKey("a", limit.Hour), Slot: 5, Dispatch: 1, DispatchSlot: -3, Counts: []byte{1, 2, 0x80, 1}},
				{CounterKey: counterKey("", limit.Lifetime)},
			},
			Accounts: []ledger.Account{
				{AccountKey: accountKey("a"), ToppedUp: 1, Held: 2, Captured: math.MaxInt64, Pooled: true, Lines: 4, Head: chained(3).Leaf},
				{AccountKey: accountKey("b")},
			},
			Pools: []ledger.Pool{{PoolKey: poolKey("EUR"), Owed: 5, Faded: 3, FadedAt: 7}, {PoolKey: poolKey("USD")}},
			Used:  []calls.Use{{Service: "s", ID: "g", At: now}},
		},
		"before 1970": {At: time.Unix(-5, 0).UTC(), Used: []calls.Use{{At: time.Unix(-5, 0).UTC()}}},
	}
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	var e Encoder
	for name, r := range records() {
		text, fits := e.Encode(r)
		if !fits {
			t.Errorf("%s: not written", name)
			continue
		}
		if got, err := Decode(text); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, r)
		}
	}
}

// A record with a byte added, removed or changed is not read.
func TestADamagedRecordIsNotRead(t *testing.T) {
	t.Parallel()
	var e Encoder
	text, _ := e.Encode(records()["all"])
	for i := range text {
		other := slices.Clone(text)
		other[i] ^= 1 << (i % 8)
		want := ErrDamaged
		if i == 0 {
			want = ErrVersion
		}
		if _, err := Decode(other); !errors.Is(err, want) {
			t.Errorf("byte %d: %v; want %v", i, err, want)
		}
		if _, err := Decode(text[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut off at %d: %v, want %v", i, err, ErrDamaged)
		}
		if _, err := decode(text[headerLen:max(headerLen, i)], false); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut off at %d, with its checksum: %v, want %v", i, err, ErrDamaged)
		}
	}
	for name, in := range map[string][]byte{
		"longer": append(slices.Clone(text), 0), "nothing": nil, "too large": bytes.Repeat([]byte{version}, MaxRecord+1),
	} {
		if _, err := Decode(in); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want %v", name, err, ErrDamaged)
		}
	}
	if _, err := decode(append(slices.Clone(text[headerLen:]), 0), false); !errors.Is(err, ErrDamaged) {
		t.Errorf("longer, with its checksum: %v, want %v", err, ErrDamaged)
	}
}

// A record that would be invalid when read is not written.
func TestInvalidRecordIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(e *store.Execution){
		"without id":           func(e *store.Execution) { e.ID = "" },
		"without charge":       func(e *store.Execution) { e.Charge.Nano = 0 },
		"without currency":     func(e *store.Execution) { e.Charge.Currency = "" },
		"without state":        func(e *store.Execution) { e.State = "" },
		"unknown outcome":      func(e *store.Execution) { e.Outcome = "other" },
		"time of another call": func(e *store.Execution) { e.BeganAt, e.SettledAt = now.Add(1), now.Add(1) },
		"already unresolved":   func(e *store.Execution) { e.UnresolvedAt = now },
		"with a key":           func(e *store.Execution) { e.IdempotencyKey = "k"; e.State = store.Held },
		"large":                func(e *store.Execution) { e.Intent = strings.Repeat("x", MaxRecord) },
	} {
		for _, l := range []ledger.Line{line(execution("1"), ""), line(ended("2", now), store.Held)} {
			change(l.Execution)
			if _, fits := new(Encoder).Encode(&calls.Changes{At: now, Lines: []ledger.Line{l}}); fits {
				t.Errorf("%s: written (from %q)", name, l.From)
			}
		}
	}
	for name, r := range map[string]*calls.Changes{
		"without a number":        {At: now, Lines: []ledger.Line{{Execution: execution("1"), Place: ledger.Place{K: -1, Leaf: chained(1).Leaf}}}},
		"without a hash":          {At: now, Lines: []ledger.Line{{Execution: execution("1")}}},
		"without the hash before": {At: now, Lines: []ledger.Line{{Execution: execution("1"), Place: ledger.Place{K: 1, Leaf: chained(1).Leaf}}}},
		"start in a final state":  {At: now, Lines: []ledger.Line{{Execution: ended("1", now), From: store.Captured, By: ledger.ByAgent}}},
		"a period":                {At: now, Counters: []calls.Counter{{CounterKey: calls.CounterKey{Period: "decade"}}}},
		"account below zero":      {At: now, Accounts: []ledger.Account{{AccountKey: ledger.AccountKey{Currency: "EUR"}, Held: -1}}},
		"an empty account":        {At: now, Accounts: []ledger.Account{{}}},
		"pool below zero":         {At: now, Pools: []ledger.Pool{{PoolKey: ledger.PoolKey{Currency: "EUR"}, Owed: -1}}},
	} {
		if _, fits := new(Encoder).Encode(r); fits {
			t.Errorf("%s: written", name)
		}
	}
}

// Merging consecutive records leaves one change of each row.
func TestRecordsAreMerged(t *testing.T) {
	t.Parallel()
	later := now.Add(time.Second)
	var p PendingChanges
	if !p.Empty() || p.Began("1") {
		t.Error("there are pending changes")
	}
	account := ledger.Account{AccountKey: accountKey("a"), Held: 14}
	after := account
	after.Held, after.Captured = 7, 7
	counter := calls.Counter{CounterKey: counterKey("a", limit.Hour), Slot: 1}
	pool := ledger.Pool{PoolKey: poolKey("EUR"), Owed: 1}
	more := pool
	more.Owed = 2
	next := counter
	next.Slot = 2
	p.Add(&calls.Changes{
		At: now, Lines: []ledger.Line{line(execution("1"), ""), line(execution("2"), ""), line(unresolved("0"), store.Held)},
		Accounts: []ledger.Account{account}, Counters: []calls.Counter{counter},
		Used: []calls.Use{{Service: "s", ID: "g", At: now}}, Pools: []ledger.Pool{pool},
	})
	resolved := unresolved("0")
	resolved.State, resolved.SettledAt = store.Captured, later
	p.Add(&calls.Changes{
		At: later, Lines: []ledger.Line{line(ended("1", later), store.Held), line(resolved, store.Unresolved)},
		Accounts: []ledger.Account{after}, Counters: []calls.Counter{next},
		Used: []calls.Use{{Service: "s", ID: "g", At: later}}, Pools: []ledger.Pool{more},
	})
	if p.Empty() || !p.Began("1") || p.Began("0") || len(p.Lines) != 5 || p.Records != 2 {
		t.Errorf("got %+v", p)
	}
	whole := execution("1")
	whole.State, whole.Outcome, whole.SettledAt = store.Captured, store.Done, later
	if want := []*store.Execution{whole, execution("2")}; !reflect.DeepEqual(p.Begun, want) {
		t.Errorf("began: %+v, want %+v", p.Begun, want)
	}
	if want := []ledger.Line{line(resolved, store.Held)}; !reflect.DeepEqual(p.Changed, want) {
		t.Errorf("changed: %+v, want %+v", p.Changed, want)
	}
	if p.Lines[0].State != store.Held {
		t.Error("the line of the begin has the final state")
	}
	if p.Accounts[account.AccountKey] != after || p.Counters[counter.CounterKey].Slot != 2 || p.Pools[pool.PoolKey] != more ||
		!p.Used[agreement{"s", "g"}].Equal(now) {
		t.Errorf("got %+v", p)
	}
}

// A record that can be read is valid: writing and reading it again returns an equal one.
func FuzzDecode(f *testing.F) {
	for _, r := range records() {
		text, _ := new(Encoder).Encode(r)
		f.Add(text[headerLen:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in := append([]byte{version, 0, 0, 0, 0}, body...)
		binary.BigEndian.PutUint32(in[1:], crc32.Checksum(body, castagnoli))
		r, err := Decode(in)
		if err != nil {
			if r != nil || !errors.Is(err, ErrDamaged) {
				t.Fatalf("got %v, %v; want nil, %v", r, err, ErrDamaged)
			}
			return
		}
		text, fits := new(Encoder).Encode(r)
		if !fits && len(text) <= MaxRecord {
			t.Fatalf("%+v was not encoded", r)
		}
		if again, err := Decode(text); fits && (err != nil || !reflect.DeepEqual(again, r)) {
			t.Fatalf("%+v, %v; want %+v", again, err, r)
		}
	})
}
