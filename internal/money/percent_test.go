package money_test

import (
	"math"
	"testing"

	"github.com/uimgate/uimgate/internal/money"
)

func TestPercent(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "19": "19", "8.875": "8.875", "5.50": "5.5", "100": "100", "007": "7", "0.001": "0.001", "100.000": "100",
		"": "", "-1": "", "100.001": "", "101": "", "1.": "", ".5": "", "1.2345": "", "1e1": "", "19 %": "", "٣": "", "1000": "",
	} {
		got, err := money.ParsePercent(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: got %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestTaxIsRoundedToMinorUnits(t *testing.T) {
	for _, c := range []struct{ amount, percent, of, within, round string }{
		{"100 EUR", "19", "19.00 EUR", "15.97 EUR", "100.00 EUR"},
		{"119 EUR", "19", "22.61 EUR", "19.00 EUR", "119.00 EUR"},
		{"0.025 EUR", "20", "0.01 EUR", "0.00 EUR", "0.03 EUR"},
		{"0.024999999 EUR", "20", "0.00 EUR", "0.00 EUR", "0.02 EUR"},
		{"1000.5 JPY", "10", "100.00 JPY", "91.00 JPY", "1001.00 JPY"},
		{"1 KWD", "5.125", "0.051 KWD", "0.049 KWD", "1.00 KWD"},
		{"10 EUR", "0", "0.00 EUR", "0.00 EUR", "10.00 EUR"},
		{"10 EUR", "100", "10.00 EUR", "5.00 EUR", "10.00 EUR"},
	} {
		a, err := money.Parse(c.amount)
		if err != nil {
			t.Fatal(err)
		}
		p, err := money.ParsePercent(c.percent)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Of(a).String(); got != c.of {
			t.Errorf("%s %% of %s: got %s, want %s", c.percent, c.amount, got, c.of)
		}
		if got := p.Within(a).String(); got != c.within {
			t.Errorf("%s %% within %s: got %s, want %s", c.percent, c.amount, got, c.within)
		}
		if got := a.Round().String(); got != c.round {
			t.Errorf("%s rounded: got %s, want %s", c.amount, got, c.round)
		}
	}
	most := money.Amount{Nano: math.MaxInt64, Currency: "EUR"}
	if got := most.Round(); got.Nano <= 0 || most.Nano-got.Nano > money.Unit {
		t.Errorf("got %s", got)
	}
}
