package bindings_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/consent"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

func unmarshal(text []byte, v any) error { return json.Unmarshal(text, v) }

// agree makes a person agree where the operator must approve, and returns the path of the waiting page.
func (b *browser) agree(p pkce) string {
	b.Helper()
	a := b.do(http.MethodPost, "/oauth/authorize", formOf(b.page(b.query(p))))
	path, ok := strings.CutPrefix(a.Header.Get("Location"), "wait?")
	if a.Status != http.StatusSeeOther || !ok {
		b.Fatalf("%d to %q", a.Status, a.Header.Get("Location"))
	}
	return "/oauth/wait?" + path
}

// waiting checks that the path shows the waiting page, and returns its agent id.
func (b *browser) waiting(path string) pat.AgentID {
	b.Helper()
	a := b.do(http.MethodGet, path, nil)
	_, rest, _ := strings.Cut(string(a.Body), "<code>")
	id, _, _ := strings.Cut(rest, "</code>")
	if a.Status != http.StatusOK || !strings.Contains(string(a.Body), `http-equiv="refresh"`) || !pat.Consented(pat.AgentID(id)) {
		b.Fatalf("got %d %.500s", a.Status, a.Body)
	}
	return pat.AgentID(id)
}

func TestOperatorApprovesConsent(t *testing.T) {
	g := newGate(t, "pat: {admission: approval}")
	p, b := newPKCE(), g.browser()
	path := b.agree(p)
	id := b.waiting(path)
	if a := g.browser().do(http.MethodGet, path, nil); a.Status != http.StatusBadRequest {
		t.Errorf("another browser: %d, want %d", a.Status, http.StatusBadRequest)
	}
	other := g.browser()
	other.page(g.query(newPKCE()))
	if a := other.do(http.MethodGet, path, nil); a.Status != http.StatusBadRequest {
		t.Errorf("another browser with a cookie: %d, want %d", a.Status, http.StatusBadRequest)
	}
	g.Must(g.Directory.Current().Service("default").Issuance.Approve(t.Context(), id))
	first := g.sentTo(b.do(http.MethodGet, path, nil))
	sent := g.sentTo(b.do(http.MethodGet, path, nil)) // the first response was lost
	if sent.Get("state") != "state & more" || sent.Get("iss") != origin {
		t.Errorf("got %v", sent)
	}
	g.wants("the code before", g.post("/oauth/token", g.exchange(first.Get("code"), p)), "invalid_grant")
	got := g.post("/oauth/token", g.exchange(sent.Get("code"), p))
	if got.Status != http.StatusOK || !g.works(got.Access) {
		t.Fatalf("got %+v", got)
	}
	if a := b.do(http.MethodGet, path, nil); a.Status != http.StatusBadRequest {
		t.Errorf("after the code was used: %d, want %d", a.Status, http.StatusBadRequest)
	}
}

func TestOperatorRefusesConsent(t *testing.T) {
	for name, end := range map[string]func(*gate, pat.AgentID){
		"blocked": func(g *gate, id pat.AgentID) {
			g.Must(g.Directory.Current().Service("default").Issuance.Revoke(g.Context(), pat.Revocation{
				Kind: pat.RevokedAgent, Subject: string(id), Reason: "not known",
			}))
		},
		"another policy": func(g *gate, _ pat.AgentID) { g.changePolicy() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "pat: {admission: approval}")
			b := g.browser()
			path := b.agree(newPKCE())
			end(g, b.waiting(path))
			if sent := g.sentTo(b.do(http.MethodGet, path, nil)); sent.Get("error") != "access_denied" || sent.Get("code") != "" {
				t.Errorf("got %v", sent)
			}
		})
	}
}

func TestConsentByInvitation(t *testing.T) {
	g := newGate(t, `pat: {admission: allowlist, allow: ["n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"]}`)
	invitation, err := consent.Invite(t.Context(), g.Store, "default", "Ann", g.Now(), time.Hour)
	g.Must(err)
	p, b := newPKCE(), g.browser()
	page := b.page(g.query(p))
	if !strings.Contains(string(page.Body), `name="invitation"`) {
		t.Fatal("the page does not ask for an invitation")
	}
	for _, wrong := range []string{"", "nonsense", strings.Repeat("A", 1000)} {
		form := formOf(page)
		form.Set("invitation", wrong)
		if a := b.do(http.MethodPost, "/oauth/authorize", form); a.Status != http.StatusOK ||
			!strings.Contains(string(a.Body), "asks for an invitation") {
			t.Errorf("%q: %d", wrong, a.Status)
		}
	}
	form := formOf(page)
	form.Set("invitation", " "+strings.ToLower(invitation.Code)+" ")
	code := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form)).Get("code")
	got := g.post("/oauth/token", g.exchange(code, p))
	if got.Status != http.StatusOK || !g.works(got.Access) {
		t.Fatalf("got %+v", got)
	}
	form = formOf(b.page(g.query(newPKCE())))
	form.Set("invitation", invitation.Code)
	if a := b.do(http.MethodPost, "/oauth/authorize", form); a.Status != http.StatusOK {
		t.Errorf("the invitation a second time: %d, want %d", a.Status, http.StatusOK)
	}
	late, err := consent.Invite(t.Context(), g.Store, "default", "", g.Now(), time.Hour)
	g.Must(err)
	g.Later(time.Hour)
	form = formOf(b.page(g.query(newPKCE())))
	form.Set("invitation", late.Code)
	if a := b.do(http.MethodPost, "/oauth/authorize", form); a.Status != http.StatusOK {
		t.Errorf("an invitation that has ended: %d, want %d", a.Status, http.StatusOK)
	}
	claims, err := g.Directory.Current().Service("default").Verifier.Verify(t.Context(), got.Access, g.Now().Add(-time.Hour))
	if err == nil {
		agreement, err := g.Store.Agreement(t.Context(), "default", claims.Agreement)
		g.Must(err)
		if record, _ := agreement.Consent(); record.Invitation != "Ann" {
			t.Errorf("got %+v, want Invitation %q", record, "Ann")
		}
	}
}

// A page that is shown again, for example after a mistyped invitation, keeps the person's selection.
func TestReshownPageKeepsSelection(t *testing.T) {
	g := newGate(t, `pat: {admission: allowlist, allow: ["n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"]}`, func(g *gatetest.Gate) {
		g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `, "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]`, "", 1))
	})
	b := g.browser()
	form := formOf(b.page(g.query(newPKCE())))
	if len(form["scope"]) != 2 {
		t.Fatalf("got %q, want length 2", form["scope"])
	}
	form["scope"] = []string{gatetest.Searching + ":execute"}
	again := b.do(http.MethodPost, "/oauth/authorize", form)
	text := string(again.Body)
	if strings.Index(text, "asks for an invitation") > strings.Index(text, "<h1>") {
		t.Error("the error message is below the heading")
	}
	if got := formOf(again)["scope"]; len(got) != 1 || got[0] != gatetest.Searching+":execute" {
		t.Errorf("ticked: %q; want length 1 and [0] %v", got, gatetest.Searching+":execute")
	}
	if !strings.Contains(text, gatetest.Ordering+`:execute"><strong>`) {
		t.Error("the page does not offer the deselected intent again")
	}
	invitation, err := consent.Invite(t.Context(), g.Store, "default", "", g.Now(), time.Hour)
	g.Must(err)
	form = formOf(again)
	form.Set("invitation", invitation.Code)
	if sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form)); sent.Get("code") == "" {
		t.Errorf("got %v", sent)
	}
	policy := b.do(http.MethodGet, "/oauth/wait", nil).Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "form-action 'self';") {
		t.Errorf("a page without redirect: %s, want a text that contains %q", policy, "form-action 'self';")
	}
}
