package sqlstore_test

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

func TestAServerThatCouldLoseCommitsIsRejected(t *testing.T) { //nolint:tparallel // one database with changing settings
	t.Parallel()
	dsn := ownDatabase(t)
	name := path.Base(strings.Split(dsn, "?")[0])
	for setting, want := range map[string]string{
		"synchronous_commit = off":           "synchronous_commit",
		"default_transaction_read_only = on": "read_only",
	} {
		t.Run(want, func(t *testing.T) {
			onDatabase(t, dsn, "ALTER DATABASE "+name+" SET "+setting)
			if _, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{Now: time.Now}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want it to name %s", err, want)
			}
			onDatabase(t, "postgres:///postgres", "ALTER DATABASE "+name+" RESET ALL")
		})
	}
	openShared(t, dsn)
}

func TestRoleWithoutPrivilegesGetsHint(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	dsn := c.Database(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	database := path.Base(u.Path)
	role := "guest_" + database
	if err := c.Exec(t.Context(), database, "CREATE ROLE "+role+" LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC"); err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	for schema, granted := range []string{"GRANT ALL ON SCHEMA public TO " + role, "GRANT ALL ON ALL TABLES IN SCHEMA public TO " + role} {
		_, err := sqlstore.Open(t.Context(), u.String(), sqlstore.Options{Now: time.Now})
		if what, _, _ := strings.Cut(granted, " TO "); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want it to name %s", err, what)
		}
		if schema == 0 { // the owner creates the tables; the role may use the schema but not the tables
			openShared(t, dsn)
		}
		if err := c.Exec(t.Context(), database, granted); err != nil {
			t.Fatal(err)
		}
	}
	openShared(t, u.String())
}

func TestErrorsContainNoPassword(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]string{
		"an unknown sslmode":        "postgres://me:s3cr3t@127.0.0.1/x?sslmode=nonsense",
		"no such port":              "postgres://me:s3cr3t@127.0.0.1:99999999/x",
		"no server":                 "postgres://me:s3cr3t@127.0.0.1:1/x",
		"a password that splits it": "postgres://me:s3cr3t%zz@127.0.0.1/x",
		"a password with a slash":   "postgres://me:s3cr3t/more@127.0.0.1/x",
		"a password parameter":      "postgres://me@127.0.0.1:1/x?password=s3cr3t",
		"no such file":              "postgres://me:s3cr3t@127.0.0.1/x?sslrootcert=/nowhere&sslmode=verify-full",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sqlstore.Open(t.Context(), place, sqlstore.Options{Now: time.Now})
			if err == nil || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestProcessesThatStartAtOnceAgreeOnTheSchema(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			s, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{Now: time.Now})
			if err == nil {
				err = errors.Join(s.Ready(t.Context()), s.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// byClock returns a store of a process whose clock is off.
func byClock(t *testing.T, dsn string, off time.Duration) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{Now: func() time.Time { return time.Now().Add(off) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestProcessesWhoseClocksAreOffShareOneLimit(t *testing.T) {
	dsn := freshDatabase(t)
	stores := []*sqlstore.Store{byClock(t, dsn, -5*time.Second), byClock(t, dsn, 0), byClock(t, dsn, 5*time.Second)}
	r := oneOf(50)
	r.Limits[0].Period = limit.Week // its slots are so long that practically none ends during the test
	var all sync.WaitGroup
	var mu sync.Mutex
	admitted := 0
	var first, last time.Time
	for _, s := range stores {
		for range 8 {
			all.Go(func() {
				for range 10 {
					admission, err := s.Begin(t.Context(), r)
					if _, full := errors.AsType[*store.LimitError](err); full {
						continue
					} else if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					admitted++
					if at := admission.Execution.BeganAt; first.IsZero() || at.Before(first) {
						first = at
					}
					if at := admission.Execution.BeganAt; at.After(last) {
						last = at
					}
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	if admitted != 50 {
		t.Errorf("%d calls were admitted; want 50", admitted)
	}
	if last.Sub(first) > 4*time.Second {
		t.Errorf("from %s to %s: the processes used their own clocks", first, last)
	}
	if off := stores[2].Now().Sub(stores[0].Now()).Abs(); off > 4*time.Second {
		t.Errorf("two processes are %s apart", off)
	}
}

func TestRevocationBySlowClockTakesEffect(t *testing.T) {
	t.Parallel()
	dsn := freshDatabase(t)
	behind, ahead := byClock(t, dsn, -time.Hour), byClock(t, dsn, time.Hour)
	a := pat.Agreement{ID: "a", Service: "s", AgentID: "a", KeyID: "k", PolicyDigest: "d", Assurance: pat.Fresh, CreatedAt: ahead.Now()}
	if _, err := ahead.Agree(t.Context(), pat.NewAgreement{Agreement: a, Policy: pat.PolicyDocument{Service: "s", Digest: "d"}}); err != nil {
		t.Fatal(err)
	}
	issued := time.Now().Add(time.Hour) // the process had not read the clock of the database
	if err := ahead.Issue(t.Context(), pat.Token{
		ID: "t", Service: "s", AgentID: "a", AgreementID: "a", PolicyDigest: "d", IssuedAt: issued,
		ExpiresAt: issued.Add(time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	if err := behind.Revoke(t.Context(), pat.Revocation{
		Service: "s", Kind: pat.RevokedPolicy, Subject: "d", At: behind.Now(),
		Until: behind.Now().Add(3 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	list, err := ahead.Tokens(t.Context(), store.TokenFilter{Service: "s"})
	if err != nil || len(list) != 1 || !list[0].Revoked {
		t.Fatalf("%+v, %v; want it revoked", list, err)
	}
}

func TestStoreRecoversWhenDatabaseReturns(t *testing.T) {
	direct := freshDatabase(t)
	proxy := pgtest.Start(t).Proxy(t)
	dsn, err := proxy.DSN(direct)
	if err != nil {
		t.Fatal(err)
	}
	s := openShared(t, dsn)
	begin := func() error { return errOf(s.Begin(t.Context(), oneOf(1_000_000))) }
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	for name, err := range map[string]error{
		"begin": begin(), "ready": s.Ready(t.Context()), "read": errOfRead(s.Executions(t.Context(), store.Filter{})),
		"revoke": s.Revoke(t.Context(), pat.Revocation{Service: "s", Kind: pat.RevokedToken, Subject: "j"}),
	} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v; want ErrUnavailable", name, err)
		}
	}
	proxy.Heal()
	if err := errors.Join(begin(), s.Ready(t.Context()), errOfRead(s.Executions(t.Context(), store.Filter{}))); err != nil {
		t.Fatalf("after the database returned: %v", err)
	}
	// Closed idle connections have no effect.
	proxy.Cut()
	proxy.Heal()
	if err := errors.Join(begin(), s.Ready(t.Context()), errOfRead(s.Executions(t.Context(), store.Filter{}))); err != nil {
		t.Fatalf("after the connections were closed: %v", err)
	}
}

func errOfRead[T any](_ []T, err error) error { return err }

// next waits for a signal until the test ends.
func next(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-t.Context().Done():
		t.Fatal("got no signal")
	}
}

func TestNotificationsResumeAfterLostConnection(t *testing.T) {
	t.Parallel()
	direct := freshDatabase(t)
	proxy := pgtest.Start(t).Proxy(t)
	dsn, err := proxy.DSN(direct)
	if err != nil {
		t.Fatal(err)
	}
	s, other := openShared(t, dsn), openShared(t, direct)
	for i := range 3 {
		subject := fmt.Sprint(i)
		if err := other.Revoke(t.Context(),
			pat.Revocation{Service: "s", Kind: pat.RevokedToken, Subject: subject, Until: other.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		for seen := false; !seen; {
			changed := s.Changed()
			list, _, err := s.Changes(t.Context(), int64(i))
			if err == nil && len(list) > 0 {
				seen = list[0].Revocation.Subject == subject
			}
			if !seen {
				next(t, changed)
			}
		}
		proxy.Cut()
		proxy.Heal()
	}
}

func TestAFailingServerIsUnavailableAndRecovers(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{
		"a full disk": "53100", "no memory": "53200", "an I/O error": "58030", "a read-only server": "25006",
		"a lock that is never free": "55P03",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := ownDatabase(t)
			s := openShared(t, dsn)
			if _, err := s.Begin(t.Context(), oneOf(2)); err != nil {
				t.Fatal(err)
			}
			onDatabase(t, dsn, `CREATE FUNCTION failure() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '`+state+
				`'; END $$;
				CREATE TRIGGER failure BEFORE UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION failure()`)
			if _, err := s.Begin(t.Context(), oneOf(2)); !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "UPDATE") {
				t.Fatalf("%v; want ErrUnavailable without SQL", err)
			}
			onDatabase(t, dsn, "DROP TRIGGER failure ON counters")
			if _, err := s.Begin(t.Context(), oneOf(2)); err != nil {
				t.Fatalf("after the failure: %v", err)
			}
			if _, full := errors.AsType[*store.LimitError](errOf(s.Begin(t.Context(), oneOf(2)))); !full {
				t.Error("the failed call was counted")
			}
		})
	}
}

// Ids are ordered by their bytes even if the locale of the database sorts a before B.
func TestIdsAreOrderedByTheirBytes(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	name := fmt.Sprintf("by_language_%d", time.Now().UnixNano())
	if err := c.Exec(t.Context(), "", "CREATE DATABASE "+name+" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"); err != nil {
		t.Skip("this server cannot order by a language: ", err)
	}
	s := openShared(t, c.DSN(name))
	for _, id := range []string{"b", "B", "a", "_", "A"} {
		a := pat.Agreement{
			ID: pat.AgreementID(id), Service: "s", AgentID: pat.AgentID(id), KeyID: keys.ID(id), PolicyDigest: "d",
			Assurance: pat.Fresh, CreatedAt: s.Now(),
		}
		if _, err := s.Agree(t.Context(), pat.NewAgreement{Agreement: a, Policy: pat.PolicyDocument{Service: "s", Digest: "d"}}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for after := ""; ; after = got[len(got)-1] {
		page, err := s.Agents(t.Context(), store.AgentFilter{Service: "s", After: pat.AgentID(after), Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, a := range page {
			got = append(got, string(a.ID))
		}
	}
	if strings.Join(got, "") != "AB_ab" {
		t.Error(got)
	}
}
