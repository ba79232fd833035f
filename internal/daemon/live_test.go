package daemon_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/config"
)

const otherToken = "test-admin-token-of-tomorrow-6789"

// reconfigure writes another configuration and reloads it by the operator's token of now.
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

// What a reload takes over holds at once; what it does not is named in its answer, in the status and by a metric.
func TestAReloadTakesOverSettingsOrNamesThem(t *testing.T) {
	g := startGate(t, setup{})
	tight := []string{
		adminToken, otherToken, "per_address: 1000000/second", "per_address: 2/day", "issue_per_address: 100000/minute",
		"issue_per_address: 1/day",
	}
	got := g.reconfigure(adminToken, tight...)
	if named := got.json(t)["needs_restart"]; got.status != http.StatusOK || named != nil {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if was, is := g.byToken(adminToken, "GET", "/admin/v1/status"), g.byToken(otherToken, "GET", "/admin/v1/status"); was.status !=
		http.StatusUnauthorized || is.status != http.StatusOK {
		t.Errorf("the token before: %d, the one of now: %d", was.status, is.status)
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
		t.Errorf("the metric is %q", n)
	}
	g.reconfigure(otherToken, wide...)
	if n := g.metric("uimgate_config_settings_need_restart"); n != "0" {
		t.Errorf("as it was, the metric is %q", n)
	}
}

func TestARenewedCertificateIsServedAtOnce(t *testing.T) {
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
		t.Fatal("another certificate than the one configured is served")
	}
	g.write("key.pem", key)
	g.write("cert.pem", cert)
	either := x509.NewCertPool() // the files may have been taken over already
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
		t.Errorf("%s; the certificate of now is not served", response.Status)
	}
}

// The socket in the data directory is its owner's alone, and asks for nothing.
func TestTheOwnersSocket(t *testing.T) {
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
		t.Fatalf("%v %v", info.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "data", ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	if got := g.byToken("no-token-of-this-gateway-000000000", "GET", "/admin/v1/status"); got.status != http.StatusUnauthorized {
		t.Errorf("the listener on the network: %d %s", got.status, got.body)
	}
}
