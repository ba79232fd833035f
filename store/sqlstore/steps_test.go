package sqlstore_test

import (
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A machine has a wall clock that can be set, and a clock that only moves forward.
type machine struct {
	wall *storetest.Clock
	mu   sync.Mutex
	up   time.Duration
}

func newMachine() *machine {
	return &machine{wall: storetest.NewClock(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC))}
}

func (m *machine) elapsed() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.up
}

// pass advances both clocks.
func (m *machine) pass(d time.Duration) {
	m.wall.Advance(d)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.up += d
}

func (m *machine) open(t *testing.T, place string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), place, sqlstore.Options{Now: m.wall.Now, Elapsed: m.elapsed})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// admitted begins calls until one is refused, and returns the number of admitted calls.
func admitted(t *testing.T, s *sqlstore.Store, most int64, p limit.Period) int {
	t.Helper()
	r := oneOf(most)
	r.Limits[0].Period = p
	for n := 0; ; n++ {
		_, err := s.Begin(t.Context(), r)
		if _, full := errors.AsType[*store.LimitError](err); full {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSetWallClockAdmitsNoMoreCalls(t *testing.T) {
	t.Parallel()
	m := newMachine()
	s := m.open(t, filepath.Join(t.TempDir(), "state.db"))
	n := 0
	for range 17 { // the wall clock moves 68 s forward, while half a minute passes
		n += admitted(t, s, 150, limit.Minute)
		m.wall.Advance(4 * time.Second)
		m.pass(2 * time.Second)
	}
	if n != 150 {
		t.Errorf("%d admitted of 150 a minute, want 150", n)
	}
	closeStore(t, s)
}

func TestWallClockSetBackBlocksNothing(t *testing.T) {
	t.Parallel()
	m, place := newMachine(), filepath.Join(t.TempDir(), "state.db")
	s := m.open(t, place)
	if n := admitted(t, s, 5, limit.Second); n != 5 {
		t.Fatalf("%d admitted, want 5", n)
	}
	m.wall.Advance(-time.Hour)
	m.pass(2 * time.Second)
	if n := admitted(t, s, 5, limit.Second); n != 5 {
		t.Errorf("after the wall clock was set back: %d admitted of 5", n)
	}
	closeStore(t, s)
	s = m.open(t, place) // its clock begins at the last slot
	if n := admitted(t, s, 5, limit.Second); n != 0 {
		t.Errorf("reopened at the same time: %d admitted, want 0", n)
	}
	m.pass(2 * time.Second)
	if n := admitted(t, s, 5, limit.Second); n != 5 {
		t.Errorf("reopened: %d admitted of 5, want 5", n)
	}
	closeStore(t, s)
}

func closeStore(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A steppedDatabase is a database whose clock can be set.
type steppedDatabase struct {
	dsn      string
	direct   string
	notified chan time.Duration
}

func newStepped(t *testing.T) *steppedDatabase {
	t.Helper()
	dsn := ownDatabase(t)
	onDatabase(t, dsn, `CREATE TABLE steps (by INTERVAL);
		INSERT INTO steps VALUES ('0');
		CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE SQL AS
			'SELECT pg_catalog.clock_timestamp() + by FROM public.steps'`)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", "public,pg_catalog")
	u.RawQuery = q.Encode()
	return &steppedDatabase{dsn: u.String(), direct: dsn, notified: make(chan time.Duration, 16)}
}

func (c *steppedDatabase) set(t *testing.T, by string) {
	t.Helper()
	onDatabase(t, c.direct, "UPDATE steps SET by = '"+by+"'")
}

func (c *steppedDatabase) open(t *testing.T) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), c.dsn, sqlstore.Options{Now: time.Now, Stepped: func(by time.Duration) { c.notified <- by }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDatabaseClockStepHoldsLimits(t *testing.T) {
	t.Parallel()
	for by, c := range map[string]struct {
		least time.Duration
	}{
		"68 seconds": {67 * time.Second},
		"2 hours":    {119 * time.Minute},
		"-3 hours":   {-181 * time.Minute},
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			clock := newStepped(t)
			s := clock.open(t)
			for _, p := range []limit.Period{limit.Minute, limit.Hour} {
				if n := admitted(t, s, 50, p); n != 50 {
					t.Fatalf("%d admitted, want 50", n)
				}
			}
			clock.set(t, by)
			for _, p := range []limit.Period{limit.Minute, limit.Hour} {
				if n := admitted(t, s, 50, p); n != 0 {
					t.Errorf("%d admitted of 50 a %s after a step; want 0", n, p)
				}
			}
			closeStore(t, s) // waits for pending changes
			select {
			case reported := <-clock.notified:
				if reported < c.least || reported > c.least+2*time.Minute {
					t.Errorf("reported a step of %v", reported)
				}
			default:
				t.Error("no step was reported")
			}
			s = clock.open(t)
			if n := admitted(t, s, 50, limit.Hour); n != 0 {
				t.Errorf("reopened: %d admitted, want 0", n)
			}
			closeStore(t, s)
		})
	}
}

// The slots of a day are long, so a short step of the clock does not block any calls.
func TestSmallStepHoldsLongPeriodsByOneSlot(t *testing.T) {
	t.Parallel()
	clock := newStepped(t)
	s := clock.open(t)
	if n := admitted(t, s, 20, limit.Day); n != 20 {
		t.Fatalf("%d admitted, want 20", n)
	}
	clock.set(t, "10 seconds")
	if n := admitted(t, s, 50, limit.Day); n != 30 {
		t.Errorf("%d admitted of 50 a day, of which 20 were used; want 30", n)
	}
	closeStore(t, s)
}

// If a step of the clock cannot be written when it is detected, it is written later.
func TestFailedStepNoteIsWrittenLater(t *testing.T) {
	t.Parallel()
	clock := newStepped(t)
	s := clock.open(t)
	if n := admitted(t, s, 50, limit.Hour); n != 50 {
		t.Fatalf("%d admitted, want 50", n)
	}
	onDatabase(t, clock.direct, `CREATE SEQUENCE refused;
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN PERFORM nextval(''public.refused''); RAISE check_violation; END';
		CREATE TRIGGER refuse BEFORE UPDATE ON sequences FOR EACH ROW WHEN (NEW.name = 'stepped') EXECUTE FUNCTION refuse()`)
	clock.set(t, "2 hours")
	if n := admitted(t, s, 50, limit.Hour); n != 0 {
		t.Errorf("%d admitted after a step, want 0", n)
	}
	// Wait until the trigger has rejected the note.
	onDatabase(t, clock.direct, "DO 'BEGIN WHILE NOT (SELECT is_called FROM refused) LOOP PERFORM pg_sleep(0.01); END LOOP; END'")
	onDatabase(t, clock.direct, "DROP TRIGGER refuse ON sequences")
	closeStore(t, s)
	s = clock.open(t)
	if n := admitted(t, s, 50, limit.Hour); n != 0 {
		t.Errorf("reopened: %d admitted, want 0", n)
	}
	closeStore(t, s)
}
