package limit_test

import (
	"errors"
	"testing"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

func TestParseAllowance(t *testing.T) {
	for text, want := range map[string]string{
		"20 EUR/month": "20.00 EUR/month", "0.5 USD / Day": "0.50 USD/day", "5 EUR/P1D": "5.00 EUR/day", "1000000 JPY/months": "1000000.00 JPY/month",
		"20 EUR": "", "EUR/month": "", "20/month": "", "0 EUR/month": "", "-1 EUR/day": "", "20 EUR/week": "", "20 EUR/year": "", "20 EUR/": "",
		"1000001 EUR/month": "", "1e12 EUR/month": "", "": "", "/": "", "20 EUR/month/day": "",
	} {
		got, err := limit.ParseAllowance(text)
		if want == "" {
			if !errors.Is(err, limit.ErrAllowance) {
				t.Errorf("%q: %v, %v", text, got, err)
			}
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("%q: got %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestAllowanceFits(t *testing.T) {
	spending := func(text string) limit.Allowance {
		s, err := limit.ParseAllowance(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		own, most string
		want      bool
	}{
		{"20 EUR/month", "20 EUR/month", true},
		{"20.01 EUR/month", "20 EUR/month", false},
		{"1 EUR/day", "31 EUR/month", true},
		{"1.01 EUR/day", "31 EUR/month", false},
		{"5 EUR/month", "5 EUR/day", true},
		{"6 EUR/month", "5 EUR/day", false},
		{"1 USD/month", "20 EUR/month", false},
	} {
		if got := spending(c.own).Fits(spending(c.most)); got != c.want {
			t.Errorf("%s within %s: %v", c.own, c.most, got)
		}
	}
}

func TestAllowanceUnitsRoundUp(t *testing.T) {
	for nano, want := range map[int64]int64{0: 0, 1: 1, 1000: 1, 1001: 2, money.Unit: 1_000_000} {
		if got := limit.AllowanceUnits(money.Amount{Nano: nano, Currency: "EUR"}); got != want {
			t.Errorf("%d: got %d, want %d", nano, got, want)
		}
	}
	if got := limit.OfBudget(limit.Allowance{Amount: money.Amount{Nano: 1999, Currency: "EUR"}, Period: limit.Day}); got.Max != 1 || got.ID != "budget:EUR" ||
		limit.KindOf(got.ID) != limit.Budget {
		t.Errorf("got %+v", got)
	}
}
