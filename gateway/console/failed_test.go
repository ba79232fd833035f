package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/console"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/store/sqlstore"
)

func TestFailuresMayHaveChangedSomething(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Agreed("agent-1")
	b := g.as(api.RoleAdmin)
	const page, path = "/console/agents/agent-1", "/console/agents/agent-1/name"
	form := url.Values{"csrf": {csrf(b.page(page), path)}, "name": {"Ann"}}

	gone, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlstore.Options{Now: g.Now})
	g.Must(err)
	g.Must(gone.Close())
	broken := admin.New(admin.Config{
		Directory: g.Directory, Store: gone, Keys: g.Keys, View: g.View, Log: g.Log, Now: g.Now,
		Audit: record.NewAudit(record.AuditOptions{
			Open: func() (record.File, error) { return g.audited, nil }, Log: g.Log, Metrics: g.Metrics,
		}),
	})
	pages := console.New(console.Config{
		Operator: broken, Directory: g.Directory, Store: g.Store, Tokens: signin.NewTokenCheck(func() string { return "" }, g.Now), Log: g.Log,
		Now: g.Now,
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, g.listener.URL+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range b.client.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	if text := w.Body.String(); w.Code < http.StatusInternalServerError || strings.Contains(text, "Nothing was changed") ||
		!strings.Contains(text, "The change may have been made.") {
		t.Errorf("got %d %s", w.Code, text)
	}
	if line := g.audited.String(); !strings.Contains(line, `"did":"POST /agents/{id}/name"`) || !strings.Contains(line, `"by":"ann-admin"`) ||
		!strings.Contains(line, `"failed":"`) {
		t.Errorf("the audit has %q", line)
	}

	g.audited.Reset()
	refused := b.confirm(page, page+"/top-up", url.Values{"amount": {"1.00 EUR"}})
	if refused.status != http.StatusBadRequest || !strings.Contains(refused.body, "Nothing was changed") || g.audited.Len() > 0 {
		t.Errorf("a top-up without a reference: %d %s %s", refused.status, refused.body, g.audited.String())
	}
}
