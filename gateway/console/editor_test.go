package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/api"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

var policyField = regexp.MustCompile(`(?s)<textarea id="policy"[^>]*>\n(.*?)</textarea>`)

func TestEditorKeepsTheText(t *testing.T) {
	g := newConsoleGate(t, "")
	id := g.Execute(g.Agreed("agent-1"), gatetest.Ordering).Header.Get("UIM-Request-ID")
	b := g.as(api.RoleViewer)
	page, path := "/console/calls/"+id, "/console/calls/"+id+"/decide"
	want := strings.Replace(gatetest.PolicyFile, "{", "{\n\t\"dc:title\": \"a\u00adb\u200d<i>&amp;\u202e\",", 1)
	form := url.Values{"policy": {strings.ReplaceAll(want, "\n", "\r\n")}}
	for press := range 2 {
		got := b.submit(page, path, form)
		shown := policyField.FindStringSubmatch(got.body)
		if got.status != http.StatusOK || shown == nil {
			t.Fatalf("press %d: %d %s", press, got.status, got.body)
		}
		if text := html.UnescapeString(shown[1]); text != want {
			t.Fatalf("press %d: the editor has %q, want %q", press, text, want)
		}
		if strings.Contains(got.body, "\u202e") {
			t.Errorf("press %d: the page has a character that reorders text", press)
		}
		form.Set("policy", strings.ReplaceAll(html.UnescapeString(shown[1]), "\n", "\r\n"))
	}
}

func TestFactsMayBeNumbers(t *testing.T) {
	g := newConsoleGate(t, "")
	id := g.Execute(g.Agreed("agent-1"), gatetest.Ordering).Header.Get("UIM-Request-ID")
	b := g.as(api.RoleViewer)
	page, path := "/console/calls/"+id, "/console/calls/"+id+"/decide"
	policy := strings.Replace(gatetest.PolicyFile, `"duty"`,
		`"constraint": [{"leftOperand": "percentage", "operator": "lteq", "rightOperand": 5}], "duty"`, 1)
	for fact, decision := range map[string]string{"percentage = 5": "permit", "percentage = 6": "deny"} {
		got := b.submit(page, path, url.Values{"policy": {policy}, "facts": {fact + "\r\n"}})
		if got.status != http.StatusOK || !strings.Contains(got.body, ">"+decision+"<") {
			t.Errorf("%s: %d %s", fact, got.status, got.body)
		}
	}
}
