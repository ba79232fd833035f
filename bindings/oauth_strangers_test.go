package bindings_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/pat"
)

// Even if client documents named by unapproved agents hang, the document of an approved agent is fetched.
func TestUnapprovedLeavePlacesForDocuments(t *testing.T) {
	t.Parallel()
	g := newGate(t, "server: {issue_per_address: 1000/second, per_address: 10000/second, trusted_proxies: [127.0.0.1]}")
	got := g.tokens()
	claims, err := g.Directory.Current().Service("default").Verifier.Verify(t.Context(), got.Access, g.Now())
	g.Must(err)
	g.Must(g.Store.SetAgent(t.Context(), pat.AgentChange{
		Service: "default", ID: claims.Subject, Status: pat.AgentActive, Approved: true,
	}))
	if again := g.post("/oauth/token", g.refresh(got.Refresh)); again.Status != http.StatusOK {
		t.Fatalf("got %+v, want Status %v", again, http.StatusOK)
	}
	g.Later(25 * time.Hour) // the document is read again
	g.client.mu.Lock()
	document := g.client.serve
	g.client.mu.Unlock()
	hanging, release := make(chan struct{}, 100), make(chan struct{})
	g.client.set(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "other") {
			hanging <- struct{}{}
			<-release
		}
		document(w, r)
	})
	var strangers sync.WaitGroup
	for from := range 32 {
		strangers.Go(func() {
			for n := range 4 {
				query := g.query(newPKCE(), func(v url.Values) { v.Set("client_id", fmt.Sprintf("%s/other-%d-%d", g.client.URL, from, n)) })
				strangers.Go(func() { g.Get("/oauth/authorize?"+query.Encode(), "X-Forwarded-For", fmt.Sprint("203.0.113.", from)) })
			}
		})
	}
	for range 24 {
		<-hanging
	}
	a := g.Get("/oauth/authorize?"+g.query(newPKCE()).Encode(), "X-Forwarded-For", "192.0.2.1")
	if a.Status != http.StatusOK {
		t.Errorf("got %d %.600s; want %v", a.Status, a.Body, http.StatusOK)
	}
	close(release)
	strangers.Wait()
	last := g.query(newPKCE(), func(v url.Values) { v.Set("client_id", g.client.URL+"/other-last") })
	if a := g.Get("/oauth/authorize?" + last.Encode()); a.Status != http.StatusBadRequest { // its document is another client's
		t.Errorf("after all have ended: %d, want %d", a.Status, http.StatusBadRequest)
	}
}

// Consents by invitation do not wait for consents of unapproved agents.
func TestUnapprovedLeavePlacesForInvitations(t *testing.T) {
	t.Parallel()
	g := newGate(t, "server: {issue_per_address: 1000/second, per_address: 10000/second, consents: 3/minute}")
	invitation, err := consent.Invite(t.Context(), g.Store, "default", "Ann", g.Now(), time.Hour)
	g.Must(err)
	b := g.browser()
	consents := func(invitation string) int {
		form := formOf(b.page(g.query(newPKCE())))
		if invitation != "" {
			form.Set("invitation", invitation)
		}
		return b.do(http.MethodPost, "/oauth/authorize", form).Status
	}
	for n := range 5 {
		if got, want := consents(""), map[bool]int{true: http.StatusSeeOther, false: http.StatusServiceUnavailable}[n < 3]; got != want {
			t.Errorf("consent %d: %d, want %d", n, got, want)
		}
	}
	if got := consents(invitation.Code); got != http.StatusSeeOther {
		t.Errorf("by invitation: %d, want %d", got, http.StatusSeeOther)
	}
}
