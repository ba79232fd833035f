// Package page is a small page that imitates a hosted checkout, such as that of a card processor. A person sees whom the payment is for,
// and confirms the amount; the page then posts the signed event of the payment to a gateway. It takes no money. Use it on your own machine.
package page

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Options configure a Page.
type Options struct {
	Webhook string // URL of the gateway: https://…/api/credit/webhook
	Secret  string // payments.webhook.secret of the gateway
	Stripe  bool   // post events in the form of Stripe
	Now     func() time.Time
	Client  *http.Client // nil: http.DefaultClient
}

// A Page serves the checkout.
type Page struct {
	Options

	mux *http.ServeMux
}

// New returns a Page.
func New(o Options) *Page {
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	p := &Page{Options: o, mux: http.NewServeMux()}
	p.mux.HandleFunc("GET /{$}", p.show)
	p.mux.HandleFunc("POST /pay", p.pay)
	return p
}

// ServeHTTP serves GET /?agent=&amount=&currency=, and POST /pay.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	p.mux.ServeHTTP(w, r)
}

// A payment is the content of the form.
type payment struct {
	Agent, Amount, Currency string
	Reference               string // the reference of this payment; a form that is sent twice is one payment
	Result                  string // empty: not paid yet
	Failed                  bool
}

var (
	amounts    = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,2})?$`)
	currencies = regexp.MustCompile(`^[A-Z]{3}$`)
)

// problem describes what is wrong with the payment. It returns "" if nothing is wrong.
func (p *payment) problem() string {
	switch {
	case p.Agent == "" || len(p.Agent) > 200:
		return "The address names no agent."
	case !amounts.MatchString(p.Amount) || strings.Trim(p.Amount, "0.") == "":
		return "The amount must be a number such as 5.00."
	case !currencies.MatchString(p.Currency):
		return "The currency must be three capital letters, such as EUR."
	}
	return ""
}

func (p *Page) show(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	form := payment{Agent: q.Get("agent"), Amount: q.Get("amount"), Currency: q.Get("currency"), Reference: "pi_" + rand.Text()}
	if form.Amount == "" {
		form.Amount = "5.00"
	}
	if form.Currency == "" {
		form.Currency = "EUR"
	}
	if why := form.problem(); why != "" {
		form.Result, form.Failed = why, true
		w.WriteHeader(http.StatusBadRequest)
	}
	_ = view.Execute(w, form)
}

const maxForm = 8 << 10

func (p *Page) pay(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	form := payment{
		Agent: r.PostFormValue("agent"), Amount: r.PostFormValue("amount"), Currency: r.PostFormValue("currency"),
		Reference: r.PostFormValue("reference"),
	}
	why := form.problem()
	if why == "" && !strings.HasPrefix(form.Reference, "pi_") {
		why = "The form has no reference. Open the page again."
	}
	if why == "" {
		if err := p.Post(r.Context(), form.Agent, form.Amount, form.Currency, form.Reference); err != nil {
			why = "The gateway did not accept the payment: " + err.Error()
		}
	}
	form.Result = "Paid. The credit of " + form.Agent + " is " + form.Amount + " " + form.Currency + " higher."
	if why != "" {
		form.Result, form.Failed = why, true
		w.WriteHeader(http.StatusBadGateway)
	}
	_ = view.Execute(w, form)
}

// Post posts the signed event of a payment to the gateway.
func (p *Page) Post(ctx context.Context, agent, amount, currency, reference string) error {
	body, err := p.event(agent, amount, currency, reference)
	if err != nil {
		return err
	}
	at := strconv.FormatInt(p.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(p.Secret))
	_, _ = mac.Write(append([]byte(at+"."), body...))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Webhook, bytes.NewReader(body))
	if err != nil {
		return err
	}
	name := "UIM-Signature"
	if p.Stripe {
		name = "Stripe-Signature"
	}
	r.Header.Set(name, "t="+at+",v1="+hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("Content-Type", "application/json")
	resp, err := p.Client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	const most = 4 << 10
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return nil
}

// event returns the body of the event of a payment.
func (p *Page) event(agent, amount, currency, reference string) ([]byte, error) {
	if !p.Stripe {
		return json.Marshal(map[string]any{
			"kind": "top-up", "amount": amount, "currency": currency, "agent": agent, "reference": reference,
		})
	}
	whole, cents, _ := strings.Cut(amount, ".")
	total, err := strconv.ParseInt(whole+(cents + "00")[:2], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("amount: %w", err)
	}
	return json.Marshal(map[string]any{
		"id": "evt_" + reference, "object": "event", "type": "checkout.session.completed", "created": p.Now().Unix(),
		"data": map[string]any{"object": map[string]any{
			"id": "cs_" + reference, "object": "checkout.session", "amount_total": total, "currency": strings.ToLower(currency),
			"client_reference_id": agent, "payment_intent": reference, "payment_status": "paid",
		}},
	})
}

var view = template.Must(template.New("checkout").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Checkout</title>
<style>
:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;max-width:26rem;margin:2rem auto;padding:0 1rem}
label{display:block;margin:1rem 0 .25rem}
input,button{font:inherit;padding:.5rem;width:100%;box-sizing:border-box}
button{margin-top:1.5rem}
</style></head><body>
<h1>Pay in for an agent</h1>
<p>This page imitates the checkout of a payment provider. No money is taken.</p>
{{if .Result}}<p role="status"><strong>{{.Result}}</strong></p>{{end}}
{{if not (or .Result .Failed)}}<form method="post" action="/pay">
<input type="hidden" name="agent" value="{{.Agent}}"><input type="hidden" name="currency" value="{{.Currency}}">
<input type="hidden" name="reference" value="{{.Reference}}">
<p>For the agent <strong>{{.Agent}}</strong></p>
<label for="amount">Amount in {{.Currency}}</label>
<input id="amount" name="amount" value="{{.Amount}}" inputmode="decimal" required pattern="[0-9]{1,6}([.][0-9]{1,2})?">
<button>Pay</button>
</form>{{end}}
</body></html>
`))
