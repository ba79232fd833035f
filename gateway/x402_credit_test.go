package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	facilitatortest "github.com/uimgate/uimgate/internal/test/facilitator"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// termsOf returns the terms for an amount at /api/credit.
func (s *till) termsOf(amount string) string {
	s.Helper()
	a := s.Call("/api/credit", s.agent.Token, map[string]string{"amount": amount, "currency": "EUR"})
	s.Refuses(a, http.StatusPaymentRequired, "POLICY_REQUIRES_PAYMENT")
	return a.Header.Get("Payment-Required")
}

func TestX402Credit(t *testing.T) {
	s := newTill(t)
	credit := func(amount any, currency string, header ...string) gatetest.Answer {
		return s.Call("/api/credit", s.agent.Token, map[string]any{"amount": amount, "currency": currency}, header...)
	}
	for _, tt := range []struct {
		amount   any
		currency string
	}{{"0.99", "EUR"}, {"10.01", "EUR"}, {"0", "EUR"}, {"-1", "EUR"}, {"5", "USD"}, {"5", "eur"}, {5, "EUR"}, {"1e12", "EUR"}, {nil, "EUR"}} {
		s.Refuses(credit(tt.amount, tt.currency), http.StatusBadRequest, "INVALID_PARAMETER")
	}
	s.Refuses(s.Call("/api/credit", s.agent.Token, map[string]string{"amount": "1", "currency": "EUR", "agent": "b"}), 400,
		"INVALID_PARAMETER")
	s.Refuses(s.Call("/api/credit", "", map[string]string{"amount": "1", "currency": "EUR"}), http.StatusUnauthorized, "MISSING_TOKEN")
	payment := facilitatortest.Header(s.payer.Pay(t, s.termsOf("6")))
	for i := range 2 {
		a := credit("6", "EUR", "PAYMENT-SIGNATURE", payment)
		var got struct {
			Currency, Credited, Balance, Reference, Receipt string
			Repeated                                        bool
		}
		if a.Status != http.StatusOK || json.Unmarshal(a.Body, &got) != nil || got.Credited != "6.00" || got.Balance != "6.00" ||
			got.Currency != "EUR" || got.Repeated != (i == 1) || strings.Count(got.Receipt, ".") != 2 || !settlement(t, a).Success {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
	// An agent that the operator has not approved may not have paid in more than the maximum.
	second := facilitatortest.Header(s.payer.Pay(t, s.termsOf("6")))
	s.Refuses(credit("6", "EUR", "PAYMENT-SIGNATURE", second), http.StatusPaymentRequired, "PAYMENT_MISMATCH")
	s.paid(1, "6.00 EUR", 0)
	third := facilitatortest.Header(s.payer.Pay(t, s.termsOf("4")))
	if a := credit("4", "EUR", "PAYMENT-SIGNATURE", third); a.Status != http.StatusOK {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	s.paid(2, "10.00 EUR", 0)
	if body := string(get(s.Gate, "/api/balance", s.agent.Token).Body); !strings.Contains(body, `"credit_url":"http://127.0.0.1:8080/api/credit"`) {
		t.Errorf("got %s", body)
	}
	without := gatetest.New(t, "")
	b := without.Agreed("agent-1")
	without.Refuses(without.Call("/api/credit", b.Token, map[string]string{}), http.StatusNotFound, "NO_SUCH_PATH")
}

// An agent that pays in with invalid payments is held back like one with invalid calls, and no money is taken for calls that are stopped.
func TestX402CreditHasTheBrakesOfCalls(t *testing.T) {
	s := newTill(t)
	credit := func(payment []byte) gatetest.Answer {
		return s.Call("/api/credit", s.agent.Token, map[string]any{"amount": "1", "currency": "EUR"},
			"PAYMENT-SIGNATURE", facilitatortest.Header(payment))
	}
	terms := s.termsOf("1")
	stop := pat.Stop{Service: "default", Kind: pat.StopCharging, At: s.Now()}
	_, err := s.Store.Stop(t.Context(), stop)
	s.Must(err)
	s.Must(s.View.Refresh(t.Context()))
	s.Refuses(credit(s.payer.Pay(t, terms)), http.StatusServiceUnavailable, "STOPPED")
	s.paid(0, "nothing", 0)
	_, err = s.Store.Resume(t.Context(), stop)
	s.Must(err)
	s.Must(s.View.Refresh(t.Context()))
	for range 60 {
		forged := strings.Replace(string(s.payer.Pay(t, terms)), `"signature":"0x`, `"signature":"0x00`, 1)
		s.Refuses(credit([]byte(forged)), http.StatusPaymentRequired, "PAYMENT_FAILED")
	}
	asked := s.chain.Requests("/verify")
	held := credit(s.payer.Pay(t, terms))
	s.Refuses(held, http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED")
	if n := s.chain.Requests("/verify"); n != asked || held.Header.Get("Retry-After") == "" {
		t.Errorf("the facilitator was asked %d times, want %d; got %v", n, asked, held.Header)
	}
	s.paid(0, "nothing", 0)
}

// TestX402CreditsWhileARequestHangs settles a payment while the facilitator does not respond about another one.
func TestX402CreditsWhileARequestHangs(t *testing.T) {
	s := newTill(t)
	s.Write("uimgate.yaml", strings.Replace(s.Settings, "timeout: 2s", "timeout: 2m", 1))
	s.Reload()
	s.chain.Fail(facilitatortest.Broken)
	s.Refuses(s.order(s.payer.Pay(t, s.asked())), http.StatusConflict, "PAYMENT_UNKNOWN")
	s.chain.Fail(facilitatortest.Hanging)
	asked := s.chain.Requests("/settle")
	s.Pass(2 * time.Second)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Cashier.Run(ctx) }()
	await(t, func() bool { return s.chain.Requests("/settle") > asked })
	s.chain.Fail(facilitatortest.Broken)
	other := *s
	other.agent = s.Agreed("agent-3")
	s.Refuses(other.order(s.payer.Pay(t, other.asked())), http.StatusConflict, "PAYMENT_UNKNOWN")
	s.chain.Fail(facilitatortest.None)
	s.Pass(2 * time.Second)
	await(t, func() bool { return paidIn(s.Gate, "agent-3") == "1.00 EUR" })
	stop()
	s.chain.Release()
	s.Must(<-ended)
}

// TestX402PaysAtOnce sends one payment many times at once, and many payments at once.
func TestX402PaysAtOnce(t *testing.T) {
	s := newTill(t)
	terms := s.asked()
	same := s.payer.Pay(t, terms)
	const n = 20
	answers := make(chan gatetest.Answer, 2*n)
	for i := range n {
		go func() { answers <- s.order(same) }()
		if i%4 == 0 {
			other := s.payer.Pay(t, terms)
			go func() { answers <- s.order(other) }()
		}
	}
	for range n + n/4 {
		if a := <-answers; a.Status != http.StatusOK && a.Reason() != "PAYMENT_UNKNOWN" && a.Reason() != "POLICY_REQUIRES_PAYMENT" &&
			a.Reason() != "PAYMENT_MISMATCH" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	}
	moved := s.chain.Moved()
	if len(moved) == 0 || paidIn(s.Gate, "agent-1") != (money.Amount{Nano: int64(len(moved)) * money.Unit, Currency: "EUR"}).String() {
		t.Fatalf("%d payments moved, %s paid in", len(moved), paidIn(s.Gate, "agent-1"))
	}
	s.balanced()
}

// A payment whose authorization was used before is neither entered nor failed: the operator decides, and the facilitator is not asked
// again.
func TestX402SpentBeforeTheFirstRequest(t *testing.T) {
	s := newTill(t)
	s.chain.Remember()
	payment := s.payer.Pay(t, s.asked())
	if a := s.order(payment); a.Status != http.StatusOK {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	list, err := s.Store.Payments(t.Context(), store.PaymentFilter{Service: "default"})
	if s.Must(err); len(list) != 1 {
		t.Fatalf("got %+v", list)
	}
	again := newTillAt(t, s.chain) // another gateway with the same account, which has no record of the payment
	again.Refuses(again.order(payment), http.StatusConflict, "PAYMENT_UNKNOWN")
	for range 3 {
		again.Later(time.Minute)
		again.Must(again.Cashier.Settle(t.Context()))
	}
	kept, err := again.Store.Payment(t.Context(), "default", list[0].Reference)
	if again.Must(err); kept.State != store.PaymentUnknown || !strings.Contains(kept.Reason, "already_used") ||
		s.chain.Requests("/settle") != 1 {
		t.Errorf("got %+v after %d requests to settle", kept, s.chain.Requests("/settle"))
	}
}
