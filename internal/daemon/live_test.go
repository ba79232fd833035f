package daemon_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
)

const otherToken = "test-admin-token-of-tomorrow-6789"

// reconfigure writes another configuration, and reloads it with the current token of the operator.
func (g *gate) reconfigure(token string, changes ...string) answer {
	g.t.Helper()
	text := strings.NewReplacer(append(slices.Clone(changes), "UPSTREAM", g.upstream.server.URL)...).Replace(testConfig)
	g.write("uimgate.yaml", text)
	return g.byToken(token, http.MethodPost, "/admin/v1/reload")
}

func (g *gate) byToken(token, method, path string) answer {
	g.t.Helper()
	a, err := try(g.t.Context(), method, g.admin+path, nil, header{"Authorization": "Bearer " + token})
	if err != nil {
		g.t.Fatal(err)
	}
	return a
}

// Settings that a reload applies take effect at once; the others are named in its response, in the status and by a metric.
func TestReloadAppliesOrNamesSettings(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	tight := []string{
		adminToken, otherToken, "per_address: 1000000/second", "per_address: 2/day", "issue_per_address: 100000/minute",
		"issue_per_address: 1/day",
	}
	got := g.reconfigure(adminToken, tight...)
	if named := got.json(t)["needs_restart"]; got.status != http.StatusOK || named != nil {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if was, is := g.byToken(adminToken, "GET", "/admin/v1/status"), g.byToken(otherToken, "GET", "/admin/v1/status"); was.status !=
		http.StatusUnauthorized || is.status != http.StatusOK {
		t.Errorf("the old token: %d, the new token: %d", was.status, is.status)
	}
	for _, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if got := g.do("GET", "/agents.json", nil, nil); got.status != want {
			t.Errorf("%d %s, want %d", got.status, got.body, want)
		}
	}
	wide := []string{adminToken, otherToken, "issue_per_address: 100000/minute", "issue_per_address: 1/day"}
	g.reconfigure(otherToken, wide...)
	for n, want := range []int{http.StatusBadRequest, http.StatusTooManyRequests} {
		if got := g.do("POST", "/api/pat/issue", []byte(`{`), header{"Content-Type": "application/json"}); got.status != want {
			t.Errorf("agreement %d: %d %s, want %d", n, got.status, got.body, want)
		}
	}

	restart := append(slices.Clone(wide), "listen: 127.0.0.1:0, per", "read_timeout: 9s, listen: 127.0.0.1:1, per",
		"pat: {", "pat: {algorithm: ES256, ")
	want := []any{"server.listen", "server.read_timeout", "pat.algorithm"}
	got = g.reconfigure(otherToken, restart...)
	if named, _ := got.json(t)["needs_restart"].([]any); !slices.Equal(named, want) {
		t.Errorf("%s, want %v", got.body, want)
	}
	if named, _ := g.byToken(otherToken, "GET", "/admin/v1/status").json(t)["needs_restart"].([]any); !slices.Equal(named, want) {
		t.Errorf("status: %v, want %v", named, want)
	}
	if n := g.metric("uimgate_config_settings_need_restart"); n != "3" {
		t.Errorf("the metric is %q, want %q", n, "3")
	}
	g.reconfigure(otherToken, wide...)
	if n := g.metric("uimgate_config_settings_need_restart"); n != "0" {
		t.Errorf("after the change was undone, the metric is %q, want %q", n, "0")
	}
}

// After a reload with a longer timeout, an order may take longer than requests could before. It is charged once.
func TestReloadExtendsTheResponseDeadline(t *testing.T) {
	t.Parallel()
	const before = 800*time.Millisecond + 500*time.Millisecond + time.Millisecond // the time for a request before the reload
	arrived, answered := make(chan struct{}, 2), make(chan struct{})
	g := startGate(t, setup{
		config: strings.NewReplacer("timeout: 2s", "timeout: 1ms", "listen: 127.0.0.1:0, per", "read_timeout: 800ms, listen: 127.0.0.1:0, per").
			Replace(testConfig),
		slack: 500 * time.Millisecond,
		upstream: func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-answered
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"order_id": "o-1"}`)
		},
	})
	release := sync.OnceFunc(func() { close(answered) })
	t.Cleanup(release)
	if got := g.reconfigure(adminToken, "timeout: 2s", "timeout: 2m", "listen: 127.0.0.1:0, per",
		"read_timeout: 800ms, listen: 127.0.0.1:0, per"); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	a := g.newAgent("agent-1").agree()
	type result struct {
		answer
		err error
	}
	results := make(chan result, 1)
	go func() {
		got, err := try(t.Context(), "POST", g.url+"/api/intents/execute",
			[]byte(`{"intent_uid": "shop.example:place-order:v1", "parameters": {"product_id": "p1", "quantity": 1}}`),
			header{"Content-Type": "application/json", "Authorization": "Bearer " + a.token})
		results <- result{got, err}
	}()
	select {
	case <-arrived:
	case got := <-results:
		t.Fatalf("got %d %s, %v", got.status, got.body, got.err)
	}
	time.AfterFunc(before, release)
	got := <-results
	if charge := got.header.Get("UIM-Charge"); got.err != nil || got.status != http.StatusOK || !strings.Contains(charge, "state=captured") {
		t.Errorf("%d %s, %v, charge %q", got.status, got.body, got.err, charge)
	}
	if n := len(g.upstream.calls()); n != 1 {
		t.Errorf("%d orders reached the shop, want 1", n)
	}
	accounts := g.adminDo("GET", "/admin/v1/usage/accounts", nil)
	if !strings.Contains(string(accounts.body), `"captured":"0.25"`) || !strings.Contains(string(accounts.body), `"held":"0.00"`) {
		t.Errorf("got %s", accounts.body)
	}
}

func TestRenewedCertificateIsServedAtOnce(t *testing.T) {
	t.Parallel()
	cert, key, before := selfSigned(t)
	g := startGate(t, setup{
		config: strings.Replace(testConfig, "server: {", "server: {tls: {cert: cert.pem, key: key.pem}, ", 1),
		files:  map[string]string{"cert.pem": cert, "key.pem": key},
	})
	reached := func(roots *x509.CertPool) bool {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(g.url, "https://"), &tls.Config{RootCAs: roots})
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	first := cert
	cert, key, after := selfSigned(t)
	if !reached(before) || reached(after) {
		t.Fatal("the gateway does not serve the configured certificate")
	}
	g.write("key.pem", key)
	g.write("cert.pem", cert)
	either := x509.NewCertPool() // the reload may already have happened
	either.AppendCertsFromPEM([]byte(first))
	either.AppendCertsFromPEM([]byte(cert))
	own := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: either}}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.admin+"/admin/v1/reload", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := own.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK || reached(before) || !reached(after) {
		t.Errorf("%s; the gateway does not serve the renewed certificate", response.Status)
	}
}

// Only the owner can use the socket in the data directory, and needs no token there.
func TestOwnerSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	socket := config.SocketPath(filepath.Join(dir, "data"))
	if err := os.WriteFile(socket, []byte("left by a crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := startGate(t, setup{dir: dir})
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Type() != os.ModeSocket || info.Mode().Perm() != 0o600 {
		t.Fatalf("got %v %v", info.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "data", ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("got %v %v; want none, nil", left, err)
	}
	if got := g.byToken("no-token-of-this-gateway-000000000", "GET", "/admin/v1/status"); got.status != http.StatusUnauthorized {
		t.Errorf("the listener on the network: %d %s; want %v", got.status, got.body, http.StatusUnauthorized)
	}
}
