package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/api"
)

const twoServices = `services:
- {id: one, hosts: [one.example], public_url: "https://one.example", issuer: one,
   agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}
- {id: two, hosts: [two.example], public_url: "https://two.example", issuer: two,
   agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}
`

func TestPagesLeadToTheServiceOfTheirRecord(t *testing.T) {
	g := newConsoleGate(t, twoServices)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/api/intents/execute", strings.NewReader("{}"))
	g.Must(err)
	r.Host = "two.example"
	r.Header.Set("Content-Type", "application/json")
	id := g.Send(r).Header.Get("UIM-Request-ID")
	b := g.as(api.RoleAdmin)
	page := b.page("/console/calls/" + id + "?service=one")
	if !strings.Contains(page, `href="/console/agents?service=two"`) || strings.Contains(page, "service=one") {
		t.Errorf("the page of a request of the second service: %s", page)
	}
	const payments, resolve = "/console/money/payments?service=two", "/console/money/payments/resolve?service=two"
	review := b.submit(payments, resolve, url.Values{"reference": {"wire-1"}, "state": {"failed"}})
	if !strings.Contains(review.body, "<dt>Service</dt><dd>two</dd>") {
		t.Errorf("the review does not name the service: %s", review.body)
	}
}

func TestFiguresAreThoseOfTheSelectedService(t *testing.T) {
	b := newConsoleGate(t, twoServices).as(api.RoleViewer)
	if page := b.page("/console/?service=two"); !strings.Contains(page, ` data-live="/console/events?service=two"`) {
		t.Errorf("got %s", page)
	}
}
