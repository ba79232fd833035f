package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
)

var withBlocks = config.Overrides{Blocks: bindings.Blocks(), Env: none}

// service returns the YAML of a service with the given id, hosts and public URL.
func service(id, hosts, public string) string {
	return "- {id: " + id + ", issuer: " + id + ", hosts: " + hosts + ", public_url: '" + public + "', agents_file: agents.json, " +
		"policy_file: policy.json, upstream: {url: 'http://127.0.0.1:9'}}\n"
}

func TestCertificateNames(t *testing.T) {
	t.Parallel()
	text := "server: {listen: ':443', tls: {acme: {agree: true}}}\nservices:\n" +
		service("a", "[shop.example, 192.0.2.1, localhost]", "https://www.shop.example:444") +
		service("b", "[gate.internal, shop.test.example]", "https://shop.test.example")
	c, problems := load(t, directory(t), text, withBlocks)
	if c == nil {
		t.Fatal(problems)
	}
	if got, want := c.CertificateNames(), []string{"www.shop.example", "shop.example", "shop.test.example"}; !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
	var warned int
	for _, p := range problems {
		if strings.Contains(p.Message, "gets no certificate") {
			warned++
		}
	}
	if warned != 3 {
		t.Errorf("%d warnings: %v; want 3", warned, problems)
	}
}

func TestACMEListener(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ listen, acme, want string }{
		{":443", "agree: true", ":80"},
		{"192.0.2.1:443", "agree: true", "192.0.2.1:80"},
		{"[2001:db8::1]:443", "agree: true", "[2001:db8::1]:80"},
		{":8443", "agree: true", ""},
		{":443", "agree: true, http: ':8080'", ":8080"},
		{":443", "agree: false", ""},
	} {
		got, problems := load(t, directory(t), "server: {listen: '"+c.listen+"', tls: {acme: {"+c.acme+"}}}\nservices:\n"+
			service("a", "[shop.example]", "https://shop.example"), withBlocks)
		if got == nil {
			t.Fatal(problems)
		}
		if is := got.Server.HTTPListen(); is != c.want {
			t.Errorf("listen %s, acme {%s}: %q; want %q", c.listen, c.acme, is, c.want)
		}
	}
}

func TestACMEDirectory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"agree: true":                "https://acme-v02.api.letsencrypt.org/directory",
		"agree: true, staging: true": "https://acme-staging-v02.api.letsencrypt.org/directory",
		"agree: true, directory: https://ca.example/directory": "https://ca.example/directory",
	} {
		c, problems := load(t, directory(t), "server: {tls: {acme: {"+text+"}}}\nservices:\n"+service("a", "[shop.example]", "https://shop.example"), withBlocks)
		if c == nil {
			t.Fatal(problems)
		}
		if got := c.Server.TLS.ACME.DirectoryURL(); got != want {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
}

// A change to tls.acme requires a restart.
func TestChangedCANeedsRestart(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	load := func(acme string) *config.Config {
		c, problems := load(t, dir, "server: {tls: {acme: {"+acme+"}}}\nservices:\n"+service("a", "[shop.example]", "https://shop.example"), withBlocks)
		if c == nil {
			t.Fatal(problems)
		}
		return c
	}
	now := load("agree: true")
	if got := now.NeedsRestart(load("agree: true, staging: true")); !slices.Contains(got, "server.tls") {
		t.Errorf("got %q, want a list that contains %q", got, "server.tls")
	}
	if got := now.NeedsRestart(load("agree: true")); len(got) != 0 {
		t.Errorf("got %q, want none", got)
	}
}
