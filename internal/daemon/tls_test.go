package daemon_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// selfSigned makes a certificate for 127.0.0.1 and its key, as PEM.
func selfSigned(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(cert))
	return cert, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})), pool
}

func TestTLSFromFiles(t *testing.T) {
	t.Parallel()
	cert, key, pool := selfSigned(t)
	g := startGate(t, setup{
		config: strings.Replace(testConfig, "server: {", "server: {tls: {cert: cert.pem, key: key.pem}, ", 1),
		files:  map[string]string{"cert.pem": cert, "key.pem": key},
	})
	if !strings.HasPrefix(g.url, "https://127.0.0.1:") {
		t.Fatalf("listening at %s, want a text that starts with %q", g.url, "https://127.0.0.1:")
	}
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/agents.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := secure.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		t.Errorf("%s over %s", response.Status, response.Proto)
	}
	old := &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11} // must be refused
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(g.url, "https://"), old); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 was accepted")
	}
}

func TestUnreadableKeysAreRefused(t *testing.T) {
	cert, _, _ := selfSigned(t)
	_, otherKey, _ := selfSigned(t)
	config := strings.Replace(testConfig, "server: {", "server: {tls: {cert: cert.pem, key: key.pem}, ", 1)
	for name, key := range map[string]string{"missing": "", "nonsense": "nonsense", "of another certificate": otherKey} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"cert.pem": cert}
			if key != "" {
				files["key.pem"] = key
			}
			if got := refusal(t, setup{config: config, files: files}); !strings.Contains(got, "key") || strings.Contains(got, "PRIVATE KEY") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// If a renewed certificate has expired or is not valid yet, the response to the reload reports it.
func TestExpiredCertificateIsReported(t *testing.T) {
	t.Parallel()
	cert, key, _ := selfSigned(t)
	clock := time.Now()
	g := startGate(t, setup{
		config: strings.Replace(testConfig, "server: {", "server: {tls: {cert: cert.pem, key: key.pem}, ", 1),
		files:  map[string]string{"cert.pem": cert, "key.pem": key}, now: func() time.Time { return clock.Add(2 * time.Hour) },
	})
	if log := g.log.String(); !strings.Contains(log, "server.tls.cert: the certificate expired at") {
		t.Errorf("the log of the start does not report it: %s", log)
	}
}

func TestProbesNeedNeitherTLSNorToken(t *testing.T) {
	t.Parallel()
	cert, key, _ := selfSigned(t)
	g := startGate(t, setup{
		config: strings.Replace(testConfig, "server: {", "telemetry: {listen: 127.0.0.1:0}\nserver: {tls: {cert: cert.pem, key: key.pem}, ", 1),
		files:  map[string]string{"cert.pem": cert, "key.pem": key},
	})
	token := header{"Authorization": "Bearer " + adminToken}
	for _, c := range []struct {
		path   string
		header header
		status int
		body   string
	}{
		{"/livez", nil, http.StatusOK, "ok"},
		{"/healthz", nil, http.StatusOK, "ok"},
		{"/readyz", nil, http.StatusOK, "certificate"},
		{"/metrics", nil, http.StatusOK, "uimgate_build_info{"},
		{"/readyz", header{"Host": "evil.example"}, http.StatusForbidden, "HOST_NOT_ALLOWED"},
		{"/admin/v1/status", token, http.StatusNotFound, "NO_SUCH_PATH"},
		{"/admin/v1/keys", token, http.StatusNotFound, "NO_SUCH_PATH"},
		{"/agents.json", nil, http.StatusNotFound, "NO_SUCH_PATH"},
	} {
		a, err := try(t.Context(), http.MethodGet, g.probes+c.path, nil, c.header)
		if err != nil {
			t.Fatal(err)
		}
		if a.status != c.status || !strings.Contains(string(a.body), c.body) {
			t.Errorf("%s with %v: %d %s; want %d with %q", c.path, c.header, a.status, a.body, c.status, c.body)
		}
	}
}
