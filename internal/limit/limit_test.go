package limit_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

func TestParseRate(t *testing.T) {
	for in, want := range map[string]string{
		"1000/hour": "1000/hour", " 5 / Minutes": "5/minute", "0/day": "0/day", "1/PT1H": "1/hour",
		"3/lifetime": "3/lifetime", "9/P1M": "9/month", "9/PT1M": "9/minute",
		"": "", "5": "", "-1/hour": "", "5/fortnight": "", "1.5/hour": "", "99999999999999/hour": "",
	} {
		r, err := limit.ParseRate(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q: %v, want an error", in, r)
		case want != "" && (err != nil || r.String() != want):
			t.Errorf("%q: %v, %v; want %v", in, r, err, want)
		}
	}
}

// A unit taken in slot k matters to every admission up to the slot before Frees, and to none after.
func TestFreesIsWhenTheSlotNoLongerCounts(t *testing.T) {
	now := time.Date(2026, 12, 31, 23, 59, 59, 987_654_321, time.UTC)
	for _, p := range []limit.Period{limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week, limit.Month, limit.Year} {
		k := p.Slot(now)
		frees := p.Frees(k)
		if p.Oldest(p.Slot(frees)) <= k {
			t.Errorf("%s: slot %d still counts at %s", p, k, frees)
		}
		if p.Oldest(p.Slot(frees.Add(-time.Millisecond))) > k {
			t.Errorf("%s: slot %d stopped counting before %s", p, k, frees)
		}
	}
	if !limit.Lifetime.Frees(0).IsZero() || limit.Lifetime.Slot(now) != 0 {
		t.Error("a lifetime limit never frees")
	}
}

// For all admissions and their delayed dispatch, no window of the period contains more dispatches than the limit.
func TestNoWindowExceedsTheLimit(t *testing.T) {
	const most = 5
	for _, p := range []limit.Period{limit.Second, limit.Minute, limit.Hour} {
		rng := rand.New(rand.NewPCG(1, uint64(p.Seconds())))
		length := time.Duration(p.Seconds()) * time.Second
		used := map[int64]int64{}
		var sent []time.Time
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 20_000 {
			now = now.Add(time.Duration(rng.Int64N(int64(length / 40))))
			k := p.Slot(now)
			var sum int64
			for s := p.Oldest(k); s <= k; s++ {
				sum += used[s]
			}
			if sum >= most {
				continue
			}
			used[k]++
			dispatch := now
			if rng.IntN(2) == 0 { // as late as the grant allows
				dispatch = p.Expires(k).Add(-time.Nanosecond)
			}
			sent = append(sent, dispatch)
		}
		if len(sent) < 100 {
			t.Fatalf("%s: only %d admissions", p, len(sent))
		}
		for i, first := range sent {
			n := 0
			for _, s := range sent[max(0, i-3*most):min(len(sent), i+3*most)] {
				if !s.Before(first) && s.Before(first.Add(length)) {
					n++
				}
			}
			if n > most {
				t.Fatalf("%s: %d dispatches within one period from %s; want at most %v", p, n, first, most)
			}
		}
	}
}

// Admissions with different numbers of dispatch slots never reach the upstream more often than the limit, if the largest number within the
// last minute counts for all of them.
func TestNoSecondExceedsTheLimitWithAnyDispatchSlots(t *testing.T) {
	const most, lately = 5, 600
	rng := rand.New(rand.NewPCG(7, 7))
	used := map[int64]int64{}
	var sent []time.Time
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	largest, since := int64(1), int64(0)
	for range 20_000 {
		now = now.Add(time.Duration(rng.Int64N(int64(120 * time.Millisecond))))
		k := limit.Second.Slot(now)
		slots := 1 + rng.Int64N(4)
		if rng.IntN(3000) == 0 {
			slots = limit.MaxDispatch
		}
		if k-since >= lately {
			largest = 1
		}
		var sum int64
		for s := limit.Second.Oldest(k) - max(slots, largest) + 1; s <= k; s++ {
			sum += used[s]
		}
		if sum >= most {
			continue
		}
		used[k]++
		if slots >= largest {
			largest, since = slots, k
		}
		dispatch := now
		if rng.IntN(2) == 0 { // as late as the grant allows
			dispatch = limit.Second.Ends(k + slots).Add(-time.Nanosecond)
		}
		sent = append(sent, dispatch)
	}
	slices.SortFunc(sent, time.Time.Compare)
	for i, first := range sent {
		n, _ := slices.BinarySearchFunc(sent, first.Add(time.Second), time.Time.Compare)
		if n-i > most {
			t.Fatalf("got %d dispatches within one second from %s; want at most %v", n-i, first, most)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	f.Add("1000/hour")
	f.Add("1/PT1H")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := limit.ParseRate(s)
		if err != nil {
			if r != (limit.Rate{}) {
				t.Fatal("got both an error and a value")
			}
			return
		}
		if again, err := limit.ParseRate(r.String()); err != nil || again != r {
			t.Fatalf("got %v, %v; want %v, nil", again, err, r)
		}
	})
}
