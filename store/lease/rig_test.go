package lease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
)

// start is in the middle of a slot of every period.
var start = time.Date(2026, 3, 14, 15, 9, 26, 35_897_932, time.UTC)

// A leaseTest is a holder with its own store and with clocks that the test sets. wall and steady are the two clocks of the holder; truth is
// the clock of the store.
type leaseTest struct {
	*testing.T
	*lease.Holder
	store               *countingStore
	truth, wall, steady *storetest.Clock
	opts                lease.Options
}

func newLeaseTest(t *testing.T, change ...func(*lease.Options)) *leaseTest {
	t.Helper()
	r := &leaseTest{T: t, truth: storetest.NewClock(start), wall: storetest.NewClock(start), steady: storetest.NewClock(start)}
	r.store = &countingStore{Store: openSQLite(t, t.TempDir(), r.truth.Now)}
	r.opts = lease.Options{Now: r.wall.Now, Elapsed: func() time.Duration { return r.steady.Now().Sub(start) }, Sole: true}
	for _, f := range change {
		f(&r.opts)
	}
	r.Holder = lease.New(r.store, r.opts)
	return r
}

// advance moves all clocks.
func (r *leaseTest) advance(d time.Duration) {
	for _, c := range []*storetest.Clock{r.truth, r.wall, r.steady} {
		c.Advance(d)
	}
}

func rate(id string, most int64, p limit.Period) store.Reservation {
	return store.Reservation{Principal: "agent", Limit: limit.Limit{ID: id, Rate: limit.Rate{Max: most, Period: p}}}
}

func free(limits ...store.Reservation) store.BeginRequest {
	return store.BeginRequest{
		Execution: store.Execution{ID: "id", Service: "shop", AgentID: "agent"}, Hold: time.Minute, KeyFor: 24 * time.Hour,
		Candidates: []store.Candidate{{Rule: "rule", Limits: limits}},
	}
}

func (r *leaseTest) begin(q store.BeginRequest) store.Admission {
	r.Helper()
	b, err := r.Begin(r.Context(), q)
	if err != nil {
		r.Fatal(err)
	}
	return b
}

// full checks that a limit refuses the call.
func (r *leaseTest) full(q store.BeginRequest) {
	r.Helper()
	_ = r.refused(q)
}

func (r *leaseTest) refused(q store.BeginRequest) *store.LimitError {
	r.Helper()
	_, err := r.Begin(r.Context(), q)
	e, ok := errors.AsType[*store.LimitError](err)
	if !ok {
		r.Fatalf("%v; want a LimitError", err)
	}
	return e
}

// costs checks how many transactions a function makes.
func (r *leaseTest) costs(want int64, what func()) {
	r.Helper()
	before := r.store.transactions()
	what()
	if got := r.store.transactions() - before; got != want {
		r.Fatalf("%d transactions; want %d", got, want)
	}
}

// warm makes calls until units are leased.
func (r *leaseTest) warm(q store.BeginRequest) {
	r.Helper()
	for range 20 {
		r.begin(q)
	}
	r.costs(0, func() { r.begin(q) })
}
