package x402_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	facilitatortest "github.com/uimgate/uimgate/internal/test/facilitator"
	"github.com/uimgate/uimgate/payments/x402"
)

func facilitator(tb testing.TB, address string) *x402.Facilitator {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	f := x402.NewFacilitator(x402.FacilitatorOptions{URL: u, Token: facilitatortest.Token, Timeout: time.Minute})
	tb.Cleanup(f.Close)
	return f
}

func order(tb testing.TB, payment []byte) x402.Order {
	tb.Helper()
	p, err := x402.Read(payment)
	if err != nil {
		tb.Fatal(err)
	}
	o, err := terms().Match(p, usd(money.Unit), now)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func TestFacilitatorSettles(t *testing.T) {
	chain := facilitatortest.New(t, clock)
	f, payer := facilitator(t, chain.URL), facilitatortest.NewPayer(t, clock)
	kinds, err := f.Supported(t.Context())
	if err != nil || len(kinds) != 1 || kinds[0] != (x402.Kind{Scheme: "exact", Network: facilitatortest.Network}) {
		t.Fatalf("got %+v, %v", kinds, err)
	}
	o := order(t, payer.Pay(t, offered(t, usd(money.Unit))))
	if err := f.Verify(t.Context(), o.Body); err != nil {
		t.Fatal(err)
	}
	s := f.Settle(t.Context(), o.Body, false)
	if s.Outcome != x402.Settled || !o.Confirms(&s) || len(chain.Moved()) != 1 || s.Transaction != chain.Moved()[0].Transaction {
		t.Fatalf("got %+v, moved %+v", s, chain.Moved())
	}
	if s = f.Settle(t.Context(), o.Body, true); s.Outcome != x402.Unknown || !strings.Contains(s.Reason, "already_used") {
		t.Fatalf("again: got %+v", s)
	}
	chain.Remember()
	if s = f.Settle(t.Context(), o.Body, true); s.Outcome != x402.Settled || len(chain.Moved()) != 1 {
		t.Fatalf("by the book: got %+v, moved %+v", s, chain.Moved())
	}
	forged := edited(t, payer.Pay(t, offered(t, usd(money.Unit))), "0x"+strings.Repeat("ab", 65), "payload", "signature")
	invalid, _ := errors.AsType[*x402.InvalidError](f.Verify(t.Context(), order(t, forged).Body))
	if invalid == nil || invalid.Reason != "invalid_exact_evm_payload_signature" {
		t.Fatalf("got %v", invalid)
	}
	if !chain.Authorized() {
		t.Error("a request had no token")
	}
	chain.Stop()
	if err := f.Verify(t.Context(), o.Body); !errors.Is(err, x402.ErrUnreachable) || strings.Contains(err.Error(), facilitatortest.Token) {
		t.Errorf("got %v", err)
	}
	if s := f.Settle(t.Context(), o.Body, false); s.Outcome != x402.Unsent {
		t.Errorf("unreachable: got %+v", s)
	}
	if s := f.Settle(t.Context(), o.Body, true); s.Outcome != x402.Unknown {
		t.Errorf("unreachable, asked before: got %+v", s)
	}
}

// TestSettlementOutcomes tries answers of facilitators. None that leaves open whether money moved may count as a failure.
func TestSettlementOutcomes(t *testing.T) {
	const ok = `{"success":true,"transaction":"0x1","network":"` + facilitatortest.Network + `"}`
	failure := func(why, tx string) string {
		return `{"success":false,"errorReason":"` + why + `","transaction":"` + tx + `"}`
	}
	payer := facilitatortest.NewPayer(t, clock)
	o := order(t, payer.Pay(t, offered(t, usd(money.Unit))))
	for name, tt := range map[string]struct {
		status        int
		body          string
		first, second x402.Outcome
		confirmed     bool
	}{
		"settled":                    {200, ok, x402.Settled, x402.Settled, true},
		"of another network":         {200, strings.Replace(ok, "84532", "1", 1), x402.Settled, x402.Settled, false},
		"of another payer":           {200, strings.Replace(ok, "{", `{"payer":"0x1",`, 1), x402.Settled, x402.Settled, false},
		"of another amount":          {200, strings.Replace(ok, "{", `{"amount":"1",`, 1), x402.Settled, x402.Settled, false},
		"without a transaction":      {200, `{"success":true,"transaction":""}`, x402.Unknown, x402.Unknown, true},
		"with status 500":            {500, ok, x402.Unknown, x402.Unknown, true},
		"success as text":            {200, `{"success":"true","transaction":"0x1"}`, x402.Unknown, x402.Unknown, true},
		"empty":                      {200, ``, x402.Unknown, x402.Unknown, true},
		"HTML":                       {200, `<html>`, x402.Unknown, x402.Unknown, true},
		"huge":                       {200, strings.Repeat(" ", 1<<20) + ok, x402.Unknown, x402.Unknown, true},
		"a redirect":                 {307, ``, x402.Unknown, x402.Unknown, true},
		"without a reason":           {200, `{"success":false,"transaction":""}`, x402.Unknown, x402.Unknown, true},
		"insufficient funds":         {200, failure("insufficient_funds", ""), x402.Failed, x402.Unknown, true},
		"with status 402":            {402, failure("insufficient_funds", ""), x402.Failed, x402.Unknown, true},
		"with a transaction":         {200, failure("insufficient_funds", "0x1"), x402.Unknown, x402.Unknown, true},
		"a wrong signature":          {400, failure("invalid_exact_evm_payload_signature", ""), x402.Failed, x402.Unknown, true},
		"the same by its name since": {400, failure("invalid_exact_evm_signature", ""), x402.Failed, x402.Unknown, true},
		"little on the account":      {200, failure("invalid_exact_evm_insufficient_balance", ""), x402.Failed, x402.Unknown, true},
		// as the reference answers when the receipt of a transaction that it has sent does not come in time
		"a late receipt":               {200, failure("invalid_exact_evm_transaction_failed", ""), x402.Unknown, x402.Unknown, true},
		"a late receipt, earlier name": {200, failure("transaction_failed", ""), x402.Unknown, x402.Unknown, true},
		"an error as text":             {200, failure("Timed out while waiting for transaction", ""), x402.Unknown, x402.Unknown, true},
		"a reason of no list":          {200, failure("policy_violation", ""), x402.Unknown, x402.Unknown, true},
		"a reverted one of reference":  {200, failure("invalid_exact_evm_transaction_failed", "0x1"), x402.Failed, x402.Unknown, true},
		"a facilitator without exact":  {400, failure("unsupported_scheme", ""), x402.Failed, x402.Unknown, true},
		"of a dropped network":         {400, failure("invalid_network", ""), x402.Failed, x402.Unknown, true},
		"pending":                      {200, failure("settlement_pending", "0x1"), x402.Unknown, x402.Unknown, true},
		"a nonce that was used":        {200, failure("invalid_exact_evm_nonce_already_used", ""), x402.Unknown, x402.Unknown, true},
		"an unexpected error":          {200, failure("unexpected_settle_error", ""), x402.Unknown, x402.Unknown, true},
		"a reverted transaction":       {200, failure("invalid_transaction_state", "0x1"), x402.Failed, x402.Unknown, true},
		"not authorized":               {401, `{"message":"no"}`, x402.Unknown, x402.Unknown, true},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if tt.status == http.StatusTemporaryRedirect {
				w.Header().Set("Location", r.URL.Path)
			}
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		f := facilitator(t, s.URL)
		for repeated, want := range map[bool]x402.Outcome{false: tt.first, true: tt.second} {
			got := f.Settle(t.Context(), o.Body, repeated)
			if got.Outcome != want || o.Confirms(&got) != tt.confirmed {
				t.Errorf("%s, asked before %v: got %+v, want %d", name, repeated, got, want)
			}
		}
		if err := f.Verify(t.Context(), o.Body); !errors.Is(err, x402.ErrUnreachable) {
			t.Errorf("%s: an answer that is not about /verify: got %v", name, err)
		}
		s.Close()
	}
}

// TestRepeatedSettlementsAreNotDelayed fills all slots of new payments with requests that hang.
func TestRepeatedSettlementsAreNotDelayed(t *testing.T) {
	arrived, release := make(chan struct{}, 1000), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/verify" {
			arrived <- struct{}{}
			<-release
		}
		_, _ = w.Write([]byte(`{"success":true,"transaction":"0x1"}`))
	}))
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := x402.NewFacilitator(x402.FacilitatorOptions{URL: u, Timeout: 5 * time.Second, Private: true})
	var all sync.WaitGroup
	t.Cleanup(func() {
		close(release)
		all.Wait()
		f.Close()
		s.Close()
	})
	for range 128 {
		all.Go(func() { _ = f.Verify(t.Context(), []byte("{}")) })
	}
	for range 128 {
		<-arrived
	}
	if got := f.Settle(t.Context(), []byte("{}"), true); got.Outcome != x402.Settled {
		t.Errorf("repeated: got %+v", got)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if got := f.Settle(ended, []byte("{}"), false); got.Outcome != x402.Unsent {
		t.Errorf("new: got %+v", got)
	}
}

func TestReceiptsOfPayments(t *testing.T) {
	text, err := (&x402.Receipt{Success: true, Transaction: "0x1", Network: facilitatortest.Network, Payer: "0x2"}).JSON()
	var got map[string]any
	if err != nil || json.Unmarshal(text, &got) != nil || got["success"] != true || got["network"] != facilitatortest.Network ||
		got["errorReason"] != nil {
		t.Errorf("got %s, %v", text, err)
	}
}
