package sqlstore_test

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A replicatedDatabase is a primary with an asynchronous standby, and a database on both.
type replicatedDatabase struct {
	primary, standby *pgtest.Cluster
	dsn              string
}

func newReplicated(t *testing.T) *replicatedDatabase {
	t.Helper()
	p := &replicatedDatabase{primary: pgtest.Private(t, pgtest.Replicated)}
	name, err := p.primary.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	p.standby = p.primary.Standby(t)
	p.dsn = p.primary.Either(p.standby, name)
	return p
}

func (p *replicatedDatabase) open(t *testing.T) (s *sqlstore.Store, reports chan int64) {
	t.Helper()
	reports = make(chan int64, 16)
	s, err := sqlstore.Open(t.Context(), p.dsn, sqlstore.Options{Now: time.Now, SetBack: func(missing int64) { reports <- missing }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s, reports
}

func (p *replicatedDatabase) failOver(t *testing.T) {
	t.Helper()
	if err := p.primary.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// untilAvailable repeats an operation while the database is unavailable.
func untilAvailable(t *testing.T, do func() error) error {
	t.Helper()
	for {
		if err := do(); !errors.Is(err, store.ErrUnavailable) || t.Context().Err() != nil {
			return err
		}
	}
}

// takes begins calls under an hourly limit until the limit is used up or all calls were made, and returns how many were admitted.
func takes(t *testing.T, s *sqlstore.Store, most int64, calls int) (n int) {
	t.Helper()
	r := oneOf(most)
	r.Limits[0].Period = limit.Hour
	for n < calls {
		err := untilAvailable(t, func() error { _, err := s.Begin(t.Context(), r); return err })
		if _, full := errors.AsType[*store.LimitError](err); full {
			return n
		}
		if err != nil {
			t.Error(err)
			return n
		}
		n++
	}
	return n
}

func pays(t *testing.T, s *sqlstore.Store, id string) {
	t.Helper()
	r := oneOf(1000)
	r.Execution.ID, r.Limits = id, nil
	r.Candidates[0].Charge, r.Billing.Credit = money.Amount{Currency: "USD", Nano: 1}, money.Amount{Currency: "USD", Nano: 1000}
	admission, err := s.Begin(t.Context(), r)
	if err == nil {
		_, err = s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func polled(t *testing.T, s *sqlstore.Store, seq int64) (list []pat.Change, newest int64) {
	t.Helper()
	err := untilAvailable(t, func() (err error) { list, newest, err = s.Changes(t.Context(), seq); return err })
	if err != nil {
		t.Fatal(err)
	}
	return list, newest
}

// A standby that is promoted may lack the last commits of its primary. The process that made them detects this, and marks the state as
// restored for all processes.
func TestStandbyThatLacksCommitsMarksRestored(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"a call comes first": "call", "a poll comes first": "poll"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newReplicated(t)
			s, setBacks := p.open(t)
			other, toldOther := p.open(t)
			if err := s.AddSigningKey(t.Context(), keys.SigningKey{ID: "kid", CreatedAt: time.Now()}); err != nil {
				t.Fatal(err)
			}
			known(t, s, "a")
			n := takes(t, s, 400, 100) + takes(t, other, 400, 100)
			if err := p.standby.Receive(t.Context(), p.primary); err != nil {
				t.Fatal(err)
			}
			if err := p.standby.Detach(t.Context()); err != nil {
				t.Fatal(err)
			}
			n += takes(t, s, 400, 100)
			for i := range 28 {
				pays(t, s, fmt.Sprint("e", i))
			}
			for i := range 6 {
				at := time.Now()
				err := s.Revoke(t.Context(), pat.Revocation{
					Service: "s", Kind: pat.RevokedToken, Subject: fmt.Sprint("t", i), At: at, Until: at.Add(time.Hour),
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			_, seq := polled(t, s, 0)
			_, seqOther := polled(t, other, 0)
			p.failOver(t)
			if first == "poll" {
				polled(t, s, seq)
			}
			counts := make(chan int)
			for _, s := range []*sqlstore.Store{other, s} {
				go func() { counts <- takes(t, s, 400, 400) }()
			}
			if more := <-counts + <-counts; n+more > 400 {
				t.Errorf("%d admitted of 400, %d of them on the standby; want at most 400", n+more, more)
			}
			if !s.ServerChanged() || !other.ServerChanged() {
				t.Errorf("moved: %v, %v", s.ServerChanged(), other.ServerChanged())
			}
			for who, s := range map[string]*sqlstore.Store{"the process that missed commits": s, "the other": other} {
				from := map[*sqlstore.Store]int64{s: seq, other: seqOther}[s]
				list, _ := polled(t, s, from)
				ended := false
				for _, c := range list {
					ended = ended || c.Key != nil && c.Key.ID == "kid" && !c.Key.NotAfter.IsZero()
				}
				if !ended || s.RestoredAt().IsZero() {
					t.Errorf("%s: keys have ended: %v, restored at %v", who, ended, s.RestoredAt())
				}
			}
			if missing := <-setBacks; missing < 100+2*28+6 || s.SetBack().Missing != missing {
				t.Errorf("%d commits are missing, %+v; want at least %d", missing, s.SetBack(), 100+2*28+6)
			}
			if len(setBacks) != 0 {
				t.Errorf("%d further reports", len(setBacks))
			}
			if len(toldOther) > 1 || len(toldOther) == 1 && <-toldOther > 2 { // it may have recorded its clock meanwhile
				t.Errorf("the other process reports %d missing commits", other.SetBack().Missing)
			}
			if err := s.CheckBalance(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A standby that has every commit continues where the primary ended.
func TestCompleteStandbyContinues(t *testing.T) {
	t.Parallel()
	p := newReplicated(t)
	s, setBacks := p.open(t)
	n := takes(t, s, 400, 100)
	pays(t, s, "e")
	if err := p.standby.Receive(t.Context(), p.primary); err != nil {
		t.Fatal(err)
	}
	p.failOver(t)
	if n += takes(t, s, 400, 400); n != 400 {
		t.Errorf("%d admitted of 400, want 400", n)
	}
	polled(t, s, 0)
	if again, _ := p.open(t); !s.ServerChanged() || again.ServerChanged() {
		t.Errorf("server changed: %v, and after reopening %v", s.ServerChanged(), again.ServerChanged())
	}
	if len(setBacks) != 0 || !s.RestoredAt().IsZero() || s.SetBack().Missing != 0 {
		t.Errorf("%d reports; restored at %v, %+v", len(setBacks), s.RestoredAt(), s.SetBack())
	}
}

// While its synchronous standby is away, a primary makes a commit visible after the client has given up waiting for it. A replay, and a
// second attempt to settle, must not report such a commit, because the standby lacks it when it is promoted.
func TestCommitsThatTheSynchronousStandbyLacksAreNotReported(t *testing.T) {
	t.Parallel()
	p := newReplicated(t)
	if err := p.primary.RequireStandby(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, _ := p.open(t)
	other, _ := p.open(t)
	r := oneOf(1000)
	r.Execution.ID, r.Execution.IdempotencyKey, r.KeyFor, r.Limits = "e", "key", time.Hour, nil
	r.Candidates[0].Charge, r.Billing.Credit = money.Amount{Currency: "USD", Nano: 1}, money.Amount{Currency: "USD", Nano: 1000}
	admission, err := s.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.standby.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	captured := store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Output: []byte("{}")}}
	if _, err := s.Settle(t.Context(), admission, captured); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("settled without the standby: %v", err)
	}
	for { // until the primary has made the commit visible
		e, err := other.Execution(t.Context(), "s", "e")
		if err != nil {
			t.Fatal(err)
		}
		if e.State == store.Captured {
			break
		}
	}
	if again, err := other.Begin(t.Context(), r); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a replay reports a commit that the standby lacks: %+v, %v", again, err)
	}
	if again, err := s.Settle(t.Context(), admission, captured); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("settling again reports a commit that the standby lacks: %+v, %v", again, err)
	}
	p.failOver(t)
	err = untilAvailable(t, func() error { _, err := s.Settle(t.Context(), admission, captured); return err })
	if err != nil {
		t.Errorf("settling on the promoted standby: %v", err)
	}
	err = untilAvailable(t, func() error { admission, err = other.Begin(t.Context(), r); return err })
	if err != nil || admission.Replay == nil || admission.Replay.State != store.Captured {
		t.Errorf("a replay on the promoted standby: %+v, %v", admission, err)
	}
}

// The machine of the primary is lost, so that the first server in the URL does not even refuse connections.
func TestStandbyIsReachedAlthoughThePrimaryDoesNotRespond(t *testing.T) {
	t.Parallel()
	p := newReplicated(t)
	link := p.primary.Proxy(t)
	way, err := link.DSN(p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(way)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", u.Hostname()+","+filepath.Dir(p.standby.Socket()))
	q.Set("port", u.Port()+",5432")
	q.Set("target_session_attrs", "read-write")
	u.Host, u.RawQuery = "", q.Encode()
	p.dsn = u.String()
	s, _ := p.open(t)
	pays(t, s, "e")
	if err := p.standby.Receive(t.Context(), p.primary); err != nil {
		t.Fatal(err)
	}
	link.Stall()
	if err := p.standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	for tries := 0; !s.ServerChanged(); tries++ { // until a call has reached the standby
		_, err := s.Begin(t.Context(), oneOf(1000))
		if tries == 10 || !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("after %d attempts: %v", tries, err)
		}
	}
}
