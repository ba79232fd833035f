package bindings_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// succeededGate is a gateway whose policy is succeeded an hour later by one with other terms for every intent or, if all is false, only
// for orders.
func succeededGate(t *testing.T, all bool) *gate {
	t.Helper()
	next := strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.50"`, 1)
	if all {
		next = strings.Replace(next, `"permission": [`, `"obligation": [{"action": "inform"}], "permission": [`, 1)
	}
	return newGate(t, "services:\n- {agents_file: agents.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+
		", policies: [{file: policy.json}, {file: next.json, from: 2026-11-21T13:00Z}]}\n", func(g *gatetest.Gate) { g.Write("next.json", next) })
}

// A consent from before the date continues for the intents whose terms stay the same: its code, its access token and its refresh token work
// after the date.
func TestConsentAcrossDateOfPolicy(t *testing.T) {
	g := succeededGate(t, false)
	g.Later(time.Hour - time.Second)
	first, p := g.tokens(), newPKCE()
	code := g.code(p)
	g.Later(time.Second)
	if !g.works(first.Access) {
		t.Error("the access token ended on the date")
	}
	for name, got := range map[string]oauth{
		"the code":          g.post("/oauth/token", g.exchange(code, p)),
		"the refresh token": g.post("/oauth/token", g.refresh(first.Refresh)),
	} {
		if got.Status != http.StatusOK || !g.works(got.Access) {
			t.Errorf("%s: %+v, want a token that permits a search", name, got)
		}
	}
}

// If the next policy has other terms for every intent, a consent from before the date ends on it, and a page from before the date is shown
// again with the new terms.
func TestConsentEndsOnDateOfPolicy(t *testing.T) {
	g := succeededGate(t, true)
	g.Later(time.Hour - time.Second)
	first, p, b := g.tokens(), newPKCE(), g.browser()
	code, page := g.code(p), b.page(g.query(newPKCE()))
	if text := string(page.Body); !strings.Contains(text, "terms</a> apply from then on:") || !strings.Contains(text, "<h3>From ") {
		t.Errorf("a page from before the date does not announce the next policy: %s", text)
	}
	form := formOf(page)
	g.Later(time.Second)
	if g.works(first.Access) {
		t.Error("the access token permits a search after the date")
	}
	g.wants("the code", g.post("/oauth/token", g.exchange(code, p)), "invalid_grant")
	g.wants("the refresh token", g.post("/oauth/token", g.refresh(first.Refresh)), "invalid_grant")
	again := b.do(http.MethodPost, "/oauth/authorize", form)
	if again.Status != http.StatusOK || !strings.Contains(string(again.Body), "Please check again") {
		t.Fatalf("a page from before the date: %d %.300s, want the page again", again.Status, again.Body)
	}
	if sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", formOf(again))); sent.Get("code") == "" {
		t.Errorf("after agreeing to the new page: %v, want a code", sent)
	}
}
