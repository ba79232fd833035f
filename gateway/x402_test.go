package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	facilitatortest "github.com/uimgate/uimgate/internal/test/facilitator"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// A till is a gateway that takes x402 payments, with a facilitator, an agent and its payer.
type till struct {
	*gatetest.Gate
	chain *facilitatortest.Facilitator
	payer *facilitatortest.Payer
	agent *gatetest.Agent
}

func newTill(t *testing.T, more ...string) *till {
	t.Helper()
	return newTillAt(t, nil, more...)
}

// newTillAt is newTill with a facilitator; nil: a new one.
func newTillAt(t *testing.T, chain *facilitatortest.Facilitator, more ...string) *till {
	t.Helper()
	s := &till{chain: chain}
	now := func() time.Time { return s.Now() }
	if chain == nil {
		s.chain = facilitatortest.New(t, now)
	}
	s.payer = facilitatortest.NewPayer(t, now)
	s.Gate = gatetest.New(t, "billing: {mode: prepaid}\npayments: {minimum: 1 EUR, maximum: 10 EUR, "+facilitatortest.Settings(s.chain.URL, "EUR")+"}\n"+
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+"}\n"+strings.Join(more, ""))
	s.agent = s.Agreed("agent-1")
	return s
}

// asked returns the terms for an order without a payment.
func (s *till) asked() string {
	s.Helper()
	a := s.Execute(s.agent, gatetest.Ordering)
	s.Refuses(a, http.StatusPaymentRequired, "POLICY_REQUIRES_PAYMENT")
	return a.Header.Get("Payment-Required")
}

// order calls Ordering with a payment.
func (s *till) order(payment []byte, header ...string) gatetest.Answer {
	s.Helper()
	return s.Execute(s.agent, gatetest.Ordering, append(header, "PAYMENT-SIGNATURE", facilitatortest.Header(payment))...)
}

// paid checks the amount that the facilitator moved, the amount that the agent has paid in, and the number of unknown payments: nothing is
// lost, and nothing is paid twice.
func (s *till) paid(moved int, credited string, unknown int) {
	s.Helper()
	open := 0
	for _, state := range []store.PaymentState{store.PaymentUnknown, store.PaymentSettling} {
		list, err := s.Store.Payments(s.Context(), store.PaymentFilter{Service: "default", State: state})
		s.Must(err)
		open += len(list)
	}
	if got := len(s.chain.Moved()); got != moved || paidIn(s.Gate, "agent-1") != credited || open != unknown {
		s.Fatalf("%d payments moved, %s credited, %d unknown; want %d, %s, %d", got, paidIn(s.Gate, "agent-1"), open, moved, credited, unknown)
	}
}

// settlement returns the PAYMENT-RESPONSE header.
func settlement(t *testing.T, a gatetest.Answer) (out struct {
	Success                                  bool
	Transaction, Network, Payer, ErrorReason string
},
) {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(a.Header.Get("Payment-Response"))
	if err != nil || json.Unmarshal(text, &out) != nil {
		t.Fatalf("PAYMENT-RESPONSE %q: %v", a.Header.Get("Payment-Response"), err)
	}
	return out
}

func TestX402PaysForACall(t *testing.T) {
	s := newTill(t)
	terms, err := base64.StdEncoding.DecodeString(s.asked())
	s.Must(err)
	const want = `{"x402Version":2,"error":"The call costs 0.25 EUR, and the agent's balance is 0.00 EUR.",` +
		`"resource":{"url":"http://127.0.0.1:8080/api/intents/execute","description":"credit for calls to shop.example:order:v1",` +
		`"mimeType":"application/json"},"accepts":[{"scheme":"exact","network":"eip155:84532","amount":"1000000",` +
		`"asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":300,` +
		`"extra":{"name":"USDC","version":"2"}}],"extensions":{"payment-identifier":{"info":{"required":false},"schema":{`
	if !strings.HasPrefix(string(terms), want) {
		t.Fatalf("got\n%s\nwant\n%s", terms, want)
	}
	payment := s.payer.PayTerms(t, terms)
	a := s.order(payment)
	got := settlement(t, a)
	if a.Status != http.StatusOK || !got.Success || got.Transaction != s.chain.Moved()[0].Transaction || got.Payer != s.payer.Address() ||
		!strings.HasPrefix(a.Header.Get("Uim-Charge"), "0.25 EUR; id=") || a.Header.Get("Uim-Top-Up-Receipt") == "" {
		t.Fatalf("got %d %v %s", a.Status, a.Header, a.Body)
	}
	s.paid(1, "1.00 EUR", 0)
	if again := s.order(payment); again.Status != http.StatusOK || !settlement(t, again).Success { // continues with credit
		t.Fatalf("got %d %s", again.Status, again.Body)
	}
	for range 2 {
		if a := s.Execute(s.agent, gatetest.Ordering); a.Status != http.StatusOK || a.Header.Get("Payment-Response") != "" {
			t.Fatalf("on credit: got %d %s", a.Status, a.Body)
		}
	}
	s.asked() // all of it is used up
	s.paid(1, "1.00 EUR", 0)
	if n := s.chain.Requests("/settle"); n != 1 {
		t.Errorf("the facilitator was asked to settle %d times", n)
	}
	if body := string(s.Execute(s.agent, gatetest.Ordering).Body); !strings.Contains(body, `"credit_url":"http://127.0.0.1:8080/api/credit"`) {
		t.Errorf("got %s", body)
	}
	thief := *s
	thief.agent = s.Agreed("agent-3")
	s.Refuses(thief.order(payment), http.StatusConflict, "PAYMENT_USED")
	s.balanced()
}

func (s *till) balanced() {
	s.Helper()
	s.Must(s.Store.CheckBalance(s.Context()))
}

func TestX402RefusesBeforeItAsksTheFacilitator(t *testing.T) {
	s := newTill(t)
	terms := s.asked()
	good := s.payer.Pay(t, terms)
	little, much, other := *s.payer, *s.payer, *s.payer
	little.Value, much.Value, other.To = "999999", "10000001", "0x0000000000000000000000000000000000000001"
	for name, tt := range map[string]struct {
		header string
		status int
		reason string
	}{
		"not base64":       {"%%%", 400, "MALFORMED_REQUEST"},
		"empty":            {"", 400, "MALFORMED_REQUEST"},
		"not JSON":         {"e30", 400, "MALFORMED_REQUEST"},
		"version 1":        {facilitatortest.Header([]byte(strings.Replace(string(good), `"x402Version":2`, `"x402Version":1`, 1))), 400, "MALFORMED_REQUEST"},
		"over-long":        {strings.Repeat("A", 8196), 400, "MALFORMED_REQUEST"},
		"too little":       {facilitatortest.Header(little.Pay(t, terms)), 402, "PAYMENT_MISMATCH"},
		"above maximum":    {facilitatortest.Header(much.Pay(t, terms)), 402, "PAYMENT_MISMATCH"},
		"another receiver": {facilitatortest.Header(other.Pay(t, terms)), 402, "PAYMENT_MISMATCH"},
		"another network":  {facilitatortest.Header([]byte(strings.Replace(string(good), "eip155:84532", "eip155:1", 1))), 402, "PAYMENT_MISMATCH"},
	} {
		a := s.Execute(s.agent, gatetest.Ordering, "PAYMENT-SIGNATURE", tt.header)
		s.Refuses(a, tt.status, tt.reason)
		if fresh := a.Header.Get("Payment-Required") != ""; fresh != (tt.status == 402) {
			t.Errorf("%s: fresh terms: %v", name, fresh)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/intents/execute", strings.NewReader("{}"))
	s.Must(err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + s.agent.Token}, "Payment-Signature": {"e30=", "e30="}}
	s.Refuses(s.Send(r), http.StatusBadRequest, "MALFORMED_REQUEST")
	if n := s.chain.Requests("/verify") + s.chain.Requests("/settle"); n != 0 {
		t.Errorf("the facilitator was asked %d times", n)
	}
	free := s.Execute(s.agent, gatetest.Searching, "PAYMENT-SIGNATURE", facilitatortest.Header(good))
	if free.Status != http.StatusOK || free.Header.Get("Uim-Warning") != "payment-not-taken" {
		t.Errorf("a free call: got %d %v", free.Status, free.Header)
	}
	s.paid(0, "nothing", 0)
}

func TestX402Failures(t *testing.T) {
	s := newTill(t)
	forged := []byte(strings.Replace(string(s.payer.Pay(t, s.asked())), `"signature":"0x`, `"signature":"0x00`, 1))
	a := s.order(forged)
	s.Refuses(a, http.StatusPaymentRequired, "PAYMENT_FAILED")
	if got := settlement(t, a); got.Success || got.ErrorReason != "invalid_exact_evm_payload_signature" ||
		a.Header.Get("Payment-Required") == "" {
		t.Errorf("got %+v, %v", got, a.Header)
	}
	s.Refuses(s.order(forged), http.StatusPaymentRequired, "PAYMENT_FAILED")
	s.chain.Fail(facilitatortest.Refused)
	s.Refuses(s.order(s.payer.Pay(t, s.asked())), http.StatusPaymentRequired, "PAYMENT_FAILED")
	s.chain.Fail(facilitatortest.None)
	s.paid(0, "nothing", 0)

	payment := s.payer.Pay(t, s.asked())
	s.chain.FailToVerify(true)
	s.Refuses(s.order(payment), http.StatusServiceUnavailable, "STORE_UNAVAILABLE")
	s.chain.FailToVerify(false)
	s.chain.Stop()
	s.Refuses(s.order(payment), http.StatusServiceUnavailable, "STORE_UNAVAILABLE")
	s.asked() // nothing is open
	s.chain.Restart(t)
	if a := s.order(payment); a.Status != http.StatusOK {
		t.Fatalf("the same payment later: got %d %s", a.Status, a.Body)
	}
	s.paid(1, "1.00 EUR", 0)
	s.balanced()
}

// TestX402Unknown makes the facilitator fail after the money moved. The agent is never asked to pay again before the outcome is known.
func TestX402Unknown(t *testing.T) {
	t.Parallel()
	for _, fault := range []facilitatortest.Fault{
		facilitatortest.MovedBroken, facilitatortest.MovedCut, facilitatortest.MovedPending, facilitatortest.MovedGarbage,
		facilitatortest.Broken, facilitatortest.Lying,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := newTill(t)
			s.chain.Remember()
			payment := s.payer.Pay(t, s.asked())
			moved := 1
			if fault == facilitatortest.Broken || fault == facilitatortest.Lying {
				moved = 0
			}
			s.chain.Fail(fault)
			for range 3 {
				a := s.order(payment)
				s.Refuses(a, http.StatusConflict, "PAYMENT_UNKNOWN")
				if a.Header.Get("Retry-After") == "" || a.Header.Get("Payment-Required") != "" ||
					!strings.Contains(string(a.Body), "x402:eip155:84532:") {
					t.Fatalf("got %v %s", a.Header, a.Body)
				}
			}
			s.paid(moved, "nothing", 1)
			s.Refuses(s.Execute(s.agent, gatetest.Ordering), http.StatusConflict, "PAYMENT_UNKNOWN")
			s.Refuses(s.Call("/api/credit", s.agent.Token, map[string]string{"amount": "2", "currency": "EUR"}), http.StatusConflict,
				"PAYMENT_UNKNOWN")
			asked := s.chain.Requests("/settle")
			s.Must(s.Cashier.Settle(t.Context())) // not due yet
			s.Pass(2 * time.Second)
			s.Must(s.Cashier.Settle(t.Context()))
			if n := s.chain.Requests("/settle"); n != asked+1 {
				t.Fatalf("asked %d times, want one more than %d", n, asked)
			}
			s.paid(moved, "nothing", 1)
			s.chain.Fail(facilitatortest.None)
			s.Later(15 * time.Second)
			s.Must(s.Cashier.Settle(t.Context()))
			s.paid(1, "1.00 EUR", 0)
			if a := s.order(payment); a.Status != http.StatusOK || !settlement(t, a).Success {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			s.balanced()
		})
	}
}

func TestX402StaysUnknownWhenTheFacilitatorKeepsNoBook(t *testing.T) {
	s := newTill(t)
	s.chain.Fail(facilitatortest.MovedCut)
	payment := s.payer.Pay(t, s.asked())
	s.Refuses(s.order(payment), http.StatusConflict, "PAYMENT_UNKNOWN")
	s.chain.Fail(facilitatortest.None)
	for range 70 { // until the end of the authorization, and 10 minutes longer
		s.Later(15 * time.Second)
		s.Must(s.Cashier.Settle(t.Context()))
	}
	s.paid(1, "nothing", 1)
	asked := s.chain.Requests("/settle")
	s.Later(10 * time.Minute)
	s.Must(s.Cashier.Settle(t.Context()))
	if n := s.chain.Requests("/settle"); n != asked || n < 40 {
		t.Errorf("asked %d times, then %d times", asked, n)
	}
	list, err := s.Store.Payments(t.Context(), store.PaymentFilter{Service: "default", State: store.PaymentUnknown})
	if s.Must(err); len(list) != 1 || !strings.Contains(list[0].Reason, "invalid_exact_evm") {
		t.Fatalf("got %+v", list)
	}
	_, err = s.Store.MovePayment(t.Context(), "default", list[0].Reference, store.PaymentMove{To: store.PaymentCredited}) // by the operator
	s.Must(err)
	s.paid(1, "1.00 EUR", 0)
	s.Later(0)
	if a := s.order(payment); a.Status != http.StatusOK {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
}

func TestX402PaymentIdentifier(t *testing.T) {
	s := newTill(t)
	s.payer.ID = "pay_0123456789abcdef"
	payment := s.payer.Pay(t, s.asked())
	first := s.order(payment)
	again := s.order(payment)
	if first.Status != http.StatusOK || again.Status != http.StatusOK || again.Header.Get("Idempotency-Replayed") != "true" ||
		again.Header.Get("Uim-Charge") != first.Header.Get("Uim-Charge") || !settlement(t, again).Success {
		t.Fatalf("got %d %v, then %d %v", first.Status, first.Header, again.Status, again.Header)
	}
	more := s.order(s.payer.Pay(t, s.termsOf("2")))
	s.Refuses(more, http.StatusConflict, "PAYMENT_USED")
	if a := s.Execute(s.agent, gatetest.Ordering, "Idempotency-Key", s.payer.ID); a.Status != http.StatusOK ||
		a.Header.Get("Idempotency-Replayed") != "" {
		t.Fatalf("a key with the same text: got %d %v", a.Status, a.Header)
	}
	s.paid(1, "1.00 EUR", 0)
}

// TestX402OffersNoTermsWhileAPaymentIsUnknown repeats a payment that failed, which could be paid again with new terms.
func TestX402OffersNoTermsWhileAPaymentIsUnknown(t *testing.T) {
	s := newTill(t)
	terms := s.asked()
	s.chain.Fail(facilitatortest.Refused)
	failed := s.payer.Pay(t, terms)
	s.Refuses(s.order(failed), http.StatusPaymentRequired, "PAYMENT_FAILED")
	s.chain.Fail(facilitatortest.MovedCut)
	s.Refuses(s.order(s.payer.Pay(t, terms)), http.StatusConflict, "PAYMENT_UNKNOWN")
	a := s.order(failed)
	s.Refuses(a, http.StatusConflict, "PAYMENT_UNKNOWN")
	if a.Header.Get("Payment-Required") != "" {
		t.Errorf("got terms: %v", a.Header)
	}
}

// await waits for a condition.
func await(t *testing.T, is func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatal("the condition does not hold in a minute")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A payment that the facilitator refuses to verify is kept for a day, and one that it refuses to settle much longer.
func TestX402RefusedPaymentsAreForgotten(t *testing.T) {
	s := newTill(t)
	s.Refuses(s.order([]byte(strings.Replace(string(s.payer.Pay(t, s.asked())), `"signature":"0x`, `"signature":"0x00`, 1))),
		http.StatusPaymentRequired, "PAYMENT_FAILED")
	s.chain.Fail(facilitatortest.Refused)
	s.Refuses(s.order(s.payer.Pay(t, s.asked())), http.StatusPaymentRequired, "PAYMENT_FAILED")
	failed := func() int {
		_, err := s.Store.Purge(t.Context())
		s.Must(err)
		list, err := s.Store.Payments(t.Context(), store.PaymentFilter{Service: "default", State: store.PaymentFailed})
		s.Must(err)
		return len(list)
	}
	s.Pass(23 * time.Hour)
	if n := failed(); n != 2 {
		t.Errorf("%d payments after 23 hours; want 2", n)
	}
	s.Pass(2 * time.Hour)
	if n := failed(); n != 1 {
		t.Errorf("%d payments after 25 hours; want 1", n)
	}
}
