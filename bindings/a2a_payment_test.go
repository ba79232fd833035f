package bindings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	facilitatortest "github.com/uimgate/uimgate/internal/test/facilitator"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A paidTask is a task with what its status states about payments.
type paidTask struct {
	ID     string
	Status struct {
		State   string
		Message struct {
			Parts    []struct{ Text string }
			Metadata map[string]json.RawMessage
		}
	}
}

// has checks the state of a task, and its members about payments.
func (p *paidTask) has(t *testing.T, state, status string, members ...string) {
	t.Helper()
	m := p.Status.Message.Metadata
	if p.Status.State != state || string(m["x402.payment.status"]) != `"`+status+`"` {
		t.Fatalf("got %+v; want %s and %s", p, state, status)
	}
	for _, name := range members {
		if m["x402.payment."+name] == nil {
			t.Errorf("%s: the metadata lack %s: %s", status, name, m)
		}
	}
}

// TestA2AX402 pays for calls under the terms in the metadata of refused tasks.
func TestA2AX402(t *testing.T) {
	t.Parallel()
	var g *gatetest.Gate
	now := func() time.Time { return g.Now() }
	chain := facilitatortest.New(t, now)
	payer := facilitatortest.NewPayer(t, now)
	g = gatetest.New(t, "billing: {mode: prepaid}\npayments: {minimum: 1 EUR, "+facilitatortest.Settings(chain.URL, "EUR")+"}\n"+
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+", doors: {a2a: {}}}\n")
	agent := g.Agreed("agent-1")
	n := 0
	raw := func(method, payment string) gatetest.Answer {
		n++
		more := ""
		if payment != "" {
			more = `,"metadata":{"x402.payment.status":"payment-submitted","x402.payment.payload":` + payment + `}`
		}
		body := a2aMessage(method, fmt.Sprint("m-", n), gatetest.Ordering, `{"product":"lamp"}`, more)
		return g.Send(post(g, t.Context(), agent.Token, body))
	}
	order := func(payment string) *paidTask {
		t.Helper()
		got := raw("SendMessage", payment)
		var answer struct {
			Result struct{ Task paidTask }
			Error  json.RawMessage
		}
		if err := json.Unmarshal(got.Body, &answer); err != nil || answer.Error != nil {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
		return &answer.Result.Task
	}
	refused := order("")
	refused.has(t, "TASK_STATE_REJECTED", "payment-required", "required")
	terms := refused.Status.Message.Metadata["x402.payment.required"]
	paid := order(string(payer.PayTerms(t, terms)))
	paid.has(t, "TASK_STATE_COMPLETED", "payment-completed", "receipts")
	var receipts []struct {
		Success     bool
		Transaction string
	}
	g.Must(json.Unmarshal(paid.Status.Message.Metadata["x402.payment.receipts"], &receipts))
	if len(receipts) != 1 || !receipts[0].Success || receipts[0].Transaction != chain.Moved()[0].Transaction {
		t.Errorf("got %+v", receipts)
	}
	for range 3 { // on the credit that is left
		if again := order(""); again.Status.State != "TASK_STATE_COMPLETED" || again.Status.Message.Metadata != nil {
			t.Fatalf("on credit: got %+v", again)
		}
	}
	order("").has(t, "TASK_STATE_REJECTED", "payment-required", "required")
	forged := strings.Replace(string(payer.PayTerms(t, terms)), `"signature":"0x`, `"signature":"0x00`, 1)
	order(forged).has(t, "TASK_STATE_REJECTED", "payment-failed", "required", "receipts", "error")
	for _, wrong := range []string{`"text"`, `{"x402Version":1}`, `{"x402Version":2,"a":"` + strings.Repeat("a", 9000) + `"}`} {
		if got := raw("SendMessage", wrong); !strings.Contains(string(got.Body), "MALFORMED_REQUEST") {
			t.Errorf("%.40s: %d %s", wrong, got.Status, got.Body)
		}
	}
	stream := raw("SendStreamingMessage", string(payer.PayTerms(t, terms)))
	if stream.Status != http.StatusOK || !strings.Contains(string(stream.Body), `"x402.payment.status":"payment-completed"`) ||
		!strings.Contains(string(stream.Body), "TASK_STATE_COMPLETED") {
		t.Errorf("a stream: %d %s", stream.Status, stream.Body)
	}
	if moved := len(chain.Moved()); moved != 2 {
		t.Errorf("%d payments moved, want 2", moved)
	}
}
