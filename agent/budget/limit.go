package budget

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/money"
)

// A Period is a period of the UTC calendar.
type Period string

// The periods.
const (
	Hour  Period = "hour"
	Day   Period = "day"
	Month Period = "month"
)

var periods = []Period{Hour, Day, Month}

// start returns the beginning of the period that contains a time.
func (p Period) start(at time.Time) time.Time {
	at = at.UTC()
	switch p {
	case Hour:
		return at.Truncate(time.Hour)
	case Day:
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	default:
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
}

// end returns the end of the period that began at start.
func (p Period) end(start time.Time) time.Time {
	switch p {
	case Hour:
		return start.Add(time.Hour)
	case Day:
		return start.AddDate(0, 0, 1)
	default:
		return start.AddDate(0, 1, 0)
	}
}

// A Limit is the maximum amount that can be spent in one period.
type Limit struct {
	money.Amount
	Period Period
}

// ErrLimit means that a string is not a limit.
var ErrLimit = errors.New(`want a budget such as "5 EUR/day", for an hour, a day or a month`)

// ParseLimit parses a limit such as 5 EUR/day. The error wraps ErrLimit.
func ParseLimit(s string) (Limit, error) {
	text, per, _ := strings.Cut(s, "/")
	amount, err := money.Parse(text)
	if err != nil {
		return Limit{}, fmt.Errorf("%w: %w", ErrLimit, err)
	}
	for _, p := range periods {
		if strings.TrimSpace(per) == string(p) {
			return Limit{amount, p}, nil
		}
	}
	return Limit{}, fmt.Errorf("%.40q: %w", s, ErrLimit)
}

// String returns the limit in the form that ParseLimit parses.
func (l Limit) String() string { return l.Amount.String() + "/" + string(l.Period) }
