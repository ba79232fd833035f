package sqlstore

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/nonces"
)

// Nonces in a database of an earlier version stay used, even if there are many.
func TestUsedNoncesAreMigrated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := AtVersion(t, path, 17)
	const rows = 1000
	until := time.Now().Add(time.Hour)
	for i := range rows { // most of them end at the same time, and some have ended
		end := until
		if i < 10 {
			end = time.Now().Add(-time.Hour)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO nonces (service, key_id, id, until) VALUES ('s', 'k', ?, ?)",
			strconv.Itoa(i), engine.Nanos(end)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, time.Now, engine.SQLite())
	for _, i := range []int{10, 255, 256, 257, 511, 512, rows - 1} {
		expectUsed(t, s, strconv.Itoa(i))
	}
	beginWith(t, s, strconv.Itoa(rows))
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
	var one int
	if found, err := s.db.One(t.Context(), "SELECT 1 FROM sqlite_master WHERE name = 'nonces'", nil, &one); err != nil || found {
		t.Errorf("the old table: %v, %v; want false, nil", found, err)
	}
}

// spentBy returns how many nonces the writer keeps, and how many rows the database has for them.
func spentBy(t *testing.T, s *Store) (held, rows int) {
	t.Helper()
	err := s.db.Update(t.Context(), func(ctx context.Context, x *engine.Tx) error {
		held = s.NoncesHeld()
		_, err := x.Row(ctx, "SELECT COUNT(*) FROM nonce_batches", nil, &rows)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return held, rows
}

// A testClock is a clock that the test moves.
type testClock struct {
	start time.Time
	by    atomic.Int64
}

func (m *testClock) minutes() int { return int(time.Duration(m.by.Load()) / time.Minute) }

func (m *testClock) now() time.Time { return m.start.Add(time.Duration(m.by.Load())) }

func TestExpiredNoncesAreForgotten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	m := testClock{start: time.Now()}
	s := openTest(t, path, m.now, engine.SQLite())
	const each = 30
	for i := range 3 * each {
		r := provedCall(strconv.Itoa(i), 0)
		r.Nonce.Until = m.start.Add(time.Duration(1+i%3) * 10 * time.Minute)
		if _, err := s.Begin(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for step, left := range []int{3 * each, 2 * each, each, 0} {
		m.by.Store(int64(step) * int64(10*time.Minute))
		gone := each
		if step == 0 {
			gone = 0
		}
		if n, err := s.Purge(t.Context()); n != gone || err != nil {
			t.Errorf("after %d minutes %d records were deleted, %v; want %d", 10*step, n, err, gone)
		}
		if held, rows := spentBy(t, s); held != left || rows != left {
			t.Errorf("after %d minutes %d are held, %d rows; want %d", 10*step, held, rows, left)
		}
	}
}

// The nonces of a transaction expire separately, none of them early.
func TestNoncesOfATransactionExpireSeparately(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	m := testClock{start: time.Now()}
	s := openTest(t, path, m.now, engine.SQLite())
	var calls []func() error
	for _, minutes := range []int{10, 11, 12, 13, 60, 14, 15, 16, 17, 18} {
		calls = append(calls, func() error {
			_, err := s.Begin(t.Context(), provedCall(strconv.Itoa(minutes), minutes))
			return err
		})
	}
	if err := errors.Join(inOneTransaction(t, s, calls...)...); err != nil {
		t.Fatal(err)
	}
	m.by.Store(int64(30 * time.Minute))
	if _, err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if held, rows := spentBy(t, s); held != 1 || rows != 1 {
		t.Errorf("%d are held, %d rows", held, rows)
	}
	expectUsed(t, s, "60")
	closed(t, s)
	s = openTest(t, path, m.now, engine.SQLite())
	expectUsed(t, s, "60")
	m.by.Store(int64(2 * time.Hour))
	if _, err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	beginWith(t, s, "60")
}

// Nonces over the limit are refused, and their calls take nothing. Once some nonces have expired, new ones are accepted.
func TestNoncesAreBounded(t *testing.T) {
	t.Parallel()
	m := testClock{start: time.Now()}
	s := openTest(t, filepath.Join(t.TempDir(), "state.db"), m.now, engine.SQLite())
	s.Bounds.Nonces = 3
	beginWith(t, s, "1", "2", "3")
	full := func(err error) bool {
		return errors.Is(err, store.ErrUnavailable) && errors.Is(err, calls.ErrManyNonces)
	}
	if _, err := s.Begin(t.Context(), provedCall("4", 10)); !full(err) {
		t.Errorf("a call: %v", err)
	}
	if _, err := s.Agree(t.Context(), agreementWith("1", "4")); !full(err) {
		t.Errorf("an agreement: %v", err)
	}
	if _, err := s.Begin(t.Context(), provedCall("1", 10)); !errors.Is(err, store.ErrNonceUsed) {
		t.Errorf("a used one: %v, want %v", err, store.ErrNonceUsed)
	}
	m.by.Store(int64(30 * time.Minute))
	taking := func(nonce string) func() error {
		return func() error { _, err := s.Begin(t.Context(), provedCall(nonce, 80+m.minutes())); return err }
	}
	for _, nonce := range []string{"4", "5", "6"} {
		if err := taking(nonce)(); err != nil {
			t.Errorf("%s: %v", nonce, err)
		}
	}
	if err := taking("7")(); !full(err) {
		t.Errorf("a call: %v", err)
	}
	m.by.Store(int64(120 * time.Minute))
	refused := 0
	for _, err := range inOneTransaction(t, s, taking("8"), taking("9"), taking("10"), taking("11"), taking("12")) {
		if err != nil && !full(err) {
			t.Error(err)
		}
		if err != nil {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d of 5 in one transaction were refused; want 2", refused)
	}
}

// If a record of used nonces is damaged, only calls with a nonce are denied.
func TestADamagedRecordOfNoncesDenies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := openTest(t, path, time.Now, engine.SQLite())
	beginWith(t, s, "n")
	beside(t, path, "UPDATE nonce_batches SET digests = x'00'")
	for _, nonce := range []string{"n", "another"} {
		if _, err := s.Begin(t.Context(), provedCall(nonce, 10)); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, nonces.ErrRow) {
			t.Errorf("%s: got %v; want %v and %v", nonce, err, store.ErrUnavailable, nonces.ErrRow)
		}
	}
	if _, err := s.Begin(t.Context(), paidCall(1)); err != nil {
		t.Errorf("without a nonce: %v", err)
	}
}

// Nonces that expire at the same time, at the last possible time, and before all others get separate rows.
func TestNonceRowsWithEqualExpiry(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := openTest(t, path, time.Now, engine.SQLite())
	n := 0
	for _, until := range []time.Time{
		{}, engine.FirstTime, engine.LastTime, engine.LastTime.Add(time.Hour), time.Unix(0, math.MaxInt64-1), time.Now().Add(time.Hour),
	} {
		for range 3 {
			r := provedCall(strconv.Itoa(n), 0)
			r.Nonce.Until = until
			if _, err := s.Begin(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	closed(t, s)
	s = openTest(t, path, time.Now, engine.SQLite())
	for i := range n {
		expectUsed(t, s, strconv.Itoa(i))
	}
}
