package online_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/online"
	"github.com/uimgate/uimgate/internal/test/acmeca"
	facilitatortest "github.com/uimgate/uimgate/internal/test/facilitator"
	oidctest "github.com/uimgate/uimgate/internal/test/oidc"
)

// closed returns an address of this machine at which nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	return ln.Addr().String()
}

// findings loads a configuration, and returns the findings of the checks as "path: ok" or "path: text".
func findings(t *testing.T, resolver *net.Resolver, yaml string, replaced ...string) (list []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"uimgate.yaml": strings.NewReplacer(replaced...).Replace(yaml),
		"agents.json":  `{"intents": []}`, "policy.json": `{"uid": "https://shop.example/policy"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, problems := config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{})
	if c == nil {
		t.Fatal(problems)
	}
	for _, f := range online.Check(t.Context(), c, resolver) {
		text := f.Text
		if f.OK {
			text = "ok"
		}
		list = append(list, f.Path+": "+text)
		if p := f.Problem(c); p.Line == 0 || !strings.HasPrefix(p.Message, f.Path) {
			t.Errorf("got %+v", p)
		}
	}
	return list
}

// over returns a resolver that queries a DNS server on this machine, or fails if address is empty.
func over(address string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if address == "" {
			return nil, errors.New("no server")
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}}
}

func TestServersThatAnswer(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{})
	ca.Validate("127.0.0.1:9", "127.0.0.1:9")
	roots := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(roots, []byte(ca.Roots), 0o600); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	got := findings(t, over(ca.DNS.Address), `
server: {tls: {acme: {agree: true, directory: "DIRECTORY", roots: "ROOTS", dns: {server: "127.0.0.1:53"}}}}
services:
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: URL}, public_url: "https://shop.example:PORT"}
audit: {export: {syslog: {address: ADDRESS}}}
telemetry: {otlp: {endpoint: URL}}
notify: [{url: URL, secret: 0123456789abcdef}]
`, "DIRECTORY", ca.Directory, "ROOTS", roots, "ADDRESS", s.Listener.Addr().String(), "PORT", port, "URL", s.URL)
	want := []string{
		"services[0].public_url: ok", "services[0].public_url: ok", "services[0].upstream.url: ok", "server.tls.acme: ok",
		"audit.export.syslog.address: ok", "telemetry.otlp.endpoint: ok", "notify[0].url: ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func TestServersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	notCA := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(notCA.Close)
	roots := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: notCA.Certificate().Raw})
	if err := os.WriteFile(roots, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	address := closed(t)
	got := findings(t, over(""), `
server: {tls: {acme: {agree: true, directory: "DIRECTORY", roots: "ROOTS"}}}
services:
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: "http://CLOSED"}, public_url: "https://shop.example"}
audit: {export: {syslog: {address: CLOSED}}}
telemetry: {otlp: {endpoint: "http://CLOSED"}}
`, "DIRECTORY", notCA.URL+"/dir", "ROOTS", roots, "CLOSED", address)
	refused := ": " + address + " does not accept connections: connect: connection refused"
	want := []string{
		"services[0].public_url: shop.example has no address in DNS: create an A or AAAA record",
		"services[0].public_url: shop.example:443 does not accept connections: ",
		"services[0].upstream.url" + refused,
		"server.tls.acme: the CA at " + notCA.URL + "/dir cannot be used: it answered with status 404",
		"audit.export.syslog.address" + refused,
		"telemetry.otlp.endpoint" + refused,
	}
	if len(got) != len(want) {
		t.Fatalf("got %q, want length %v", got, len(want))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%q; want %q", got[i], want[i])
		}
	}
}

func TestFacilitator(t *testing.T) {
	t.Parallel()
	chain := facilitatortest.New(t, nil)
	const yaml = `services: [{agents_file: agents.json, policy_file: policy.json, upstream: {url: 'http://127.0.0.1:1'}}]
payments: {x402: {facilitator: URL, auth: TOKEN, pay_to: TO, accepts: [{network: 'eip155:CHAIN', asset: TO, currency: USD, name: USDC}]}}
`
	check := func(chain, address string) string {
		list := findings(t, over(""), yaml, "URL", "'"+address+"'", "TOKEN", "token", "TO", "'"+facilitatortest.PayTo+"'", "CHAIN", chain)
		return strings.ReplaceAll(list[len(list)-1], address, "URL")
	}
	for _, tt := range []struct{ chain, address, want string }{
		{"84532", chain.URL, "payments.x402.facilitator: ok"},
		{"8453", chain.URL, "payments.x402.facilitator: URL settles no payments of the scheme exact on eip155:8453: remove the token from payments.x402.accepts"},
		{"84532", "http://" + closed(t), "payments.x402.facilitator: URL: check its URL, and payments.x402.auth: the facilitator gave no usable response"},
	} {
		if got := check(tt.chain, tt.address); !strings.HasPrefix(got, tt.want) || tt.want == "payments.x402.facilitator: ok" && got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestIdentityProviders(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t, time.Now)
	upstream := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(upstream.Close)
	for issuer, want := range map[string]string{
		p.URL:                 "ok",
		p.URL + "/":           "the identity provider cannot be used: its issuer differs from admin.oidc.issuer: write the issuer exactly as the provider does",
		"http://" + closed(t): "the identity provider cannot be used: request to ",
	} {
		got := findings(t, over(""), `
admin: {oidc: {issuer: "ISSUER", client_id: a, client_secret: b, roles: {admin: [root]}}}
services:
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: URL}, public_url: "http://127.0.0.1:8080"}
`, "ISSUER", issuer, "URL", upstream.URL)
		if found := got[len(got)-1]; !strings.HasPrefix(found, "admin.oidc.issuer: "+want) {
			t.Errorf("%s: %s", issuer, found)
		}
	}
}
