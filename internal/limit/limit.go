// Package limit implements the arithmetic of limits: rates, periods and windows. It ensures that an upstream never receives more calls
// than agreed.
//
// A rolling window of period P is counted in slots of length P/60, aligned to the epoch. An admission in slot k is permitted while the
// slots k-61 … k together stay within the limit. 60 of these slots make up the period. One more is needed because the far edge of the
// window lies within a slot. Another one covers the time between the admission and the first byte that is sent upstream, because an
// admission may be used until the end of the slot after its own. Therefore no window of length P exceeds the limit, neither in admissions
// nor in the upstream's own log, and a unit becomes free at most P/30 late. Months and years are UTC calendar periods, and a lifetime
// never ends.
//
// The slots of a second are 100 ms long, so 10 of them make up the period. A store may need longer than one slot to make an admission
// durable. An admission under a limit per second may therefore be used for several slots, its dispatch slots: that many slots, instead of
// one, are counted in addition to those of the period.
package limit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Period is the length of time over which a limit counts.
type Period string

// The periods. Second to Week are rolling windows, Month and Year follow the UTC calendar, and Lifetime never ends.
const (
	Second   Period = "second"
	Minute   Period = "minute"
	Hour     Period = "hour"
	Day      Period = "day"
	Week     Period = "week"
	Month    Period = "month"
	Year     Period = "year"
	Lifetime Period = "lifetime"
)

// MaxCount is the maximum count of a limit, so that sums over a window cannot overflow.
const MaxCount = 1_000_000_000_000

var seconds = map[Period]int64{Second: 1, Minute: 60, Hour: 3600, Day: 86400, Week: 604800}

// ParsePeriod parses the name of a period in any case, such as hour, hours or PT1H.
func ParsePeriod(s string) (Period, error) {
	switch name := strings.ToLower(s); name {
	case "pt1s":
		return Second, nil
	case "pt1m":
		return Minute, nil
	case "pt1h":
		return Hour, nil
	case "p1d", "pt24h":
		return Day, nil
	case "p1w", "p7d":
		return Week, nil
	case "p1m":
		return Month, nil
	case "p1y":
		return Year, nil
	default:
		p := Period(strings.TrimSuffix(name, "s"))
		if p.Rolling() || p.Calendar() || p == Lifetime {
			return p, nil
		}
		return "", fmt.Errorf("%q is not a period: use second, minute, hour, day, week, month, year or lifetime", s)
	}
}

// Rolling reports whether the period is a window of fixed length that moves with the clock.
func (p Period) Rolling() bool { return seconds[p] != 0 }

// Calendar reports whether the period is a UTC calendar month or year.
func (p Period) Calendar() bool { return p == Month || p == Year }

// Seconds returns the length of a rolling period in seconds, and 0 for other periods.
func (p Period) Seconds() int64 { return seconds[p] }

// SlotLength returns the length of one slot of a rolling period, and 0 for other periods.
func (p Period) SlotLength() time.Duration {
	if p == Second {
		return 100 * time.Millisecond
	}
	return time.Duration(seconds[p]) * time.Second / 60
}

// Slot returns the number of the slot that contains t. It never decreases as t increases.
func (p Period) Slot(t time.Time) int64 {
	switch t = t.UTC(); {
	case p.Rolling():
		return floorDiv(t.UnixMilli(), p.SlotLength().Milliseconds())
	case p == Month:
		return int64(t.Year())*12 + int64(t.Month()) - 1
	case p == Year:
		return int64(t.Year())
	default:
		return 0
	}
}

// Oldest returns the first slot whose count still matters for an admission in slot k.
func (p Period) Oldest(k int64) int64 {
	switch {
	case p == Second:
		return k - 11
	case p.Rolling():
		return k - 61
	default:
		return k
	}
}

// MaxDispatch is the maximum number of dispatch slots of a limit per second. They last 5 s.
const MaxDispatch = 50

// Spare returns how many slots before Oldest must also be kept. They may matter later, for an admission with more dispatch slots, or
// because a clock was set forward.
func (p Period) Spare() int64 {
	switch {
	case p == Second:
		return MaxDispatch - 1
	case p.Rolling():
		return 10
	default:
		return 0
	}
}

// Frees returns when the count of slot k no longer matters. The zero time means never.
func (p Period) Frees(k int64) time.Time {
	switch {
	case p.Rolling():
		span := k - p.Oldest(k) + 1
		return time.UnixMilli((k + span) * p.SlotLength().Milliseconds()).UTC()
	case p == Month:
		return time.Date(int(floorDiv(k+1, 12)), time.Month((k+1)%12+1), 1, 0, 0, 0, 0, time.UTC)
	case p == Year:
		return time.Date(int(k)+1, 1, 1, 0, 0, 0, 0, time.UTC)
	default:
		return time.Time{}
	}
}

// Expires returns when an admission in slot k with one dispatch slot may no longer be used: at the end of the slot after its own. It
// returns the zero time for calendar and lifetime limits: their admissions do not expire, because their windows do not move.
func (p Period) Expires(k int64) time.Time { return p.Ends(k + 1) }

// Ends returns the first instant after slot k of a rolling period, and the zero time for other periods.
func (p Period) Ends(k int64) time.Time {
	if !p.Rolling() {
		return time.Time{}
	}
	return time.UnixMilli((k + 1) * p.SlotLength().Milliseconds()).UTC()
}

// Begins returns the first instant of slot k of a rolling or calendar period, and the zero time for a lifetime.
func (p Period) Begins(k int64) time.Time {
	if p.Rolling() {
		return p.Ends(k - 1)
	}
	return p.Frees(k - 1)
}

// A Rate permits at most Max units in any Period. Max is between 0 and MaxCount.
type Rate struct {
	Max    int64  `json:"max"`
	Period Period `json:"period"`
}

// ErrRate means that a string is not a rate such as 1000/hour.
var ErrRate = errors.New("want a rate such as 1000/hour")

// ParseRate parses a rate such as 1000/hour. Its error wraps ErrRate.
func ParseRate(s string) (Rate, error) {
	count, period, ok := strings.Cut(s, "/")
	n, err := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
	if !ok || err != nil || n < 0 || n > MaxCount {
		return Rate{}, fmt.Errorf("%q: %w", s, ErrRate)
	}
	p, err := ParsePeriod(strings.TrimSpace(period))
	if err != nil {
		return Rate{}, fmt.Errorf("%q: %w: %w", s, ErrRate, err)
	}
	return Rate{n, p}, nil
}

func (r Rate) String() string { return fmt.Sprintf("%d/%s", r.Max, r.Period) }

// A Limit is a Rate with the identity of its counter. If two limits of one call have the same principal, ID and Period, they share a
// counter, and the smaller Max applies.
type Limit struct {
	ID string `json:"id"`
	Rate
	Kind Kind `json:"-"`
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
