package console_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

func TestReviewsDescribeTheAction(t *testing.T) {
	g := newConsoleGate(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	charged, err := admin.Call(t.Context(), g.operator, operation.Executions, calls.UsageQuery{State: store.Captured})
	g.Must(err)
	g.BreakOff()
	g.Execute(a, gatetest.Ordering)
	g.Later(time.Hour)
	_, err = g.Store.Sweep(t.Context())
	g.Must(err)
	unknown, err := admin.Call(t.Context(), g.operator, operation.Executions, calls.UsageQuery{State: store.Unresolved})
	g.Must(err)
	const agent = "/console/agents/agent-1"
	call, open := "/console/money/calls/"+charged.Items[0].ID, "/console/money/calls/"+unknown.Items[0].ID
	b := g.as(api.RoleAdmin)
	for name, c := range map[string]struct {
		page, verb    string
		fields        url.Values
		wanted, never []string
	}{
		"a refund of a whole charge": {
			call, "/refund",
			url.Values{"reason": {"late"}, "name": {"console-1"}},
			[]string{"<dt>Call</dt>", "<dd>agent-1</dd>", "<dd>0.25 EUR</dd>", "all that is left of the charge", "<dd>late</dd>"},
			[]string{"<dd>console-1</dd>"},
		},
		"a refund of a part": {
			call, "/refund",
			url.Values{"amount": {"0.10 EUR"}, "reason": {"late"}},
			[]string{"<dt>Refund</dt><dd>0.10 EUR</dd>", "<dt>Charge</dt><dd>0.25 EUR</dd>"},
			[]string{"all that is left"},
		},
		"a call that was carried out": {
			open, "/resolve", url.Values{"state": {"captured"}}, []string{"<dd>was carried out: the agent pays</dd>", "<dd>0.25 EUR</dd>"}, nil,
		},
		"a call that was not carried out": {
			open, "/resolve", url.Values{"state": {"released"}}, []string{"<dd>was not carried out: the agent does not pay</dd>"}, nil,
		},
		"a key for receipts": {
			"/console/settings/keys", "",
			url.Values{"purpose": {"receipt"}},
			[]string{"<dt>Key for</dt><dd>receipts</dd>", "<dt>On every replica</dt><dd>no</dd>"},
			nil,
		},
		"a key for PATs everywhere": {
			"/console/settings/keys", "",
			url.Values{"purpose": {""}, "all": {"yes"}},
			[]string{"<dt>Key for</dt><dd>PATs</dd>", "<dt>On every replica</dt><dd>yes</dd>"},
			nil,
		},
		"credit": {
			agent, "/top-up",
			url.Values{"amount": {"5 EUR"}, "reference": {"wire-1"}},
			[]string{"<dt>Agent</dt><dd>agent-1</dd>", "<dt>Add</dt><dd>5 EUR</dd>", "<dt>Balance now</dt><dd>-0.50 EUR</dd>"},
			[]string{"Subtract"},
		},
		"credit that is taken back": {
			agent, "/top-up",
			url.Values{"amount": {"5 EUR"}, "reference": {"wire-2"}, "reverse": {"yes"}},
			[]string{"<dt>Subtract</dt><dd>5 EUR</dd>"},
			[]string{"<dt>Add</dt>"},
		},
		"an invoice without a buyer": {
			agent, "/invoice", url.Values{"month": {"2026-10"}}, []string{"<dt>Month</dt><dd>2026-10</dd>", "Invoices go to"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			to := c.page + c.verb
			if c.verb == "" {
				to += "/rotate"
			}
			got := b.submit(c.page, to, c.fields)
			text := html.UnescapeString(got.body)
			if got.status != http.StatusOK || !strings.Contains(text, `name="confirmed" value="yes"`) {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			for _, want := range c.wanted {
				if !strings.Contains(text, want) {
					t.Errorf("the review lacks %q: %s", want, got.body)
				}
			}
			for _, never := range c.never {
				if strings.Contains(text, never) {
					t.Errorf("the review contains %q: %s", never, got.body)
				}
			}
		})
	}
	b.done(b.submit(agent, agent+"/buyer", url.Values{"name": {"Corner Shop"}, "line1": {"1 rue du Port"}, "country": {"FR"}}), "saved")
	for _, want := range []string{`value="2026-10"`, agent + "/invoice?month=2026-11", agent + "/invoice?month=2026-10"} {
		if page := b.page(agent); !strings.Contains(page, want) {
			t.Errorf("the page of the agent lacks %q: %s", want, page)
		}
	}
	if draft := b.page(agent + "/invoice?month=2026-11"); !strings.Contains(draft, "Corner Shop") {
		t.Errorf("the draft lacks the buyer: %s", draft)
	}
	if got := b.submit(agent, agent+"/invoice", url.Values{"month": {"2026-10"}}); !strings.Contains(got.body,
		"<dt>Goes to</dt><dd>Corner Shop, 1 rue du Port, FR</dd>") {
		t.Errorf("the review lacks the buyer: %s", got.body)
	}
}

func TestWhyAPermittedCallFailed(t *testing.T) {
	g := newConsoleGate(t, "")
	a := g.Agreed("agent-1")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) }
	id := g.Execute(a, gatetest.Ordering).Header.Get("UIM-Request-ID")
	page := g.as(api.RoleViewer).page("/console/calls/" + id)
	for _, want := range []string{"Why it failed", "UPSTREAM_REJECTED", "permitted the call, which failed", ">permit<"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	if strings.Contains(page, "refused the call") {
		t.Errorf("the page states that a step of the gateway refused the call: %s", page)
	}
	if before, _, found := strings.Cut(page, "<h2>Receipt"); !found || !strings.Contains(before, "<h2>Steps") {
		t.Error("the receipt is not below the steps")
	}
}
