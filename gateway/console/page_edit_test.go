package console_test

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/problem"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

const (
	editPath   = "/console/policy/edit"
	impactPath = "/console/policy/impact"
	savePath   = "/console/policy/save"
)

// dearer is the policy with a higher price.
var dearer = strings.Replace(gatetest.PolicyFile, `"amount": "0.25"`, `"amount": "0.75"`, 1)

// compare sends the form that compares an edited policy.
func (b *browser) compare(policy string) pageResponse {
	b.Helper()
	return b.submit(editPath, impactPath, url.Values{"policy": {policy}, "sha256": {hiddenValue(b.page(editPath), "sha256")}})
}

// hiddenValue returns the value of the first hidden field with a name.
func hiddenValue(page, name string) string {
	_, rest, _ := strings.Cut(page, `<input type="hidden" name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func TestWhatAnEditedPolicyWouldChange(t *testing.T) {
	g := newConsoleGate(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering, "UIM-Request-ID", "o-1")
	g.Must(g.Audit.Flush())
	b := g.as(api.RoleViewer)
	if page := b.page(editPath); !strings.Contains(page, "https://shop.example/policy/1") || !strings.Contains(page, g.Path("policy.json")) {
		t.Errorf("the form lacks the policy or the file: %s", page)
	}
	research := strings.Replace(gatetest.PolicyFile, `"duty"`,
		`"constraint": [{"leftOperand": "purpose", "operator": "eq", "rightOperand": "research"}], "duty"`, 1)
	const refused, repriced, anew = "<h2>Newly refused", "<h2>Charged more or less", "<h2>Agents that must agree again"
	for name, c := range map[string]struct {
		policy        string
		wanted, never []string
	}{
		"the same text": {gatetest.PolicyFile, []string{"means the same"}, []string{refused, repriced, anew, "/console/calls/o-1"}},
		"the line ends of a browser": {
			strings.ReplaceAll(gatetest.PolicyFile, "\n", "\r\n"), []string{"means the same"}, []string{"U+000D", anew},
		},
		"a price": {
			dearer,
			[]string{repriced, anew, "/console/calls/o-1", "0.25 EUR", "0.75 EUR", "&#43;0.50 EUR", `href="/console/agents/agent-1"`},
			[]string{refused},
		},
		"a constraint":         {research, []string{refused, anew, "/console/calls/o-1", gatetest.Ordering}, []string{repriced}},
		"invisible characters": {dearer + "\u200b", nil, []string{savePath}},
	} {
		got := b.compare(c.policy)
		if got.status != http.StatusOK && c.wanted != nil {
			t.Errorf("%s: %d", name, got.status)
		}
		for _, want := range c.wanted {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s: the page lacks %q: %s", name, want, got.body)
			}
		}
		for _, bad := range c.never {
			if strings.Contains(got.body, bad) {
				t.Errorf("%s: the page has %q", name, bad)
			}
		}
	}
	g.Pass(2 * time.Hour)
	b = g.as(api.RoleViewer)
	if got := b.submit(editPath, impactPath, url.Values{"policy": {dearer}, "period": {"1h"}}); strings.Contains(got.body, repriced) {
		t.Errorf("the last hour has an older call: %s", got.body)
	}
	if got := b.submit(editPath, impactPath, url.Values{"policy": {dearer}, "period": {"24h"}}); !strings.Contains(got.body, repriced) {
		t.Errorf("the last day lacks a call: %s", got.body)
	}
	if got := b.compare("{"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "policy:1: error") {
		t.Errorf("an invalid policy: %d %s", got.status, got.body)
	}
	if got := b.post(impactPath, url.Values{"policy": {dearer}}); got.status != http.StatusForbidden {
		t.Errorf("without the token of the form: %d", got.status)
	}
	if strings.Contains(g.audited.String(), "/policy") {
		t.Error("a comparison is in the audit as a change")
	}
}

func TestSaveAPolicy(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Agreed("agent-1")
	g.Must(g.Audit.Flush())
	file := func() string {
		text, err := os.ReadFile(g.Path("policy.json"))
		g.Must(err)
		return string(text)
	}
	for _, role := range []api.Role{api.RoleViewer, api.RoleOperator, api.RoleBilling} {
		got := g.as(role).compare(dearer)
		if got.status != http.StatusOK || csrf(got.body, savePath) != "" || !strings.Contains(got.body, "sign in as admin") {
			t.Errorf("as %s: %d %s", role, got.status, got.body)
		}
	}
	b := g.as(api.RoleAdmin)
	compared := b.compare(dearer)
	sum := hiddenValue(compared.body, "sha256")
	form := url.Values{"csrf": {csrf(compared.body, savePath)}, "policy": {dearer}, "sha256": {sum}}
	g.Pass(10 * time.Minute) // a person must then prove their identity again
	review := b.post(savePath, form)
	if review.status != http.StatusOK || !strings.Contains(review.body, "0.75") || !strings.Contains(review.body, `name="credential"`) ||
		file() != gatetest.PolicyFile {
		t.Fatalf("the review: %d %s", review.status, review.body)
	}
	form.Set("confirmed", "yes")
	if got := b.post(savePath, form); got.status != http.StatusForbidden || file() != gatetest.PolicyFile {
		t.Errorf("without a credential: %d %s", got.status, got.body)
	}
	form.Set("credential", adminToken)
	g.problems = config.Problems{{File: "uimgate.yaml", Line: 7, Message: "too wide", Level: problem.Error}}
	if got := b.post(savePath, form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "uimgate.yaml:7") ||
		file() != gatetest.PolicyFile {
		t.Errorf("a reload that is refused: %d %s", got.status, got.body)
	}
	if strings.Contains(g.audited.String(), "POST /policy") {
		t.Error("a policy that was not saved is in the audit")
	}
	g.problems = config.Problems{{File: "uimgate.yaml", Line: 9, Message: "look", Level: problem.Warning}}
	saved := b.post(savePath, form)
	for _, want := range []string{"The policy is saved", "policy.json.1", "uimgate.yaml:9: warning: look"} {
		if saved.status != http.StatusOK || !strings.Contains(saved.body, want) {
			t.Errorf("the result lacks %q: %d %s", want, saved.status, saved.body)
		}
	}
	if file() != dearer || !strings.Contains(g.audited.String(), `"by":"ann-admin"`) {
		t.Errorf("the file is %q, the audit %s", file(), g.audited.String())
	}
	form.Set("policy", gatetest.PolicyFile)
	stale := b.post(savePath, form)
	if stale.status != http.StatusConflict || !strings.Contains(stale.body, "<h2>The file now") || file() != dearer {
		t.Errorf("a file that was changed: %d %s", stale.status, stale.body)
	}
	if again := hiddenValue(stale.body, "sha256"); again == sum || again == "" {
		t.Errorf("the form has the digest %q", again)
	}
	g.Must(os.Rename(g.Path("policy.json"), g.Path("mounted.json")))
	g.Must(os.Symlink("mounted.json", g.Path("policy.json")))
	readOnly := b.compare(gatetest.PolicyFile)
	if readOnly.status != http.StatusOK || csrf(readOnly.body, savePath) != "" || !strings.Contains(readOnly.body, "Copy this text") ||
		!strings.Contains(readOnly.body, "<pre") {
		t.Errorf("a file that cannot be written: %d %s", readOnly.status, readOnly.body)
	}
	form.Set("sha256", hiddenValue(readOnly.body, "sha256"))
	if got := b.post(savePath, form); got.status != http.StatusConflict || !strings.Contains(got.body, "<h2>Your text") {
		t.Errorf("a file that cannot be written, saved: %d %s", got.status, got.body)
	}
}
