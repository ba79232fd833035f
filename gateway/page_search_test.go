package gateway_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// library returns an agents.json with 1,000 intents of usual size under four tags. Half of them only read data.
func library() string {
	var list []string
	for n := range 1000 {
		method, tag := "GET", []string{"books", "Loans", "members", "fees"}[n%4]
		if n%2 == 1 {
			method = "POST"
		}
		var inputs []string
		for p := range 8 {
			inputs = append(inputs, fmt.Sprintf(`{"name": "p%d", "type": "string", "required": true, "maxLength": 40, "description": %q}`, p,
				strings.Repeat("A word or two. ", 5)))
		}
		list = append(list, fmt.Sprintf(`{"intent_uid": "library.example:%s-%03d:v1", "intent_name": "Intent%03d", "description": %q, "tags": [%q],
			"input_parameters": [%s], "endpoint": {"url": "https://library.example/i", "method": %q}}`, strings.ToLower(tag), n, n,
			strings.Repeat("What it does is **said** here. ", 20), tag, strings.Join(inputs, ","), method))
	}
	return `{"service-info": {"name": "library.example", "service_url": "https://library.example"}, "intents": [` + strings.Join(list, ",") + `]}`
}

const libraryPolicy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "uid": "https://library.example/policy",
	"profile": "http://example.com/profile/odrl-uim", "permission": [
	{"target": "https://library.example/api/intents", "action": "execute",
	 "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 600, "unit": "hour"}]}]}`

func TestSearchWithoutScript(t *testing.T) {
	g := pageGate(t, library(), libraryPolicy, "")
	look := func(query string) (text string, cards []string) {
		t.Helper()
		a := g.Get("/"+query, "Accept", browser)
		if a.Status != http.StatusOK || len(a.Body) >= 100_000 {
			t.Fatalf("%s: %d, %d bytes", query, a.Status, len(a.Body))
		}
		for _, card := range regexp.MustCompile(`<h3 id="library\.example:([^"]*):v1">`).FindAllStringSubmatch(string(a.Body), -1) {
			cards = append(cards, card[1])
		}
		return string(a.Body), cards
	}
	first, cards := look("")
	if len(cards) != 20 || cards[0] != "books-000" || !strings.Contains(first, "1000 intents are offered. Showing 1 to 20.") {
		t.Errorf("got %v", cards)
	}
	t.Logf("%d bytes", len(first))
	for _, want := range []string{
		`<strong>500</strong> intents only read data: free, 600 calls an hour</li>`,
		`<strong>500</strong> intents may change data: free, 600 calls an hour</li>`,
		`<a href="?tag=books#intents">books <span class="soft">250</span></a>`, `<a rel="next" href="?page=2#intents">Next</a>`,
		`<label for="q">Search intents</label>`, "What it does is <strong>said</strong> here.",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for query, want := range map[string]struct {
		first string
		cards int
		text  string
	}{
		"?q=intent517":                           {"loans-517", 1, "1 of 1000 intents found for “intent517”."},
		"?tag=loans":                             {"loans-001", 20, "250 of 1000 intents found, tagged loans. Showing 1 to 20."},
		"?tag=LOANS&page=13":                     {"loans-961", 10, `<a rel="prev" href="?page=12&amp;tag=LOANS#intents">Previous</a>`},
		"?q=intent517&tag=fees":                  {"", 0, "Nothing found for “intent517”, tagged fees."},
		"?q=%3Cscript%3Ealert(1)%3C/script%3E":   {"", 0, "Nothing found for “&lt;script&gt;alert(1)&lt;/script&gt;”."},
		"?page=99999":                            {"books-980", 20, "Page 50 of 50"},
		"?page=x&q=" + strings.Repeat("x", 1000): {"books-000", 20, "1000 intents are offered"},
		"?q=%ff":                                 {"books-000", 20, "1000 intents are offered"},
		"?intent=" + url.QueryEscape("library.example:fees-003:v1"): {"fees-003", 1, "<details open>"},
		"?intent=library.example:none:v1":                           {"", 0, "There is no such intent."},
	} {
		page, cards := look(query)
		if len(cards) != want.cards || len(cards) > 0 && cards[0] != want.first || !strings.Contains(page, want.text) {
			t.Errorf("%s: %v", query, cards)
		}
	}
	// Intents that do not fit on the page link to a separate page.
	if n := strings.Count(first, ">Parameters and an example</a></p>"); n == 0 || n == 20 {
		t.Errorf("%d intents are shown briefly", n)
	}
}

func TestSummaryOfTerms(t *testing.T) {
	policy := strings.Replace(gatetest.PolicyFile, `"target": "shop.example:search:v1", "action": "execute"`,
		`"target": "shop.example:search:v1", "action": "execute", "assignee": "https://partner.example/"`, 1)
	g := pageGate(t, gatetest.AgentsFile, policy, ", parties: {'https://partner.example/': {agent_id: partner, key: NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs}}")
	page := pageOf(g)
	for _, want := range []string{
		"<strong>1</strong> intent only reads data: only for agents that the policy names",
		"<strong>1</strong> intent may change data: 0.25 EUR a call",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestMarkdownInDescriptions(t *testing.T) {
	texts := map[string]string{
		"One *two* **three** `four<b>`.":      "One <em>two</em> <strong>three</strong> <code>four&lt;b&gt;</code>.",
		"First.\n\nSecond.":                   "<p>First.</p>\n<p>Second.</p>",
		"- a\n- b":                            "<ul>\n<li>a</li>\n<li>b</li>\n</ul>",
		"[shop](https://a.example/x?a=1&b)":   `<a rel="nofollow" href="https://a.example/x?a=1&amp;b">shop</a>`,
		"<https://a.example/>":                `<a rel="nofollow" href="https://a.example/">https://a.example/</a>`,
		"[x](javascript:alert(1))":            "x",
		"[x](JaVaScRiPt:alert(1))":            "x",
		"[x](data:text/html,y) [y](/path)":    "x y",
		"[x](https://u:p@a.example/)":         "x",
		"<javascript:alert(1)>":               "javascript:alert(1)",
		"[x](https://a.example/\"onclick=y)":  `<a rel="nofollow" href="https://a.example/%22onclick=y">x</a>`,
		"![alt](https://a.example/p.png)":     "alt",
		"<script>alert(1)</script> *a*":       "&lt;script&gt;alert(1)&lt;/script&gt; <em>a</em>",
		"<img src=x onerror=alert(1)>":        "&lt;img src=x onerror=alert(1)&gt;",
		"# no heading":                        "# no heading",
		"> no quote":                          "&gt; no quote",
		"```<b>\n<i>\n```":                    "<pre><code class=\"language-&lt;b&gt;\">&lt;i&gt;\n</code></pre>",
		"[a]: https://a.example/\n\n[a] here": "[a]: https://a.example/",
	}
	uids, intents := map[string]string{}, []string{}
	for text := range texts {
		uids[text] = fmt.Sprintf("shop.example:text-%d:v1", len(uids))
		intents = append(intents, fmt.Sprintf(`{"intent_uid": %q, "intent_name": "Text", "description": %q}`, uids[text], text))
	}
	g := pageGate(t, strings.Replace(gatetest.AgentsFile, `"intents": [`, `"intents": [`+strings.Join(intents, ",")+",", 1),
		gatetest.PolicyFile, "")
	for text, want := range texts {
		page := string(g.Get("/?intent="+url.QueryEscape(uids[text]), "Accept", browser).Body)
		got := regexp.MustCompile(`(?s)</code></a></p>\n<div>(.*?)</div>\n<p class="small"><strong>`).FindStringSubmatch(page)
		if got == nil {
			t.Fatalf("%q: no description", text)
		}
		if strings.HasPrefix(text, "[a]:") {
			got[1] = got[1][:0] + strings.Split(strings.TrimPrefix(got[1], "<p>"), "</p>")[0]
		}
		if diff := cmp.Diff(want, got[1]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// The endpoints for GET ignore unknown query parameters, as docs/protocols/uim.md states.
func TestUnknownQueryParametersAreIgnored(t *testing.T) {
	g := gatetest.New(t, "")
	for path, query := range map[string]string{
		"/api/intents/search": "query=search&", "/api/intents/" + gatetest.Searching: "", "/agents.json": "", "/api/policy": "",
	} {
		want, got := g.Get(path+"?"+query), g.Get(path+"?"+query+"unknown=1&utm_source=x")
		if got.Status != http.StatusOK || string(got.Body) != string(want.Body) {
			t.Errorf("%s: %d %s, want the response without the unknown parameters: %s", path, got.Status, got.Body, want.Body)
		}
	}
}
