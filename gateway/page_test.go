package gateway_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

var update = flag.Bool("update", false, "write the results of the tests to their golden files")

const pageSettings = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM, execute: /any}, public_url: 'https://agents.shop.example'%s}\n"

// pageGate returns a gateway with the given agents.json and policy. settings are added to those of the service.
func pageGate(t *testing.T, agents, policy, settings string) *gatetest.Gate {
	t.Helper()
	g := gatetest.New(t, fmt.Sprintf(pageSettings, settings), func(g *gatetest.Gate) {
		g.Write("agents.json", agents)
		g.Write("policy.json", policy)
	})
	return g
}

func repositoryFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func pageOf(g *gatetest.Gate) string {
	g.Helper()
	a := g.Get("/", "Accept", browser)
	if a.Status != http.StatusOK {
		g.Fatalf("got %d %s; want %v", a.Status, a.Body, http.StatusOK)
	}
	return string(a.Body)
}

// golden compares got with a file in testdata/page.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", "page", name)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update after reading it):\n%s", name, diff)
	}
}

func TestPageOfExampleShop(t *testing.T) {
	g := pageGate(t, repositoryFile(t, "examples/shop/agents.json"), repositoryFile(t, "examples/shop/policy.json"), "")
	golden(t, "shop.html", pageOf(g))
}

// hostile is an agents.json in which every text contains markup or a shell command.
const hostile = `{
  "service-info": {"name": "<script>alert(1)</script>", "description": "\"'><img src=x onerror=alert(2)>", "service_url": "https://shop.example/\"onclick=\"alert(3)"},
  "uim-license": "https://uimprotocol.com/licenses/D-uim-by-nc-nomt-v1.0",
  "uim-compliance": {"standards": ["<b>GDPR</b>"], "regional-compliance": {"EU": "AI Act"}, "notes": "</ul></section>"},
  "intents": [
    {"intent_uid": "shop.example:search:v1", "intent_name": "</h3><style>*{display:none}</style>", "description": "{{.}} & <a href='javascript:alert(4)'>x</a>",
     "input_parameters": [
       {"name": "it's $(reboot) <b>", "type": "string", "required": true, "pattern": "^'; rm -rf ~; '$", "description": "<i>"},
       {"name": "when", "type": "string", "required": true, "format": "date"},
       {"name": "code", "type": "string", "required": true, "pattern": "^[A-Z]{2}-[0-9]{3,}$"},
       {"name": "hard", "type": "string", "required": true, "pattern": "^(a|b)\\b[c-d]+\\b$", "minLength": 40},
       {"name": "many", "type": "array", "required": true, "minItems": 2, "maxItems": 5, "uniqueItems": false, "items": {"type": "integer", "minimum": 3}},
       {"name": "deep", "type": "object", "required": true, "properties": {"x": {"type": "string", "enum": ["</pre>", "b"]}}, "constraints": {"required": ["x"]}},
       {"name": "some", "type": "number", "default": 2.50, "exclusiveMinimum": 0, "maximum": 10}
     ],
     "tags": ["<u>"], "endpoint": {"url": "https://shop.example/search", "method": "POST"}},
    {"intent_uid": "shop.example:gone:v1", "intent_name": "Gone", "description": "Retired.", "retired": true}
  ]
}`

func TestPageEscapesText(t *testing.T) {
	policy := strings.ReplaceAll(gatetest.PolicyFile,
		`{"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}`,
		`{"target": "shop.example:search:v1", "action": "execute", "duty": [{"action": "attribute", "description": "<script>alert(5)</script>"}]}`)
	g := pageGate(t, hostile, policy, ", intents: {'shop.example:search:v1': {agreement: fresh, ceiling: 1000/hour}}")
	page := pageOf(g)
	golden(t, "hostile.html", page)
	page = regexp.MustCompile(`(?s)<script>\(\(\) =>.*?</script>`).ReplaceAllString(page, "") // our own
	for _, markup := range []string{"<script", "<img", "<b>", "<i>", "<u>", "javascript:", `"onclick`} {
		if strings.Contains(page, markup) && markup != "javascript:" || strings.Contains(page, `="javascript:`) {
			t.Errorf("the page contains %s", markup)
		}
	}
	if strings.Contains(page, "Retired.") {
		t.Error("a retired intent is offered")
	}
}

// The texts of the operator cannot change the example command: the shell passes exactly the call to curl.
func TestExampleCommandIsQuoted(t *testing.T) {
	g := pageGate(t, hostile, strings.ReplaceAll(permitAll, "shop.example/policy", "shop.example/p"), "")
	example := regexp.MustCompile(`(?s)<h4>Example</h4>\n<pre tabindex="0"><code>(.*?)</code>`).FindStringSubmatch(pageOf(g))
	if example == nil {
		t.Fatal("no example")
	}
	script := "PAT=token\nuuidgen() { echo key; }\ncurl() { printf '%s\\0' \"$@\"; }\n" + html.UnescapeString(example[1])
	out, err := exec.CommandContext(t.Context(), "sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	want := []string{
		"https://agents.shop.example/api/intents/execute", "-H", "Authorization: Bearer token", "-H",
		"Content-Type: application/json", "-H", "Idempotency-Key: key", "-d",
	}
	if len(args) != len(want)+1 || !cmp.Equal(args[:len(want)], want) {
		t.Fatalf("got %q", args)
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(args[len(want)]), &body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"intent_uid": "shop.example:search:v1", "parameters": map[string]any{
		"it's $(reboot) <b>": "'; rm -rf ~; '", "when": "2026-01-31", "code": "AA-111", "hard": "<hard>", "many": []any{3.0, 3.0},
		"deep": map[string]any{"x": "</pre>"},
	}}, body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPageTruncatesLargeIntents(t *testing.T) {
	var inputs []string
	for i := range 200 {
		inputs = append(inputs, fmt.Sprintf(`{"name": "p%03d", "type": "string", "description": %q}`, i, strings.Repeat("ä", 900)))
	}
	agents := strings.Replace(gatetest.AgentsFile, `{"name": "query", "type": "string", "required": true}`, strings.Join(inputs, ","), 1)
	page := pageOf(pageGate(t, agents, gatetest.PolicyFile, ""))
	if strings.Contains(page, "p050") || !strings.Contains(page, "p049") || !strings.Contains(page, "150 more parameters") {
		t.Errorf("%d bytes", len(page))
	}
}

// The Content-Security-Policy allows only the inline style sheet and script, by their hashes, and requests to the page's own origin.
func TestPageSecurityHeaders(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Get("/", "Accept", browser)
	hash := func(element string) string {
		found := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllSubmatch(a.Body, -1)
		if len(found) != 1 {
			t.Fatalf("%d of %s", len(found), element)
		}
		sum := sha256.Sum256(found[0][1])
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	csp := a.Header.Get("Content-Security-Policy")
	want := "default-src 'none'; style-src " + hash("style") + "; script-src " + hash("script") +
		"; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	if csp != want {
		t.Errorf("CSP %q, want %q", csp, want)
	}
	if icon := g.Get("/favicon.ico"); icon.Header.Get("Content-Type") != "image/svg+xml" || len(icon.Body) > 500 ||
		!strings.Contains(string(a.Body), `href="favicon.svg"`) {
		t.Errorf("icon: %d, %d bytes", icon.Status, len(icon.Body))
	}
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Vary": "Accept",
		"Cache-Control": "public, max-age=60",
	} {
		if got := a.Header.Get(name); got != value {
			t.Errorf("%s %q, want %q", name, got, value)
		}
	}
	for _, outside := range []string{"<script ", " onclick", "<link rel=\"stylesheet", "<img", "<iframe", "style=", "src="} {
		if strings.Contains(string(a.Body), outside) {
			t.Errorf("the page contains %s", outside)
		}
	}
	etag := a.Header.Get("ETag")
	again := g.Get("/", "Accept", browser, "If-None-Match", etag)
	if etag == "" || again.Status != http.StatusNotModified || len(again.Body) > 0 {
		t.Errorf("ETag %q: %d %s", etag, again.Status, again.Body)
	}
}

func TestAcceptHTML(t *testing.T) {
	g := gatetest.New(t, "")
	for accept, wanted := range map[string]bool{
		browser: true, "text/html": true, "TEXT/HTML;charset=utf-8": true, "application/xhtml+xml": true,
		"text/html, application/json": true, "application/json;q=0.5,text/html": true,
		"": false, "*/*": false, "application/json": false, "application/json, text/plain, */*": false,
		"text/html;q=0": false, "text/html;q=0.5, application/json": false, "text/html;q=x": false,
		"text/html;q=1e9": false, "text/html;q=-1": false, "application/uim+json, text/html;q=0.9": false,
		",,;;": false, strings.Repeat("a/b,", 40) + "text/html": false,
	} {
		a := g.Get("/", "Accept", accept)
		if got := strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"); a.Status != http.StatusOK || got != wanted {
			t.Errorf("%q: %d %s", accept, a.Status, a.Header.Get("Content-Type"))
		}
		if a.Header.Get("Vary") != "Accept" {
			t.Errorf("%q: Vary %q, want %q", accept, a.Header.Get("Vary"), "Accept")
		}
	}
	g.Refuses(g.Get("/index.html", "Accept", "application/json"), http.StatusNotFound, "NO_SUCH_PATH")
	lost := g.Get("/index.html", "Accept", browser)
	if lost.Status != http.StatusNotFound || !strings.Contains(string(lost.Body), "NO_SUCH_PATH") {
		t.Errorf("got %d %.200s", lost.Status, lost.Body)
	}
}

// TestPolicyAsText checks which Accept fields get the sentences of the policy, and that they are those of the policy that is asked for.
func TestPolicyAsText(t *testing.T) {
	g := gatetest.New(t, "")
	digest := strings.Trim(g.Get("/api/policy").Header.Get("ETag"), `"`)
	for accept, wanted := range map[string]bool{
		"text/plain": true, "text/plain, */*;q=0.1": true, "text/plain;q=0.9, text/html;q=0.8": true,
		"": false, "*/*": false, "text/*": false, "application/json, text/plain, */*": false, "text/plain;q=0.5, application/ld+json": false,
		"text/plain;q=0": false, browser: false,
	} {
		a := g.Get("/api/policy?digest="+digest, "Accept", accept)
		text := string(a.Body)
		if got := strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain"); a.Status != http.StatusOK || got != wanted {
			t.Errorf("%q: %d %s, want text: %v", accept, a.Status, a.Header.Get("Content-Type"), wanted)
		} else if got && (!strings.Contains(text, digest) || !strings.Contains(text, "What is permitted\n\n- ") || !strings.Contains(text,
			"0.25 EUR")) {
			t.Errorf("%q: got %s", accept, text)
		}
		if !strings.Contains(strings.Join(a.Header.Values("Vary"), ","), "Accept") {
			t.Errorf("%q: Vary %q", accept, a.Header.Values("Vary"))
		}
	}
	if a := g.Get("/api/policy", "Accept", "text/plain"); a.Header.Get("ETag") == `"`+digest+`"` {
		t.Error("the sentences have the ETag of the policy")
	}
	g.Refuses(g.Get("/api/policy?digest=sha-256:none", "Accept", "text/plain"), http.StatusNotFound, "NO_SUCH_PATH")
}

// The entry points in the JSON document of / exist, and it has the policy to agree to.
func TestEntryPoints(t *testing.T) {
	g := gatetest.New(t, "")
	var entry struct {
		Service, Issuer string
		Policy          map[string]string
		Points          map[string]string `json:"entry_points"`
		Start           []string
	}
	a := g.Get("/", "Accept", "*/*")
	if err := json.Unmarshal(a.Body, &entry); err != nil || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("got %v %s; want nil, %q", err, a.Header.Get("Content-Type"), "application/json")
	}
	offer := g.Directory.Current().Service("default").Offer()
	if entry.Service != "shop.example" || entry.Issuer != "shop.example" || len(entry.Start) == 0 ||
		!cmp.Equal(entry.Policy, map[string]string{"uid": offer.UID, "digest": offer.Digest, "url": entry.Points["policy"]}) {
		t.Errorf("got %+v", entry)
	}
	for _, name := range []string{
		"agents", "policy", "search", "execute", "issue", "renew", "revoke", "introspect", "keys", "openapi", "intent",
		"mcp", "a2a", "agent_card",
	} {
		path, ok := strings.CutPrefix(entry.Points[name], "http://127.0.0.1:8080/")
		if !ok {
			t.Errorf("%s is %q", name, entry.Points[name])
			continue
		}
		there := g.Get("/" + strings.ReplaceAll(path, "{intent_uid}", gatetest.Searching))
		if want := http.StatusOK; there.Status != want && there.Status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", path, there.Status)
		}
	}
	again := g.Get("/", "If-None-Match", a.Header.Get("ETag"))
	if again.Status != http.StatusNotModified {
		t.Errorf("with the ETag: %d, want %d", again.Status, http.StatusNotModified)
	}
}

// many returns an agents.json with n intents.
func many(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"intent_uid": "shop.example:intent-%05d:v1", "intent_name": "Intent%d", "description": "Number %d.",
			"input_parameters": [{"name": "x", "type": "string", "required": true}], "output_parameters": [{"name": "y", "type": "string"}],
			"endpoint": {"url": "https://shop.example/i", "method": "GET"}}`, i, i, i))
	}
	return `{"service-info": {"name": "shop.example", "service_url": "https://shop.example"}, "intents": [` + strings.Join(list, ",") + `]}`
}

const permitAll = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "uid": "https://shop.example/policy", "permission": {"target": "https://shop.example/api/intents", "action": "execute"}}`

func TestLargeCataloguesAreBounded(t *testing.T) {
	g := pageGate(t, many(10_000), permitAll, "")
	page := pageOf(g)
	if n := strings.Count(page, "<article"); n != 20 || !strings.Contains(page, "10000 intents are offered. Showing 1 to 20.") ||
		!strings.Contains(page, `href="?page=2#intents"`) || len(page) > 100_000 {
		t.Errorf("%d intents in %d bytes", n, len(page))
	}
	a := g.Get("/openapi.json")
	var doc struct {
		Info       struct{ Description string }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(a.Body, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Components.Schemas) != 3*1000+1 || !strings.Contains(doc.Info.Description, "first 1000 of 10000") {
		t.Errorf("%d schemas, %q", len(doc.Components.Schemas), doc.Info.Description)
	}
}

func TestLicenceHeader(t *testing.T) {
	for license, want := range map[string]string{
		`"https://uimprotocol.com/licenses/uim-by-nc-v1.0"`: "UIM-BY-NC-v1.0",
		`"d-uim-nomt-by-v1.0"`:                              "D-UIM-BY-NoMT-v1.0",
		`"https://creativecommons.org/licenses/by/4.0/"`:    "https://creativecommons.org/licenses/by/4.0/",
		`" All rights reserved "`:                           "All rights reserved",
		`"UIM-BY-v1.0\r\nSet-Cookie: a=b"`:                  "",
		`"\u001b"`:                                          "",
		`"Lizenz für alle"`:                                 "",
		`"` + strings.Repeat("x", 513) + `"`:                "",
		`null`:                                              "",
	} {
		agents := strings.Replace(gatetest.AgentsFile, `"intents": [`, `"uim-license": `+license+`, "intents": [`, 1)
		g := pageGate(t, agents, gatetest.PolicyFile, "")
		a := g.Execute(g.Agreed("agent-1"), gatetest.Searching)
		if got := a.Header.Values("Uim-License"); a.Status != http.StatusOK || strings.Join(got,
			"|") != want || len(a.Header.Values("Set-Cookie")) > 0 {
			t.Errorf("%s: %d %q, want %q", license, a.Status, got, want)
		}
	}
}
