package gateway_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store"
)

const webhookSecret = "a secret of the checkout"

func webhookGate(t *testing.T) *gatetest.Gate {
	t.Helper()
	return gatetest.New(t, "payments: {webhook: {secret: '"+webhookSecret+"'}}\n"+
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+"}\n")
}

// post posts an event with the headers in more.
func post(g *gatetest.Gate, body string, more ...string) gatetest.Answer {
	g.Helper()
	return g.Post("/api/credit/webhook", body, append([]string{"Content-Type", "application/json"}, more...)...)
}

func sign(g *gatetest.Gate, body string) string {
	return payments.NewWebhook(webhookSecret, time.Minute).Sign([]byte(body), g.Now())
}

// deliver posts an event as the checkout does.
func deliver(g *gatetest.Gate, body string) gatetest.Answer {
	g.Helper()
	return post(g, body, "UIM-Signature", sign(g, body))
}

func event(amount, agent, reference, kind string) string {
	return `{"amount":"` + amount + `","currency":"EUR","agent":"` + agent + `","reference":"` + reference + `","kind":"` + kind + `"}`
}

// paidIn returns what an agent has paid in.
func paidIn(g *gatetest.Gate, agent string) string {
	g.Helper()
	list, err := g.Store.Accounts(g.Context(), store.Filter{Service: "default"})
	g.Must(err)
	for _, a := range list {
		if string(a.AgentID) == agent {
			return a.ToppedUp.String()
		}
	}
	return "nothing"
}

func TestWebhookTopsUp(t *testing.T) {
	g := webhookGate(t)
	g.Agreed("agent-1")
	check := func(name string, a gatetest.Answer, status int, body, paid string) {
		t.Helper()
		if got := strings.TrimSpace(string(a.Body)); a.Status != status || !strings.Contains(got, body) || paidIn(g, "agent-1") != paid {
			t.Errorf("%s: got %d %s, %s paid in; want %d %s, %s", name, a.Status, got, paidIn(g, "agent-1"), status, body, paid)
		}
	}
	one := event("5.00", "agent-1", "p-1", "top-up")
	check("the first time", deliver(g, one), 200, `{"reference":"p-1","agent_id":"agent-1","state":"credited"}`, "5.00 EUR")
	check("again", deliver(g, one), 200, `"repeated":true`, "5.00 EUR")
	check("with another amount", deliver(g, event("6.00", "agent-1", "p-1", "top-up")), 409, "PAYMENT_USED", "5.00 EUR")
	early := event("20.00", "agent-1", "r-1", "refund")
	check("a refund before its payment", deliver(g, early), 409, "PAYMENT_UNKNOWN", "5.00 EUR")
	check("the payment", deliver(g, event("20.00", "agent-1", "p-2", "top-up")), 200, "credited", "25.00 EUR")
	check("the refund again", deliver(g, early), 200, `"state":"credited"`, "5.00 EUR")
	check("the refund a third time", deliver(g, early), 200, `"repeated":true`, "5.00 EUR")
	stripe := `{"object":"event","type":"checkout.session.completed","data":{"object":{"id":"cs_1","amount_total":250,"currency":"eur",` +
		`"client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"paid"}}}`
	check("an event of Stripe", post(g, stripe, "Stripe-Signature", sign(g, stripe)), 200, `"reference":"pi_1"`, "7.50 EUR")
	returned := func(payment, total, before string) string {
		return `{"object":"event","type":"charge.refunded","data":{"object":{"id":"ch_1","amount_refunded":` + total + `,"currency":"eur",` +
			`"payment_intent":"` + payment + `"},"previous_attributes":{"amount_refunded":` + before + `}}}`
	}
	check("a part is returned", deliver(g, returned("pi_1", "100", "0")), 200, `"reference":"pi_1:refunded:100","agent_id":"agent-1"`,
		"6.50 EUR")
	check("the event again", deliver(g, returned("pi_1", "100", "0")), 200, `"repeated":true`, "6.50 EUR")
	check("the rest is returned", deliver(g, returned("pi_1", "250", "100")), 200, `"state":"credited"`, "5.00 EUR")
	check("an unknown payment is returned", deliver(g, returned("pi_2", "250", "0")), 404, "NO_SUCH_RECORD", "5.00 EUR")
	check("that payment", deliver(g, strings.ReplaceAll(stripe, "pi_1", "pi_2")), 200, "credited", "7.50 EUR")
	check("the event again", deliver(g, returned("pi_2", "250", "0")), 200, `"state":"credited"`, "5.00 EUR")
	check("another payment", deliver(g, strings.ReplaceAll(stripe, "pi_1", "pi_3")), 200, "credited", "7.50 EUR")
	other := `{"object":"event","type":"customer.created","data":{"object":{}}}`
	check("an event about something else", deliver(g, other), 200, `{"ignored":true}`, "7.50 EUR")
}

func TestWebhookRefusesAttacks(t *testing.T) {
	g := webhookGate(t)
	g.Agreed("agent-1")
	body := event("5.00", "agent-1", "p-1", "top-up")
	old := sign(g, body)
	g.Later(5*time.Minute + time.Second)
	for name, a := range map[string]gatetest.Answer{
		"without a signature": post(g, body),
		"replayed later":      post(g, body, "UIM-Signature", old),
		"another body":        post(g, event("5000.00", "agent-1", "p-1", "top-up"), "UIM-Signature", sign(g, body)),
		"another secret": post(g, body, "UIM-Signature", payments.NewWebhook("another secret of somebody", time.Minute).Sign([]byte(body),
			g.Now())),
		"from the future": post(g, body, "UIM-Signature", payments.NewWebhook(webhookSecret, time.Minute).Sign([]byte(body),
			g.Now().Add(6*time.Minute))),
		"a long signature": post(g, body, "UIM-Signature", strings.Repeat("v1=00,", 1000)),
	} {
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "BAD_SIGNATURE") || strings.Contains(string(a.Body),
			webhookSecret) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	g.Refuses(deliver(g, body+strings.Repeat(" ", 10<<20)), http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE")
	g.Refuses(deliver(g, `{"amount":`), http.StatusBadRequest, "MALFORMED_REQUEST")
	g.Refuses(deliver(g, strings.Repeat("[", 10_000)), http.StatusBadRequest, "MALFORMED_REQUEST")
	g.Refuses(deliver(g, event("0", "agent-1", "p-1", "top-up")), http.StatusBadRequest, "INVALID_PARAMETER")
	if got := paidIn(g, "agent-1"); got != "nothing" {
		t.Errorf("%s was paid in", got)
	}
	without := gatetest.New(t, "")
	without.Refuses(deliver(without, body), http.StatusNotFound, "NO_SUCH_PATH")
}

func TestWebhookKeepsUnclaimedPayments(t *testing.T) {
	g := webhookGate(t)
	late := event("5.00", "agent-9", "p-1", "top-up")
	for range 2 {
		g.Refuses(deliver(g, late), http.StatusNotFound, "NO_SUCH_RECORD")
	}
	list, err := g.Store.Payments(g.Context(), store.PaymentFilter{Service: "default", State: store.PaymentUnclaimed})
	g.Must(err)
	if len(list) != 1 || list[0].AgentID != "agent-9" || list[0].Amount.String() != "5.00 EUR" {
		t.Fatalf("got %+v", list)
	}
	g.Agreed("agent-9")
	if a := deliver(g, late); a.Status != http.StatusOK || paidIn(g, "agent-9") != "5.00 EUR" {
		t.Errorf("once the agent is known: %d %s, %s", a.Status, a.Body, paidIn(g, "agent-9"))
	}
	nameless := `{"object":"event","type":"checkout.session.completed","data":{"object":{"id":"cs_1","amount_total":250,"currency":"eur",` +
		`"client_reference_id":null,"payment_intent":"pi_1","payment_status":"paid"}}}`
	g.Refuses(deliver(g, nameless), http.StatusNotFound, "NO_SUCH_RECORD")
	_, err = g.Store.MovePayment(g.Context(), "default", "pi_1", store.PaymentMove{To: store.PaymentCredited, AgentID: "agent-9"})
	g.Must(err)
	if a := deliver(g, nameless); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"state":"credited"`) ||
		paidIn(g, "agent-9") != "7.50 EUR" {
		t.Errorf("after the operator's decision: %d %s, %s", a.Status, a.Body, paidIn(g, "agent-9"))
	}
}

func TestWebhookConcurrently(t *testing.T) {
	g := webhookGate(t)
	g.Agreed("agent-1")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			body := event("5.00", "agent-1", "p-"+string(rune('a'+i%4)), "top-up")
			if a := deliver(g, body); a.Status != http.StatusOK {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
		})
	}
	wg.Wait()
	if got := paidIn(g, "agent-1"); got != "20.00 EUR" {
		t.Errorf("%s was paid in, want 20.00 EUR", got)
	}
}
