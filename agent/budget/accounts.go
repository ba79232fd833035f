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

// accounts are the contents of the file: by currency and period, the amount spent in the period that began at a time. The file keeps
// every period regardless of the limits, so that a later budget finds the amounts.
type accounts struct {
	Version int                           `json:"version"`
	Spent   map[string]map[Period]*window `json:"spent"`
}

// A window is the amount spent in one period, in billionths of the unit.
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
		return nil, fmt.Errorf("reading what was spent, %s: %w", path, err)
	}
	a := &accounts{}
	broken := json.Unmarshal(data, a) != nil || a.Version != fileVersion || a.Spent == nil
	for _, of := range a.Spent {
		for _, w := range of {
			broken = broken || w == nil || w.Nano < 0
		}
	}
	if broken {
		return nil, fmt.Errorf("%s does not show what was spent: nothing is charged until it is repaired or, to begin again, removed", path)
	}
	return a, nil
}

// write stores the accounts and drops those whose periods have all ended.
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
		return fmt.Errorf("storing what was spent: %w", err)
	}
	if err := privatefile.Write(path, append(data, '\n')); err != nil {
		return fmt.Errorf("storing what was spent: %w", err)
	}
	return nil
}

// window returns the amount spent in the present period. If the clock was set back, the later period stays the present one.
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

// add counts an amount in every period, and returns those periods.
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
