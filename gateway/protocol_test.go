package gateway_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// The page about the protocol is sufficient to write an agent, and every other page and document links to it.
func TestProtocolPage(t *testing.T) {
	g := pageGate(t, gatetest.AgentsFile, gatetest.PolicyFile, "")
	page := g.Get("/docs/protocol", "Accept", "text/html")
	if page.Status != http.StatusOK || page.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
		page.Header.Get("Content-Security-Policy") == "" {
		t.Fatalf("%d %v", page.Status, page.Header)
	}
	html := string(page.Body)
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		to := m[1]
		if fragment, own := strings.CutPrefix(to, "#"); own && !ids[fragment] || !own && to != "../errors" && !strings.HasPrefix(to, "https://") {
			t.Errorf("the link %s leads nowhere", to)
		}
	}
	if !ids["the-proof-uim-proofjwt"] || !strings.Contains(html, "<table>") {
		t.Error("the section about proofs or a table is missing")
	}
	again := g.Get("/docs/protocol", "Accept", "text/html", "If-None-Match", page.Header.Get("ETag"))
	if again.Status != http.StatusNotModified {
		t.Errorf("got %d with the ETag", again.Status)
	}
	plain := g.Get("/docs/protocol")
	if plain.Header.Get("Content-Type") != "text/markdown; charset=utf-8" || !strings.HasPrefix(string(plain.Body), "# The protocol") ||
		strings.Contains(string(plain.Body), "](../../") {
		t.Errorf("%v %.200s", plain.Header, plain.Body)
	}
	for path, accept := range map[string]string{
		"/": "text/html", "/errors": "text/html", "/errors/INVALID_TOKEN": "text/html", "/nothing": "text/html", "/agents.json": "*/*",
	} {
		if !strings.Contains(string(g.Get(path, "Accept", accept).Body), "/docs/protocol") {
			t.Errorf("%s does not lead to the protocol", path)
		}
	}
	if body := string(g.Get("/", "Accept", "application/json").Body); !strings.Contains(body, `"protocol":"http`) {
		t.Errorf("got %s", body)
	}
}

// The command for an intent that costs money has a proof, and the page explains how to make one.
func TestExampleOfPaidIntentHasAProof(t *testing.T) {
	g := pageGate(t, gatetest.AgentsFile, gatetest.PolicyFile, "")
	html := string(g.Get("/", "Accept", "text/html").Body)
	if n := strings.Count(html, "UIM-Proof: $PROOF"); n != 1 || strings.Count(html, "/docs/protocol#the-proof-uim-proofjwt") != 1 {
		t.Errorf("%d commands have a proof, want that of the paid intent:\n%s", n, html)
	}
}
