package daemon_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	adminclient "github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/internal/test/acmeca"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

const (
	// accountID and accountKey identify an account at a CA.
	accountID, accountKey = "account-1", "c2VjcmV0IG9mIHRoZSBhY2NvdW50IGF0IHRoZSBDQSwgMjU2IGJpdHM"
)

// shops numbers the names that withACME uses, because certmagic stores the challenges of a process by name, for all CAs together.
var shops atomic.Int64

// withACME returns a shop with certificates of a CA for a new name and for its subdomain api. more is appended to the settings of
// server.tls.acme.
func withACME(ca *acmeca.CA, more, plain string) (s setup, name string) {
	name = "n" + strconv.FormatInt(shops.Add(1), 10) + ".shop.example"
	text := strings.Replace(testConfig, "server: {", "server: {tls: {acme: {agree: true, email: ops@shop.example, directory: \""+ca.Directory+
		"\", roots: roots.pem, http: \""+plain+"\""+more+"}}, ", 1)
	text = strings.Replace(text, "- agents_file", "- hosts: ["+name+", api."+name+"]\n  public_url: https://"+name+"\n  agents_file", 1)
	return setup{config: text, files: map[string]string{"roots.pem": ca.Roots}}, name
}

// reaching returns a client that resolves every name to one address, and trusts the CA.
func reaching(t *testing.T, ca *acmeca.CA, address string) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca.Root()) {
		t.Fatal("no root")
	}
	client := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func hostOf(t *testing.T, origin string) string {
	t.Helper()
	u, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// fetch requests a URL until it gets a response: the gateway cannot respond before it has its certificate.
func fetch(t *testing.T, client *http.Client, method, at string) (*http.Response, string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		r, err := http.NewRequestWithContext(t.Context(), method, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err == nil {
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			return response, string(body)
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		waitABit(t)
	}
}

// freeAddress returns a loopback address with a port that is not in use.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

func TestACMECertificates(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct {
		more        string
		plain, dns  bool
		options     acmeca.Options
		validatesAt func(plain, secure string) (string, string)
	}{
		"HTTP-01":     {plain: true, validatesAt: func(plain, _ string) (string, string) { return plain, "127.0.0.1:9" }},
		"TLS-ALPN-01": {validatesAt: func(_, secure string) (string, string) { return "127.0.0.1:9", secure }},
		"DNS-01":      {dns: true, validatesAt: func(_, _ string) (string, string) { return "127.0.0.1:9", "127.0.0.1:9" }},
		"EAB": {
			more: ", eab: {kid: " + accountID + ", key: " + accountKey + "}", options: acmeca.Options{AccountID: accountID, AccountKey: accountKey},
			validatesAt: func(_, secure string) (string, string) { return "127.0.0.1:9", secure },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca := acmeca.Start(t, how.options)
			plain, more := "", how.more
			if how.plain {
				plain = freeAddress(t)
			}
			if how.dns {
				more = ", dns: {server: \"" + ca.DNS.Address + "\", key: \"hmac-sha256:" + acmeca.KeyName + ":" + acmeca.KeySecret + "\"}"
			}
			s, name := withACME(ca, more, plain)
			g := startGate(t, s)
			if got := g.readiness(t).Checks["certificate"]; !got.OK || !got.Degraded ||
				!strings.Contains(got.Reason, "that have no certificate yet is 2") {
				t.Errorf("before: %+v", got)
			}
			ca.Validate(how.validatesAt(plain, hostOf(t, g.url)))
			for _, host := range []string{"api." + name, name} {
				response, body := fetch(t, reaching(t, ca, hostOf(t, g.url)), http.MethodGet, "https://"+host+"/agents.json")
				if response.StatusCode != http.StatusOK || !strings.Contains(body, "SearchProducts") {
					t.Fatalf("%s: %s %s", host, response.Status, body)
				}
			}
			if got, is := g.readiness(t).Checks["certificate"]; is {
				t.Errorf("after: %+v", got)
			}
			if how.dns {
				if added, left := ca.DNS.Updates(); added < 2 || left != 0 {
					t.Errorf("%d records were added, and %d are left", added, left)
				}
			}
			for _, secret := range []string{accountKey, acmeca.KeySecret, "PRIVATE KEY"} {
				if strings.Contains(g.log.String(), secret) {
					t.Errorf("the log has %s", secret)
				}
			}
		})
	}
}

// readiness returns the health of a gateway. It uses the socket for the operator's commands, which needs no certificate.
func (g *gate) readiness(t *testing.T) status.Health {
	t.Helper()
	operator := adminclient.New(adminclient.Options{Socket: config.SocketPath(filepath.Join(g.dir, "data"))})
	status, err := adminclient.Do(t.Context(), operator, operation.Status, operation.None{})
	if err != nil {
		t.Fatal(err)
	}
	return status.Health
}

// serial returns the serial number of the certificate that a gateway presents for a name.
func serial(t *testing.T, ca *acmeca.CA, g *gate, host string) string {
	t.Helper()
	response, _ := fetch(t, reaching(t, ca, hostOf(t, g.url)), http.MethodGet, "https://"+host+"/agents.json")
	return response.TLS.PeerCertificates[0].SerialNumber.String()
}

func TestPlainHTTPIsRedirected(t *testing.T) {
	t.Parallel()
	ca, plain := acmeca.Start(t, acmeca.Options{}), freeAddress(t)
	s, name := withACME(ca, "", plain)
	g := startGate(t, s)
	client := reaching(t, ca, plain)
	_, port, err := net.SplitHostPort(hostOf(t, g.url))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]struct {
		method   string
		status   int
		location string
	}{
		"http://" + name + "/a?b=c":                            {http.MethodGet, http.StatusPermanentRedirect, "https://" + name + ":" + port + "/a?b=c"},
		"http://api." + name + ":80//evil/..":                  {http.MethodHead, http.StatusPermanentRedirect, "https://api." + name + ":" + port + "//evil/.."},
		"http://" + name + "/api/intents":                      {http.MethodPost, http.StatusForbidden, ""},
		"http://" + strings.ToUpper(name) + "/":                {http.MethodGet, http.StatusPermanentRedirect, "https://" + name + ":" + port + "/"},
		"http://other.example/.well-known/acme-challenge/none": {http.MethodGet, http.StatusNotFound, ""},
		"http://other.example/":                                {http.MethodGet, http.StatusNotFound, ""},
		"http://" + name + "/.well-known/acme-challenge/none": {
			http.MethodGet, http.StatusPermanentRedirect, "https://" + name + ":" + port + "/.well-known/acme-challenge/none",
		},
	} {
		response, body := fetch(t, client, want.method, at)
		if response.StatusCode != want.status || response.Header.Get("Location") != want.location {
			t.Errorf("%s: %s to %q (%s); want %d to %q", at, response.Status, response.Header.Get("Location"), body, want.status, want.location)
		}
	}
}

func TestRenewalDoesNotInterruptCalls(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{Seconds: 300, RenewAfter: 2 * time.Second})
	s, name := withACME(ca, "", "")
	s.renewals = 200 * time.Millisecond
	g := startGate(t, s)
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	first := serial(t, ca, g, name)
	var over atomic.Bool
	defer over.Store(true)
	var callers sync.WaitGroup
	for range 4 {
		client := reaching(t, ca, hostOf(t, g.url)) // with a handshake for each call
		callers.Go(func() {
			for !over.Load() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+name+"/agents.json", nil)
				if err != nil {
					t.Error(err)
					return
				}
				response, err := client.Do(r)
				if err != nil {
					t.Errorf("a call during the renewal: %v", err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				waitABit(t) // handshakes without a pause would take all processors
			}
		})
	}
	for serial(t, ca, g, name) == first {
		waitABit(t)
	}
	over.Store(true)
	callers.Wait()
}

func TestProcessesShareACertificate(t *testing.T) {
	t.Parallel()
	ca, dsn := acmeca.Start(t, acmeca.Options{}), pgtest.Start(t).Database(t)
	s, name := withACME(ca, "", "")
	s.config = "store: ${file:store.url}\n" + s.config
	s.files["store.url"] = dsn + "\n"
	var gates []*gate
	for range 2 {
		gates = append(gates, startGate(t, s))
	}
	ca.Validate("127.0.0.1:9", hostOf(t, gates[1].url)) // the second process answers the challenges, whichever process orders
	for _, host := range []string{name, "api." + name} {
		if one, other := serial(t, ca, gates[0], host), serial(t, ca, gates[1], host); one != other {
			t.Errorf("%s has the certificates %s and %s", host, one, other)
		}
	}
	if got := ca.Orders(); got != 2 {
		t.Errorf("got %d orders for two names, want 2", got)
	}
}

// A gateway whose CA does not respond serves the certificates that it has, reports that one is missing, and shuts down normally.
func TestCertificateServedWithoutCA(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{})
	s, name := withACME(ca, "", "")
	g := startGate(t, s)
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	first := serial(t, ca, g, name)
	_ = serial(t, ca, g, "api."+name)
	g.stop()
	ca.Stop()
	s.dir, s.config = g.dir, strings.Replace(s.config, "hosts: [", "hosts: [new."+name+", ", 1)
	g = startGate(t, s)
	if got := serial(t, ca, g, name); got != first {
		t.Errorf("got the certificate %s, want %s", got, first)
	}
	if got := g.readiness(t).Checks["certificate"].Reason; !strings.Contains(got, "that have no certificate yet is 1") {
		t.Errorf("one is missing: %q, want a text that contains %q", got, "that have no certificate yet is 1")
	}
}

// A gateway that cannot listen for HTTP logs that, starts, and obtains its certificate by TLS-ALPN-01.
func TestGatewayStartsWithoutHTTP01Listener(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{})
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	s, name := withACME(ca, "", taken.Addr().String())
	g := startGate(t, s)
	for _, want := range []string{"the HTTP listener cannot be opened", "address already in use"} {
		if log := g.log.String(); !strings.Contains(log, want) {
			t.Errorf("the log lacks %q: %s", want, log)
		}
	}
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	_ = serial(t, ca, g, name)
}

// A reload applies new names.
func TestReloadObtainsCertificatesOfNewNames(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{})
	s, name := withACME(ca, "", "")
	g := startGate(t, s)
	ca.Validate("127.0.0.1:9", hostOf(t, g.url))
	_ = serial(t, ca, g, name)
	text := strings.ReplaceAll(s.config, "UPSTREAM", g.upstream.server.URL)
	g.write("uimgate.yaml", strings.Replace(text, "hosts: ["+name, "hosts: ["+name+", new."+name, 1))
	g.reload <- struct{}{}
	_ = serial(t, ca, g, "new."+name)
}
