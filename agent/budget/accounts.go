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

// accounts are what the file holds: by currency and period, what was spent in the period that began at a time. Every period
// is kept, whatever the limits are, so that another budget finds what was spent.
type accounts struct {
	Version int                           `json:"version"`
	Spent   map[string]map[Period]*window `json:"spent"`
}

// A window is what was spent in one period, in billionths of the unit.
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

// write stores the accounts without those whose periods are all over.
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

// window returns what was spent in the present period. A clock that was set back does not make an earlier one the present.
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

// add counts an amount in every period, and returns which they are.
func (a *accounts) add(amount money.Amount, now time.Time) map[Period]time.Time {
	from := map[Period]time.Time{}
	for _, p := range periods {
		w := a.window(amount.Currency, p, now)
		w.Nano = plus(w.Nano, amount.Nano)
		from[p] = w.From
	}
	return from
}

// addWithin counts what was charged for a reservation: not in a period that began after it.
func (a *accounts) addWithin(amount money.Amount, reserved map[Period]time.Time, now time.Time) {
	for _, p := range periods {
		w := a.window(amount.Currency, p, now)
		if from, ok := reserved[p]; !ok || !w.From.After(from) {
			w.Nano = plus(w.Nano, amount.Nano)
		}
	}
}
