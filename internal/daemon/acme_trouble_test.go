package daemon_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/test/acmeca"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store/sqlcert"
	"github.com/uimgate/uimgate/store/sqlstore"
)

var hostsOf = regexp.MustCompile(`hosts: \[[^]]*\]`)

// withHosts returns a setup whose service has hosts other than those that withACME gives it, and whose metrics need no certificate.
func withHosts(s setup, hosts ...string) setup {
	s.config = hostsOf.ReplaceAllString(s.config, "hosts: ["+strings.Join(hosts, ", ")+"]")
	if !strings.Contains(s.config, "telemetry:") {
		s.config += "telemetry: {listen: 127.0.0.1:0}\n"
	}
	return s
}

// rehost reloads a gateway with other hosts.
func (g *gate) rehost(s setup, hosts ...string) {
	g.t.Helper()
	g.write("uimgate.yaml", strings.ReplaceAll(withHosts(s, hosts...).config, "UPSTREAM", g.upstream.server.URL))
	g.reload <- struct{}{}
}

// removeAndAdd reloads a gateway without the last of the hosts, and then with it.
func (g *gate) removeAndAdd(s setup, hosts ...string) {
	g.t.Helper()
	g.rehost(s, hosts[:len(hosts)-1]...)
	for t := g.t.(*testing.T); g.readiness(t).Checks["certificate"].Reason != ""; waitABit(t) {
	}
	g.rehost(s, hosts...)
}

// stopToRestart stops a gateway, and returns the setup with which it listens at the same address again, where the CA validates.
func (g *gate) stopToRestart(s setup) setup {
	g.t.Helper()
	address := strings.TrimPrefix(g.url, "https://")
	g.stop()
	s.dir, s.config = g.dir, strings.Replace(s.config, "listen: 127.0.0.1:0, per_address", "listen: \""+address+"\", per_address", 1)
	return s
}

// awaitLog waits until the log has n lines that contain all the texts, and returns these lines.
func (g *gate) awaitLog(n int, texts ...string) (lines []string) {
	g.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; waitABit(g.t.(*testing.T)) {
		lines = nil
		for line := range strings.Lines(g.log.String()) {
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
				lines = append(lines, line)
			}
		}
		if len(lines) >= n {
			return lines
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("%d lines with %q instead of %d; the log: %s", len(lines), texts, n, g.log.String())
		}
	}
}

// orders returns the metric of the orders with a result.
func (g *gate) orders(result string) string {
	g.t.Helper()
	series := `uimgate_certificate_orders_total{result="` + result + `"} `
	a, err := try(g.t.Context(), http.MethodGet, g.probes+"/metrics", nil, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	for line := range strings.Lines(string(a.body)) {
		if value, ok := strings.CutPrefix(line, series); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// failure is what the log has of a failed order: one line with the name, the cause and what to do.
const failure = "no certificate was obtained"

func TestRateLimitedCA(t *testing.T) {
	t.Parallel()
	ca, now := acmeca.Start(t, acmeca.Options{}), &clock{now: time.Now()}
	s, name := withACME(ca, "", "")
	s = withHosts(s, name)
	s.now, s.renewals = now.Now, 200*time.Millisecond
	g := startGate(t, s)
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	first := serial(t, ca, g, name)
	ca.Limit("3600")
	g.rehost(s, name, "new."+name)
	lines := g.awaitLog(1, failure, `"new.`+name+`"`)
	if !strings.Contains(lines[0], "rateLimited") || !strings.Contains(lines[0], "limits orders") {
		t.Errorf("the log: %s", lines[0])
	}
	if got := serial(t, ca, g, name); got != first {
		t.Errorf("the certificate %s became %s", first, got)
	}
	until := now.Now().Add(time.Hour).UTC().Format("2006-01-02T15")
	for _, want := range []string{"that have no certificate yet is 1", "the CA limits orders", until} {
		if got := g.readiness(t).Checks["certificate"].Reason; !strings.Contains(got, want) {
			t.Errorf("the check lacks %q: %q", want, got)
		}
	}
	if failed, obtained := g.orders("failed"), g.orders("obtained"); failed != "1" || obtained != "1" {
		t.Errorf("%s orders failed, and %s were successful", failed, obtained)
	}
	// Neither a reload nor a restart orders again before the time of the Retry-After header.
	g.removeAndAdd(s, name, "new."+name)
	g.awaitLog(1, "the order is postponed", `"new.`+name+`"`)
	s = g.stopToRestart(s)
	g = startGate(t, withHosts(s, name, "new."+name))
	g.awaitLog(1, "the order is postponed", `"new.`+name+`"`)
	if got := ca.Refused(); got != 1 {
		t.Errorf("the CA got %d orders", got)
	}
	ca.Limit("")
	now.move(2 * time.Hour)
	g.removeAndAdd(s, name, "new."+name)
	g.awaitLog(1, "certificate obtained successfully", `"new.`+name+`"`)
}

func TestUnreachableCAAtTheFirstStart(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{})
	ca.Stop()
	s, name := withACME(ca, "", "")
	g := startGate(t, withHosts(s, name))
	line := g.awaitLog(1, failure, `"`+name+`"`)[0]
	if !strings.Contains(line, "cannot be reached") || !strings.Contains(line, "connection refused") {
		t.Errorf("the log: %s", line)
	}
	if got := g.readiness(t); !got.Ready || !strings.Contains(got.Checks["certificate"].Reason, "the CA cannot be reached") {
		t.Errorf("%+v", got)
	}
	if got := g.orders("failed"); got != "1" {
		t.Errorf("%s orders failed", got)
	}
}

// If the CA is unreachable when a certificate is due for renewal, the gateway tries again after growing pauses. It serves the certificate,
// even after it has expired.
func TestUnreachableCAAtRenewal(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{Seconds: 6})
	s, name := withACME(ca, "", "")
	s = withHosts(s, name)
	s.renewals = 50 * time.Millisecond
	g := startGate(t, s)
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	first := serial(t, ca, g, name)
	ca.Stop()
	g.awaitLog(1, failure, `"`+name+`"`, "cannot be reached")
	g.awaitLog(3, "waiting for backoff before retrying", `"`+name+`"`)
	if got := g.readiness(t).Checks["certificate"].Reason; !strings.Contains(got, "the CA cannot be reached") {
		t.Errorf("the check: %q", got)
	}
	if got := len(g.awaitLog(1, failure)); got != 1 {
		t.Errorf("%d attempts without a pause", got)
	}
	for !strings.Contains(g.readiness(t).Checks["certificate"].Reason, "the certificate expired at") {
		waitABit(t)
	}
	if got := g.presented(name).SerialNumber.String(); got != first {
		t.Errorf("the certificate %s became %s", first, got)
	}
}

// If the clock is ahead by more than the lifetime of a certificate, each new certificate has expired already. The gateway does not order
// one after the other.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{Seconds: 1})
	s, name := withACME(ca, "", "")
	s = withHosts(s, name)
	s.renewals = 50 * time.Millisecond
	g := startGate(t, s)
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	g.awaitLog(1, "the certificate is not valid at the time of this machine's clock", `"`+name+`"`)
	g.awaitLog(1, "the order is postponed", `"`+name+`"`)
	g.awaitLog(3, "waiting for backoff before retrying", `"`+name+`"`)
	if got := ca.Orders(); got != 1 {
		t.Errorf("%d orders", got)
	}
	if got := g.readiness(t).Checks["certificate"].Reason; !strings.Contains(got, "clock of this machine") {
		t.Errorf("the check: %q", got)
	}
}

func TestClockBehind(t *testing.T) {
	t.Parallel()
	ca, now := acmeca.Start(t, acmeca.Options{}), &clock{now: time.Now().Add(-48 * time.Hour)}
	s, name := withACME(ca, "", "")
	s = withHosts(s, name)
	s.now, s.renewals = now.Now, 50*time.Millisecond
	g := startGate(t, s)
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	_ = serial(t, ca, g, name)
	if got := g.readiness(t); !got.Ready || !strings.Contains(got.Checks["certificate"].Reason, "clock of this machine") {
		t.Errorf("%+v", got)
	}
	g.awaitLog(1, "the certificate is not valid at the time of this machine's clock", `"`+name+`"`)
	if got := ca.Orders(); got != 1 {
		t.Errorf("%d orders", got)
	}
}

// A gateway whose database cannot be written when a certificate is due for renewal serves the certificate, and orders none.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	ca, cluster := acmeca.Start(t, acmeca.Options{Seconds: 9}), pgtest.Start(t)
	dsn := migrated.Copy(t)
	s, name := withACME(ca, "", "")
	s = withHosts(s, name)
	s.config, s.files["store.url"] = "store: ${file:store.url}\n"+s.config, dsn+"\n"
	s.renewals = 50 * time.Millisecond
	g := startGate(t, s)
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	first := serial(t, ca, g, name)
	makeReadOnly(t, cluster, dsn)
	g.awaitLog(1, "job failed", name, "failed storage check", "the store is not available")
	g.awaitLog(3, "waiting for backoff before retrying", `"`+name+`"`)
	if got := g.presented(name).SerialNumber.String(); got != first {
		t.Errorf("the certificate %s became %s", first, got)
	}
	if got := g.readiness(t); got.Ready || got.Checks["store"].OK {
		t.Errorf("%+v", got)
	}
	if got := ca.Orders(); got != 1 {
		t.Errorf("%d orders", got)
	}
	if got := len(g.awaitLog(1, "failed storage check")); got != 1 {
		t.Errorf("%d attempts without a pause", got)
	}
}

// makeReadOnly makes a database read-only, and ends its connections.
func makeReadOnly(t *testing.T, c *pgtest.Cluster, dsn string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimPrefix(u.Path, "/")
	if err := c.Exec(t.Context(), "postgres", "ALTER DATABASE "+database+" SET default_transaction_read_only = on; "+
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+database+"'"); err != nil {
		t.Fatal(err)
	}
}

// presented returns the certificate that a gateway presents for a name, whether it is valid or not.
func (g *gate) presented(name string) *x509.Certificate {
	g.t.Helper()
	connection, err := tls.Dial("tcp", strings.TrimPrefix(g.url, "https://"),
		&tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	return connection.ConnectionState().PeerCertificates[0]
}

// If the account at the CA is lost, or only its key, the gateway makes a new account.
func TestLostAccount(t *testing.T) {
	t.Parallel()
	for lost, suffix := range map[string]string{"account": "", "key": ".key"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			ca := acmeca.Start(t, acmeca.Options{})
			s, name := withACME(ca, "", "")
			s = withHosts(s, name)
			g := startGate(t, s)
			ca.Validate("127.0.0.1:9", hostOf(t, g.url))
			first := serial(t, ca, g, name)
			s = g.stopToRestart(s)
			deleteAccount(t, filepath.Join(g.dir, "data"), suffix)
			g = startGate(t, withHosts(s, name, "new."+name))
			if got := serial(t, ca, g, name); got != first {
				t.Errorf("the certificate %s became %s", first, got)
			}
			_ = serial(t, ca, g, "new."+name)
			g.awaitLog(1, "new ACME account registered")
		})
	}
}

// deleteAccount deletes the files of accounts whose names have a suffix from a data directory.
func deleteAccount(t *testing.T, data, suffix string) {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), config.StatePath(data), sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	files := sqlcert.New(db)
	names, err := files.List(t.Context(), "acme", true)
	deleted := 0
	for _, name := range names {
		if strings.Contains(name, "/users/") && strings.HasSuffix(name, suffix) {
			deleted++
			if e := files.Delete(t.Context(), name); !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}
	if err = errors.Join(err, db.Close()); err != nil || deleted == 0 {
		t.Fatalf("%d files were deleted of %q: %v", deleted, names, err)
	}
}

// A name whose address in DNS is that of another machine cannot be validated. The log has one error with the name and what to do, and the
// next order comes after a pause, while the other names are served.
func TestNameThatResolvesToAnotherMachine(t *testing.T) {
	t.Parallel()
	elsewhere, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = elsewhere.Close()
	ca := acmeca.Start(t, acmeca.Options{})
	s, name := withACME(ca, "", "")
	s = withHosts(s, name)
	s.renewals = 50 * time.Millisecond
	ca.Validate(elsewhere.Addr().String(), elsewhere.Addr().String())
	g := startGate(t, s)
	line := g.awaitLog(1, failure, `"`+name+`"`)[0]
	for _, want := range []string{"urn:ietf:params:acme:error:", "A or AAAA record", "uimgate check --online"} {
		if !strings.Contains(line, want) {
			t.Errorf("the log lacks %q: %s", want, line)
		}
	}
	if got := g.readiness(t); !got.Ready || !strings.Contains(got.Checks["certificate"].Reason, "cannot validate") {
		t.Errorf("%+v", got)
	}
	ordered := ca.Orders() // one for each type of challenge
	g.rehost(s, name, "api."+name)
	g.awaitLog(1, failure, `"api.`+name+`"`)
	if got := ca.Orders(); ordered > 2 || got != 2*ordered {
		t.Errorf("%d orders for one name, %d for two", ordered, got)
	}
	if got := len(g.awaitLog(1, failure, `"`+name+`"`)); got != 1 {
		t.Errorf("%d errors for one attempt", got)
	}
}

// A name that a reload removes is neither ordered nor renewed, and its certificate is not served any more.
func TestRemovedName(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{})
	s, name := withACME(ca, "", "")
	g := startGate(t, withHosts(s, name, "late."+name))
	g.awaitLog(1, "obtaining certificate", `"late.`+name+`"`) // the CA does not respond yet
	g.rehost(s, name, "api."+name)
	g.awaitLog(1, "obtaining certificate", `"api.`+name+`"`)
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	_, _ = serial(t, ca, g, name), serial(t, ca, g, "api."+name)
	if got := ca.Orders(); got != 2 {
		t.Errorf("%d orders for two names", got)
	}
	g.rehost(s, name)
	for !slices.Equal(g.presented("api."+name).DNSNames, []string{name}) {
		waitABit(t)
	}
	if got := g.readiness(t).Checks["certificate"].Reason; strings.Contains(got, "no certificate") {
		t.Errorf("the check: %q", got)
	}
}
