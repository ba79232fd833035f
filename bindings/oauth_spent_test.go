package bindings_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/store"
)

// TestLeakedSpentCodeRevokesNothing sends a used code, and its handle, without the verifier, like someone who found them in a browser's
// history or a log.
func TestLeakedSpentCodeRevokesNothing(t *testing.T) {
	t.Parallel()
	g := newGate(t, "")
	p := newPKCE()
	code := g.code(p)
	got := g.post("/oauth/token", g.exchange(code, p))
	if got.Status != http.StatusOK {
		t.Fatalf("got %+v, want Status %v", got, http.StatusOK)
	}
	handle, _, _ := strings.Cut(code, ".")
	_, secret, _ := strings.Cut(got.Refresh, ".")
	forged := handle + "." + secret[:len(secret)-1] + "A"
	set := func(v url.Values, pairs ...string) url.Values {
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return v
	}
	for name, form := range map[string]url.Values{
		"another verifier":                       g.exchange(code, newPKCE()),
		"no verifier":                            set(g.exchange(code, p), "code_verifier", ""),
		"another client":                         set(g.exchange(code, p), "client_id", "https://other.example/client.json"),
		"another redirect URI":                   set(g.exchange(code, p), "redirect_uri", callback+"/"),
		"the code as refresh token":              g.refresh(code),
		"its handle in a refresh token":          g.refresh(forged),
		"a used refresh token of another client": set(g.refresh(got.Refresh[:len(got.Refresh)-1]+"A"), "client_id", "https://other.example/client.json"),
		"its handle with the current secret":     g.refresh(handle + "." + secret),
	} {
		g.wants(name, g.post("/oauth/token", form), "invalid_grant")
		if !g.works(got.Access) {
			t.Fatalf("%s revoked the consent", name)
		}
	}
	if next := g.post("/oauth/token", g.refresh(got.Refresh)); next.Status != http.StatusOK {
		t.Errorf("the client's own refresh token: %+v, want Status %v", next, http.StatusOK)
	}
	g.wants("the client itself, a second time", g.post("/oauth/token", g.exchange(code, p)), "invalid_grant")
	if g.works(got.Access) {
		t.Error("a client that used its code twice kept its consent")
	}
}

// TestResubmittedForm sends one form three times, sequentially and concurrently.
func TestResubmittedForm(t *testing.T) {
	t.Parallel()
	for name, atOnce := range map[string]bool{"sequentially": false, "at once": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, "")
			p, b := newPKCE(), g.browser()
			form := formOf(b.page(g.query(p)))
			var group sync.WaitGroup
			codes := make([]string, 3)
			for n := range codes {
				send := func() {
					sender := *b
					codes[n] = g.sentTo(sender.do(http.MethodPost, "/oauth/authorize", form)).Get("code")
				}
				if atOnce {
					group.Go(send)
				} else {
					send()
				}
			}
			group.Wait()
			if codes[0] == "" || codes[1] != codes[0] || codes[2] != codes[0] {
				t.Errorf("codes %q, want one", codes)
			}
			if n := g.agreements(); n != 1 {
				t.Errorf("%d agreements, want 1", n)
			}
			got := g.post("/oauth/token", g.exchange(codes[0], p))
			if got.Status != http.StatusOK {
				t.Fatalf("got %+v, want Status %v", got, http.StatusOK)
			}
			a := b.do(http.MethodPost, "/oauth/authorize", form)
			if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" || !strings.Contains(string(a.Body), "already submitted") {
				t.Errorf("after the code was used: %d to %q", a.Status, a.Header.Get("Location"))
			}
			if !g.works(got.Access) || g.agreements() != 1 {
				t.Error("a form sent after the code was used changed the agreement")
			}
			if again := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", formOf(b.page(g.query(p))))).Get("code"); again == codes[0] {
				t.Error("a new page led to the same code")
			}
		})
	}
}

func (g *gate) agreements() int {
	g.Helper()
	list, err := g.Store.Agreements(g.Context(), store.AgreementFilter{Service: "default", Limit: 10})
	g.Must(err)
	return len(list)
}
