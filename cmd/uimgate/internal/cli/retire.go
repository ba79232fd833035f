package cli

import (
	"errors"
	"fmt"
	"time"
)

// noticeDays is how many days an intent continues after another version has replaced it, or after the document has lost its operation,
// unless --retire-after is set.
const noticeDays = 30

// RetireAfter parses the value of --retire-after, and returns when intents end. It returns the zero time for the text now, and the
// time after noticeDays for an empty text. Its errors are usage errors.
func RetireAfter(text string, now time.Time) (time.Time, error) {
	day := now.UTC().Truncate(24 * time.Hour)
	switch text {
	case "":
		return day.AddDate(0, 0, noticeDays+1), nil
	case "now":
		return time.Time{}, nil
	}
	at, err := parseEnd(text, day)
	if err != nil {
		return time.Time{}, Usage(errors.New(
			"--retire-after must be a date such as 2026-12-31, a time (RFC 3339), a number of days such as 14d, or now"))
	}
	if !at.After(now) {
		return time.Time{}, Usage(fmt.Errorf("--retire-after %s is in the past: use now to end intents at once", text))
	}
	return at, nil
}

// parseEnd parses the end of an intent: a date, which is its last day; a number of days after day, such as 30d; or a time.
func parseEnd(text string, day time.Time) (time.Time, error) {
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return date.AddDate(0, 0, 1), nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && fmt.Sprintf("%dd", days) == text && days > 0 && days <= 3660 {
		return day.AddDate(0, 0, days+1), nil
	}
	return time.Parse(time.RFC3339, text)
}
