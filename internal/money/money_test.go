package money_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/uimgate/uimgate/internal/money"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"0.01 USD": "0.01 USD", "10 USD": "10.00 USD", "1e-2 EUR": "0.01 EUR", "0.000000001 JPY": "0.000000001 JPY",
		"0.020 EUR": "0.02 EUR", "0.125 EUR": "0.125 EUR", "1000000 USD": "1000000.00 USD", "0 USD": "0.00 USD",
		"0.0000000001 USD": "", "1000000.01 USD": "", "-1 USD": "", "1 usd": "", "1": "", "USD": "", "NaN USD": "",
		"1e99 USD": "", "0x10 USD": "", "+1 USD": "",
	} {
		a, err := money.Parse(in)
		switch {
		case want == "":
			if !errors.Is(err, money.ErrAmount) || a != (money.Amount{}) {
				t.Errorf("%q: %v, %v; want ErrAmount", in, a, err)
			}
		case err != nil || a.String() != want:
			t.Errorf("%q: %v, %v; want %v", in, a, err, want)
		}
	}
}

// Decimal returns every number exactly, as the decimal library does, but with at least two decimal places.
func TestDecimalIsExact(t *testing.T) {
	numbers := []int64{0, 1, 9, 10, 1_000_000, 10_000_000, 100_000_000, 120_000_000, 999_999_999, money.Unit, money.Unit + 1, math.MaxInt64}
	for range 1000 {
		numbers = append(numbers, rand.Int64()>>rand.N(63))
	}
	for _, n := range numbers {
		for _, nano := range []int64{n, -n, -n - 1} {
			exact := decimal.New(nano, -9)
			got := money.Amount{Nano: nano}.Decimal()
			read, err := decimal.NewFromString(got)
			if err != nil || !read.Equal(exact) {
				t.Fatalf("%d billionths are %q", nano, got)
			}
			if want := max(2, len(exact.Abs().String())-len(exact.Abs().Truncate(0).String())-1); len(got)-strings.IndexByte(got, '.')-1 != want {
				t.Errorf("%d billionths are %q, want %d decimal places", nano, got, want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0.01 USD")
	f.Add("1e-9 EUR")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := money.Parse(s)
		if err != nil {
			return
		}
		if a.Nano < 0 || a.Nano > money.MaxUnits*money.Unit {
			t.Fatalf("%q: out of range: %d", s, a.Nano)
		}
		if again, err := money.Parse(a.String()); err != nil || again != a {
			t.Fatalf("%q → %v → %v, %v", s, a, again, err)
		}
	})
}

func TestMinorUnits(t *testing.T) {
	for text, want := range map[string][2]int64{
		"0.25 EUR": {25, 1}, "1 EUR": {100, 1}, "0.005 USD": {1, 2}, "0.001 USD": {1, 10}, "0.015 USD": {3, 2}, "0.000000001 JPY": {1, 1_000_000_000},
		"3 JPY": {3, 1}, "0.5 JPY": {1, 2}, "0.001 KWD": {1, 1}, "1000000 USD": {100_000_000, 1}, "999999.999999999 JPY": {999_999_999_999_999, 1_000_000_000},
	} {
		a, err := money.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if sum, times := a.Minor(); sum != want[0] || times != want[1] {
			t.Errorf("%s: %d for %d, want %d for %d", text, sum, times, want[0], want[1])
		}
	}
	if sum, times := (money.Amount{}).Minor(); sum != 0 || times != 1 {
		t.Errorf("the zero amount: %d for %d", sum, times)
	}
}

func TestAmountsOfMinorUnits(t *testing.T) {
	for want, of := range map[string]struct {
		units int64
		code  string
	}{
		"0.25 EUR": {25, "EUR"}, "3.00 JPY": {3, "JPY"}, "0.001 KWD": {1, "KWD"}, "1000000.00 USD": {100_000_000, "USD"},
	} {
		a, ok := money.OfMinor(of.units, of.code)
		if !ok || a.String() != want || a.InMinor() != float64(of.units) {
			t.Errorf("got %v, %t, %v in minor units; want %s", a, ok, a.InMinor(), want)
		}
	}
	if a, ok := money.OfMinor(-25, "EUR"); !ok || a.Nano != -250_000_000 {
		t.Errorf("got %v, %t; want -0.25 EUR", a, ok)
	}
	for code, units := range map[string]int64{"EUR": 100_000_001, "USD": math.MinInt64, "JPY": math.MaxInt64, "eur": 1, "": 1} {
		if a, ok := money.OfMinor(units, code); ok {
			t.Errorf("%d %q: got %v, want none", units, code, a)
		}
	}
	if n := (money.Amount{Nano: 5_000_000, Currency: "USD"}).InMinor(); n != 0.5 {
		t.Errorf("0.005 USD is %v cents, want 0.5", n)
	}
}

func TestSumsMayExceedAmounts(t *testing.T) {
	largest := money.Amount{Nano: math.MaxInt64, Currency: "EUR"}
	if a, err := money.NewSum(largest.Decimal(), "EUR"); err != nil || a != largest {
		t.Errorf("got %v, %v, want %v", a, err, largest)
	}
	for _, bad := range []string{"9223372036.854775808", "-1", "", "x", "0.0000000001", strings.Repeat("9", 41)} {
		if a, err := money.NewSum(bad, "EUR"); !errors.Is(err, money.ErrAmount) {
			t.Errorf("%q: got %v, %v", bad, a, err)
		}
	}
	if _, err := money.NewSum("1", "euro"); !errors.Is(err, money.ErrAmount) {
		t.Errorf("got %v", err)
	}
}
