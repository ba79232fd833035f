package config_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/oidc"
)

func TestOIDC(t *testing.T) {
	dir := directory(t)
	const whole = "issuer: https://id.example/, client_id: gate, client_secret: canary, "
	const issuer = "uimgate.yaml:6: admin.oidc.issuer: "
	for text, want := range map[string]string{
		whole + "roles: {admin: [root]}":                                              "",
		whole + "roles: {admin: [root]}, redirect: 'http://localhost:1/console/oidc'": "",
		whole + "roles: {viewer: [a]}, claim: /a/b, scopes: [groups]":                 "",
		"client_id: gate": issuer + "is required with the other settings of admin.oidc: set the issuer of the provider",
		"issuer: http://id.example, client_id: gate, client_secret: canary, roles: {admin: [root]}":                issuer + "refused: http://id.example is not https: for a provider inside your network, set private: true",
		"issuer: http://id.example, client_id: gate, client_secret: canary, roles: {admin: [root]}, private: true": "",
		"issuer: 'https://id.example?x', client_id: gate, client_secret: canary, roles: {admin: [root]}":           issuer + "the value is not valid: want an http:// or https:// URL without user, query and fragment",
		"issuer: https://id.example, roles: {admin: [root]}": "uimgate.yaml:6: admin.oidc.client_id: is required with issuer: set the id of this gateway at the provider, on one line\n" +
			"uimgate.yaml:6: admin.oidc.client_secret: is required with issuer: set the secret that the provider has issued, on one line",
		whole:                            "uimgate.yaml:6: admin.oidc.roles: gives no group a role: list a group for at least one of viewer, operator, billing and admin",
		whole + "roles: {admin: ['']}":   "uimgate.yaml:6: admin.oidc.roles.admin[0]: is empty",
		whole + "roles: {owner: [root]}": `uimgate.yaml:6: admin.oidc.roles: unknown key "owner": known keys are viewer, operator, billing, admin`,
		whole + "roles: {admin: [root]}, scopes: ['a b']": "uimgate.yaml:6: admin.oidc.scopes[0]: is not a scope: want one word of visible ASCII characters",
		whole + "roles: {admin: [root]}, claim: /a~b":     `uimgate.yaml:6: admin.oidc.claim: "/a~b" is not a JSON pointer: want one such as /realm_access/roles`,
		whole + "roles: {admin: [root]}, redirect: 'https://x.example/other'": "uimgate.yaml:6: admin.oidc.redirect: is not a URL of the console: want https, or http on this machine, " +
			"and the path /console/oidc",
		whole + "roles: {admin: [root]}, redirect: 'http://x.example/console/oidc'": "uimgate.yaml:6: admin.oidc.redirect: is not a URL of the console: want https, or http on this machine, " +
			"and the path /console/oidc",
	} {
		_, problems := load(t, dir, five+"admin: {oidc: {"+text+"}}\n", config.Overrides{})
		got := strings.Join(texts(dir, problems), "\n")
		if diff := cmp.Diff(want, got); diff != "" || strings.Contains(got, "canary") {
			t.Error(text, diff)
		}
	}
}

func TestOIDCWithoutAConsole(t *testing.T) {
	dir := directory(t)
	_, problems := load(t, dir, five+"admin: {console: false, oidc: {issuer: https://id.example, client_id: a, client_secret: b, roles: {admin: [root]}}}\n",
		config.Overrides{})
	want := []string{"uimgate.yaml:6: warning: admin.oidc: has no effect: admin.console is false"}
	if diff := cmp.Diff(want, texts(dir, problems)); diff != "" {
		t.Error(diff)
	}
}

func TestOptionsOfOIDC(t *testing.T) {
	c, problems := load(t, directory(t), five+`admin: {oidc: {issuer: "https://id.example/", client_id: gate, client_secret: s, roles: {billing: [fin], admin: [root]}}}
`, config.Overrides{})
	if c == nil {
		t.Fatal(problems)
	}
	fallback := &url.URL{Scheme: "http", Host: "127.0.0.1:8081", Path: config.OIDCPath}
	got := c.Admin.OIDC.Options(fallback, time.Now)
	got.Now = nil
	want := oidc.Options{
		Issuer: "https://id.example/", ClientID: "gate", ClientSecret: "s", Scopes: []string{"profile", "email"}, Redirect: fallback,
		Roles: []oidc.Role{{Name: "viewer"}, {Name: "operator"}, {Name: "billing", Values: []string{"fin"}}, {Name: "admin", Values: []string{"root"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
