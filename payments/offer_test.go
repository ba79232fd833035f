package payments_test

import (
	"math"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store"
)

func nano(n int64) money.Amount { return money.Amount{Nano: n, Currency: "EUR"} }

func TestDemand(t *testing.T) {
	offer := payments.Offer{Minimum: nano(money.Unit), TopUpURL: "https://pay.example/{service}?a={agent_id}&n={amount}&c={currency}", Contact: "us"}
	for name, tt := range map[string]struct {
		short              store.CreditError
		shortfall, minimum string
	}{
		"prepaid, nothing paid in": {store.CreditError{Charge: nano(250_000_000)}, "0.25", "1.00"},
		"prepaid, something left":  {store.CreditError{Charge: nano(250_000_000), PaidIn: nano(200_000_000)}, "0.05", "1.00"},
		"postpaid": {
			store.CreditError{Charge: nano(5_000_000_000), Used: nano(1_000_000_000), Limit: nano(2_000_000_000)}, "4.00", "4.00",
		},
		"the common credit": {
			store.CreditError{Charge: nano(5_000_000_000), Limit: nano(9_000_000_000), Pooled: true, RetryAfter: time.Hour}, "5.00", "5.00",
		},
		"less than a cent":             {store.CreditError{Charge: nano(2_000_000_001)}, "2.000000001", "2.01"},
		"beyond the range":             {store.CreditError{Charge: nano(math.MaxInt64), Used: nano(math.MaxInt64)}, "9223372036.854775807", "9223372036.854775807"},
		"an account that was reversed": {store.CreditError{Charge: nano(1), PaidIn: nano(0), Used: nano(money.Unit), Limit: nano(0)}, "1.000000001", "1.01"},
	} {
		d := offer.Demand("shop", "agent & co", &tt.short)
		want := "https://pay.example/shop?a=agent%20%26%20co&n=" + tt.minimum + "&c=EUR"
		if d.Shortfall != tt.shortfall || d.Minimum != tt.minimum || d.TopUpURL != want || d.Contact != "us" {
			t.Errorf("%s: got %+v, want %s, %s, %s", name, d, tt.shortfall, tt.minimum, want)
		}
	}
	var none payments.Offer
	d := none.Demand("shop", "a", &store.CreditError{Charge: nano(1)})
	if advice, page := d.Advice(), d.Members()["top_up_url"]; advice != "" || page != nil {
		t.Errorf("an offer without a way to pay: got %q, %v", advice, page)
	}
}
