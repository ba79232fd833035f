package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// spender acts as a person who lets an assistant without a key spend money. The assistant buys within the budget, stops when a call would
// exceed it, and continues after the person has raised the budget and confirmed the next call.
func (t *tour) spender(ctx context.Context, _ *agent.Client) error {
	p := &person{gateway: t.gateway, browser: fetch.New(fetch.Options{}), tools: fetch.New(fetch.Options{Wrap: t.shown.wrap})}
	defer p.browser.Close()
	defer p.tools.Close()
	token, scope, err := p.consent(ctx, t, url.Values{
		"spend": {"yes"}, "budget": {"0.05"}, "period": {"month"}, "per_call": {"0.05"}, "pay": {orderUID + ":execute"},
	})
	if err != nil {
		return err
	}
	t.printf("   the person lets it spend at most 0.05 EUR a month on orders: the client gets a PAT for %s\n", scope)
	if err := t.payIn(ctx, p); err != nil {
		return err
	}
	if err := p.buys(ctx, t, token, "its budget"); err != nil {
		return err
	}
	refused, err := p.call(ctx, token, orderTool, orderParameters)
	if err != nil {
		return err
	}
	t.printf("   refused: %s\n", refused.message)
	if err := expect(refused.reason == string(reason.BudgetExceeded), "the second order to exceed the budget"); err != nil {
		return err
	}
	if err := p.raise(ctx); err != nil {
		return err
	}
	t.printf("   on %s/oauth/consents, the person raises the budget to 0.20 EUR, and wants to confirm calls above 0.01 EUR\n", p.gateway)
	return p.confirms(ctx, t, token)
}

// confirms makes calls until the person must confirm one, confirms it as the person, and repeats the call.
func (p *person) confirms(ctx context.Context, t *tour, token string) error {
	asked, err := p.call(ctx, token, orderTool, orderParameters)
	if err != nil {
		return err
	}
	t.printf("   the gateway asks the person: %s\n", asked.message)
	asks := asked.reason == string(reason.ConfirmationRequired) && asked.page != ""
	if err := expect(asks, "a call that the person must confirm"); err != nil {
		return err
	}
	form, err := p.open(ctx, asked.page, `value="confirm"`)
	if err != nil {
		return err
	}
	form.Set("decision", "confirm")
	if err := p.press(ctx, "/oauth/confirm", form); err != nil {
		return err
	}
	t.printf("   the person opens %s, reads the call and its price, and presses Confirm\n", asked.page)
	return p.buys(ctx, t, token, "a confirmation")
}

// buys places an order, and checks that it was charged.
func (p *person) buys(ctx context.Context, t *tour, token, way string) error {
	bought, err := p.call(ctx, token, orderTool, orderParameters)
	if err != nil {
		return err
	}
	if bought.output == nil {
		return fmt.Errorf("expected an order, and got the refusal %s: %s", bought.reason, bought.message)
	}
	return t.paid(bought.charge, way)
}

// payIn adds 1 EUR to the credit of the newest agent under consent, as the operator.
func (t *tour) payIn(ctx context.Context, _ *person) error {
	operator := client.New(client.Options{Socket: client.OwnSocket(ctx, t.data)})
	agents, err := client.Do(ctx, operator, operation.Agreements, agreements.AgreementQuery{})
	if err != nil {
		return err
	}
	for _, a := range agents.Items { // the newest comes first
		if a.Assurance != pat.Consent {
			continue
		}
		t.printf("   the operator enters 1 EUR that was paid in for %s\n", a.AgentID)
		_, err := client.Do(ctx, operator, operation.TopUp, billing.TopUp{AgentID: a.AgentID, Amount: "1 EUR", Reference: "demo"})
		return err
	}
	return errors.New("expected the consent among the agreements")
}

// raise changes the budget on the person's own page.
func (p *person) raise(ctx context.Context) error {
	form, err := p.open(ctx, p.gateway+"/oauth/consents", `value="change"`)
	if err != nil {
		return err
	}
	form.Set("budget", "0.20")
	form.Set("per_call", "0.01")
	form.Set("decision", "change")
	return p.press(ctx, "/oauth/consents", form)
}

// open opens a page, and returns the hidden fields of the form that has a button.
func (p *person) open(ctx context.Context, at, button string) (url.Values, error) {
	a, err := p.browser.Do(ctx, fetch.Request{Method: http.MethodGet, URL: at, Header: http.Header{"Cookie": {p.cookie}}, Max: maxPage})
	if err != nil {
		return nil, err
	}
	for form := range bytes.SplitSeq(a.Body, []byte("<form ")) {
		if form, _, _ := bytes.Cut(form, []byte("</form>")); bytes.Contains(form, []byte(button)) {
			return fieldsOf(form, "hidden"), nil
		}
	}
	return nil, fmt.Errorf("expected %s to have a form with a button %s", at, button)
}

// press submits a form, and returns an error unless the page accepts it.
func (p *person) press(ctx context.Context, path string, form url.Values) error {
	sent, err := p.post(ctx, path, formType, form.Encode())
	if err != nil {
		return err
	}
	return expect(sent.Status == http.StatusSeeOther, "the form of "+path+" to be accepted")
}
