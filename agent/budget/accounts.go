package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/privatefile"
)

const (
	fileVersion = 1
	maxFile     = 4 << 20
)

// accounts are the contents of the file: the amount spent in the current period, by currency and kind of period. The file has every
// kind of period, whatever the limits are, so that a limit that is set later also counts what was spent before.
type accounts struct {
	Version int                           `json:"version"`
	Spent   map[string]map[Period]*window `json:"spent"`
}

// A window is the amount spent in the period that began at From, in billionths of the currency unit.
type window struct {
	From time.Time `json:"from"`
	Nano int64     `json:"nano"`
}

func readAccounts(path string) (*accounts, error) {
	data, err := privatefile.Read(path, maxFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &accounts{Version: fileVersion, Spent: map[string]map[Period]*window{}}, nil
	case err != nil:
		return nil, fmt.Errorf("reading the amounts spent from %s: %w", path, err)
	}
	a := &accounts{}
	broken := json.Unmarshal(data, a) != nil || a.Version != fileVersion || a.Spent == nil
	for _, of := range a.Spent {
		for _, w := range of {
			broken = broken || w == nil || w.Nano < 0
		}
	}
	if broken {
		return nil, fmt.Errorf("%s is damaged, so the amounts spent are unknown: repair the file, or remove it to start over", path)
	}
	return a, nil
}

// write stores the accounts. It drops currencies whose periods have all ended.
func (a *accounts) write(path string, now time.Time) error {
	for currency, of := range a.Spent {
		over := true
		for p, w := range of {
			over = over && !now.Before(p.end(w.From))
		}
		if over {
			delete(a.Spent, currency)
		}
	}
	data, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return fmt.Errorf("storing the amounts spent: %w", err)
	}
	if err := privatefile.Write(path, append(data, '\n')); err != nil {
		return fmt.Errorf("storing the amounts spent: %w", err)
	}
	return nil
}

// window returns the amount spent in the current period. If the clock was set back, the later period remains the current one.
func (a *accounts) window(currency string, p Period, now time.Time) *window {
	if a.Spent[currency] == nil {
		a.Spent[currency] = map[Period]*window{}
	}
	start := p.start(now)
	w := a.Spent[currency][p]
	if w == nil || w.From.Before(start) {
		w = &window{From: start}
		a.Spent[currency][p] = w
	}
	return w
}

// fits returns an *ExceededError if the amount spent and a price together exceed one of the limits. The zero Amount is an unknown price; it
// exceeds a limit that is used up.
func (a *accounts) fits(limits []Limit, price money.Amount, now time.Time) error {
	unknown := price == (money.Amount{})
	for _, l := range limits {
		w := a.window(l.Currency, l.Period, now)
		if plus(w.Nano, price.Nano) > l.Nano || unknown && w.Nano >= l.Nano {
			return &ExceededError{l, money.Amount{Nano: w.Nano, Currency: l.Currency}, price, l.Period.end(w.From)}
		}
	}
	return nil
}

// add counts an amount in every kind of period, and returns the start of the current period of each kind.
func (a *accounts) add(amount money.Amount, now time.Time) map[Period]time.Time {
	from := map[Period]time.Time{}
	for _, p := range periods {
		w := a.window(amount.Currency, p, now)
		w.Nano = plus(w.Nano, amount.Nano)
		from[p] = w.From
	}
	return from
}

// addWithin counts the charge of a reservation, but not in a period that began after the reservation.
func (a *accounts) addWithin(amount money.Amount, reserved map[Period]time.Time, now time.Time) {
	for _, p := range periods {
		w := a.window(amount.Currency, p, now)
		if from, ok := reserved[p]; !ok || !w.From.After(from) {
			w.Nano = plus(w.Nano, amount.Nano)
		}
	}
}
