package budget

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
)

var start = time.Date(2026, 11, 23, 12, 30, 0, 0, time.UTC)

func amount(t *testing.T, s string) money.Amount {
	t.Helper()
	if s == "" {
		return money.Amount{}
	}
	a, err := money.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func book(t *testing.T, path string, now *time.Time, limits ...string) *Book {
	t.Helper()
	var list []Limit
	for _, s := range limits {
		l, err := ParseLimit(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return New(path, list, func() time.Time { return *now })
}

func file(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "budget.json")
}

func TestParseLimit(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"5 EUR/day": "5.00 EUR/day", " 0.5 USD / hour ": "0.50 USD/hour", "100 JPY/month": "100.00 JPY/month", "0 EUR/day": "0.00 EUR/day",
		"5 EUR": "", "5 EUR/year": "", "5/day": "", "-5 EUR/day": "", "5 eur/day": "", "": "", "/day": "", "5 EUR/day/day": "",
	} {
		l, err := ParseLimit(in)
		if want == "" {
			if !errors.Is(err, ErrLimit) {
				t.Errorf("%q: %v, %v; want ErrLimit", in, l, err)
			}
			continue
		}
		if err != nil || l.String() != want {
			t.Errorf("%q: %v, %v; want %s", in, l, err, want)
		}
	}
}

// A step is a reservation and its settlement.
type step struct {
	after   time.Duration // passes before the step
	price   string        // "": unknown
	charged string        // "": nothing; "?": unknown, the reservation stays open
	refused bool
}

func TestReserveAndSettle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits []string
		steps  []step
	}{
		"up to the limit":                      {[]string{"1 EUR/day"}, []step{{0, "0.6 EUR", "0.6 EUR", false}, {0, "0.4 EUR", "0.4 EUR", false}, {0, "0.01 EUR", "", true}}},
		"an unused reservation is released":    {[]string{"1 EUR/day"}, []step{{0, "1 EUR", "", false}, {0, "1 EUR", "", false}}},
		"a smaller charge releases the rest":   {[]string{"1 EUR/day"}, []step{{0, "1 EUR", "0.3 EUR", false}, {0, "0.7 EUR", "", false}}},
		"a larger charge counts":               {[]string{"1 EUR/day"}, []step{{0, "0.1 EUR", "5 EUR", false}, {0, "0.1 EUR", "", true}}},
		"an unknown charge stays reserved":     {[]string{"1 EUR/day"}, []step{{0, "0.6 EUR", "?", false}, {0, "0.6 EUR", "", true}}},
		"the next day":                         {[]string{"1 EUR/day"}, []step{{0, "1 EUR", "?", false}, {11 * time.Hour, "1 EUR", "", true}, {time.Hour, "1 EUR", "", false}}},
		"the next hour, but not day":           {[]string{"1 EUR/hour", "2 EUR/day"}, []step{{0, "1 EUR", "?", false}, {0, "1 EUR", "", true}, {time.Hour, "1 EUR", "?", false}, {time.Hour, "1 EUR", "", true}}},
		"the next month":                       {[]string{"1 EUR/month"}, []step{{0, "1 EUR", "?", false}, {7 * 24 * time.Hour, "1 EUR", "", true}, {24 * time.Hour, "1 EUR", "", false}}},
		"the clock is set back":                {[]string{"1 EUR/day"}, []step{{0, "1 EUR", "?", false}, {-48 * time.Hour, "1 EUR", "", true}}},
		"another currency":                     {[]string{"1 EUR/day"}, []step{{0, "0.1 USD", "", true}}},
		"no budget":                            {nil, []step{{0, "0.1 EUR", "", true}, {0, "", "", true}}},
		"each currency separately":             {[]string{"1 EUR/day", "1 USD/day"}, []step{{0, "1 EUR", "?", false}, {0, "1 USD", "?", false}, {0, "1 EUR", "", true}}},
		"an unknown price counts when charged": {[]string{"1 EUR/day"}, []step{{0, "", "0.7 EUR", false}, {0, "", "0.7 EUR", false}, {0, "", "", true}}},
		"charged in another currency":          {[]string{"1 EUR/day", "1 USD/day"}, []step{{0, "1 EUR", "0.5 USD", false}, {0, "0.1 EUR", "", true}, {0, "0.6 USD", "", true}, {0, "0.5 USD", "", false}}},
		"charged in a currency without limit":  {[]string{"1 EUR/day"}, []step{{0, "1 EUR", "1 USD", false}, {0, "1 EUR", "", true}}},
		"above every limit":                    {[]string{"1000000 EUR/day"}, []step{{0, "1000000 EUR", "?", false}, {0, "1000000 EUR", "", true}}},
		"a budget of zero":                     {[]string{"0 EUR/day"}, []step{{0, "0.000000001 EUR", "", true}, {0, "", "", true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := start
			path := file(t)
			for i, s := range test.steps {
				now = now.Add(s.after)
				b := book(t, path, &now, test.limits...) // as after a restart
				r, err := b.Reserve(t.Context(), amount(t, s.price))
				if (err != nil) != s.refused {
					t.Fatalf("step %d: %v, want refused = %v", i, err, s.refused)
				}
				if err != nil {
					var exceeded *ExceededError
					var currency *CurrencyError
					if !errors.As(err, &exceeded) && !errors.As(err, &currency) {
						t.Errorf("step %d: %v is not a refusal", i, err)
					}
					continue
				}
				if s.charged != "?" {
					if err := r.Settle(t.Context(), amount(t, s.charged)); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// A budget with a new period counts the charges under the old one.
func TestNewLimitCountsEarlierCharges(t *testing.T) {
	t.Parallel()
	now, path := start, file(t)
	if _, err := book(t, path, &now, "1 EUR/hour").Reserve(t.Context(), amount(t, "0.8 EUR")); err != nil {
		t.Fatal(err)
	}
	_, err := book(t, path, &now, "1 EUR/month").Reserve(t.Context(), amount(t, "0.8 EUR"))
	exceeded, ok := errors.AsType[*ExceededError](err)
	if !ok || exceeded.Spent.String() != "0.80 EUR" || !exceeded.Until.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("err = %v", err)
	}
	if text := exceeded.Error(); !strings.Contains(text, "0.80 EUR of the budget of 1.00 EUR/month") {
		t.Errorf("got %q, want a text that contains %q", text, "0.80 EUR of the budget of 1.00 EUR/month")
	}
}

// The budget counts the charge for a call that should have been free.
func TestNothingReserved(t *testing.T) {
	t.Parallel()
	now, path := start, file(t)
	r := book(t, path, &now).Nothing()
	if err := r.Settle(t.Context(), money.Amount{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a free call wrote the file: %v", err)
	}
	if err := r.Settle(t.Context(), amount(t, "0.8 EUR")); err != nil {
		t.Fatal(err)
	}
	if _, err := book(t, path, &now, "1 EUR/day").Reserve(t.Context(), amount(t, "0.8 EUR")); err == nil {
		t.Error("the charge for a free call was not counted")
	}
}

// A settlement in the next period does not count there.
func TestSettledInTheNextPeriod(t *testing.T) {
	t.Parallel()
	now, path := start, file(t)
	b := book(t, path, &now, "1 EUR/day")
	r, err := b.Reserve(t.Context(), amount(t, "1 EUR"))
	if err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 0, 1)
	next, err := b.Reserve(t.Context(), amount(t, "0.5 EUR"))
	if err != nil {
		t.Fatal(err)
	}
	for r, charged := range map[*Reservation]string{r: "0.9 EUR", next: "0.5 EUR"} {
		if err := r.Settle(t.Context(), amount(t, charged)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Reserve(t.Context(), amount(t, "0.5 EUR")); err != nil {
		t.Error(err)
	}
	if _, err := b.Reserve(t.Context(), amount(t, "0.01 EUR")); err == nil {
		t.Error("a reservation beyond the budget succeeded")
	}
}

// Two books on one file share one budget.
func TestConcurrentReservations(t *testing.T) {
	t.Parallel()
	now, path := start, file(t)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		b := book(t, path, &now, "1 EUR/day")
		for range 15 {
			wg.Go(func() {
				if _, err := b.Reserve(t.Context(), amount(t, "0.1 EUR")); err == nil {
					admitted.Add(1)
				}
			})
		}
	}
	wg.Wait()
	if admitted.Load() != 10 {
		t.Errorf("got %d calls of 0.1 EUR within 1 EUR, want 10", admitted.Load())
	}
}

// A damaged file allows no reservation, because the earlier charges are unknown.
func TestDamagedFileAllowsNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not JSON": "{", "empty": "", "another version": `{"version":2,"spent":{}}`, "null": "null", "no accounts": `{"version":1}`,
		"negative":  `{"version":1,"spent":{"EUR":{"day":{"from":"2026-11-23T00:00:00Z","nano":-1}}}}`,
		"no window": `{"version":1,"spent":{"EUR":{"day":null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, path := start, file(t)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := book(t, path, &now, "1 EUR/day").Reserve(t.Context(), amount(t, "0.1 EUR")); err == nil {
				t.Error("a reservation was made")
			}
			if left, err := os.ReadFile(path); err != nil || string(left) != text {
				t.Errorf("the file became %q, %v", left, err)
			}
		})
	}
}

// The file keeps no accounts of past periods.
func TestFileDoesNotGrow(t *testing.T) {
	t.Parallel()
	now, path := start, file(t)
	if err := book(t, path, &now).Nothing().Settle(t.Context(), amount(t, "1 USD")); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 2, 0)
	if err := book(t, path, &now).Nothing().Settle(t.Context(), amount(t, "1 EUR")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "USD") || !strings.Contains(string(text), "EUR") {
		t.Errorf("got %s, %v", text, err)
	}
}

// The sum of the reported charges has no bound. A sum that would overflow exceeds every limit.
func TestOverflowExceedsEveryLimit(t *testing.T) {
	t.Parallel()
	now, path := start, file(t)
	from := start.Truncate(24 * time.Hour).Format(time.RFC3339)
	spent := `{"version":1,"spent":{"EUR":{"day":{"from":"` + from + `","nano":9223372036854775807}}}}`
	if err := os.WriteFile(path, []byte(spent), 0o600); err != nil {
		t.Fatal(err)
	}
	b := book(t, path, &now, "5 EUR/day")
	if _, err := b.Reserve(t.Context(), amount(t, "1 EUR")); !errors.As(err, new(*ExceededError)) {
		t.Errorf("%v; want ExceededError", err)
	}
}
