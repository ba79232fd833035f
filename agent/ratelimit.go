package agent

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/uimgate/uimgate/internal/fetch"
)

// A RateLimit is the state of the limit that has the fewest calls left.
type RateLimit struct {
	Limit     int64         `json:"limit,omitempty"` // calls in one period; 0 if the service does not state it
	Remaining int64         `json:"remaining"`       // minimum number of calls that the service still admits
	Reset     time.Duration `json:"-"`               // time until the service admits more; 0 if the service does not state it
}

const maxHeaderText = 8 << 10

// parseRateLimit parses the RateLimit and RateLimit-Policy fields (draft-ietf-httpapi-ratelimit-headers), the three separate fields
// of early drafts, or the same three fields with the prefix X-. It returns nil if there are none.
func parseRateLimit(h http.Header) *RateLimit {
	if r := structuredLimit(h.Values("Ratelimit"), h.Values("Ratelimit-Policy")); r != nil {
		return r
	}
	for _, prefix := range []string{"Ratelimit-", "X-Ratelimit-"} {
		left, ok := wholeCount(h.Get(prefix + "Remaining"))
		if !ok {
			continue
		}
		r := &RateLimit{Remaining: left}
		r.Limit, _ = wholeCount(h.Get(prefix + "Limit"))
		if reset, ok := wholeCount(h.Get(prefix + "Reset")); ok {
			r.Reset = resetAfter(reset, h.Get("Date"))
		}
		return r
	}
	return nil
}

// resetAfter returns the time until a reset. If n is less than one billion, it is a number of seconds from now; otherwise it is a
// Unix time, which resetAfter compares with the Date field of the response.
func resetAfter(n int64, date string) time.Duration {
	const epoch = 1_000_000_000
	if n >= epoch {
		at, err := http.ParseTime(date)
		if err != nil {
			return 0
		}
		n = max(0, n-at.Unix())
	}
	return min(time.Duration(min(n, epoch))*time.Second, maxRetryAfter)
}

// wholeCount parses a whole number, and ignores any parameters or list items after it, as in 100, 100;w=60.
func wholeCount(s string) (int64, bool) {
	s, _, _ = strings.Cut(s, ";")
	s, _, _ = strings.Cut(s, ",")
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return n, err == nil && n >= 0
}

const maxItems = 64

// structuredLimit parses the fields as defined since draft 07: both are lists of limits, which are matched by name. It returns the
// limit that has the fewest calls left.
func structuredLimit(standings, policies []string) *RateLimit {
	var least *RateLimit
	var name string
	for _, item := range listItems(standings) {
		left, ok := integer(item, "r")
		if !ok || left < 0 || least != nil && left >= least.Remaining {
			continue
		}
		reset, _ := integer(item, "t")
		least, name = &RateLimit{Remaining: left, Reset: time.Duration(min(max(0, reset), maxSeconds)) * time.Second}, itemName(item)
	}
	if least == nil {
		return nil
	}
	for _, item := range listItems(policies) {
		if itemName(item) == name {
			quota, _ := integer(item, "q")
			least.Limit = max(0, quota)
		}
	}
	return least
}

// listItems parses a field that is a list of strings or tokens with parameters. See RFC 9651, section 4.2.1. It returns nil if the field is
// not such a list, is longer than maxHeaderText or has more than maxItems items.
func listItems(lines []string) []httpsfv.Item {
	if size(lines) > maxHeaderText {
		return nil
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil || len(list) > maxItems {
		return nil
	}
	items := make([]httpsfv.Item, 0, len(list))
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok {
			return nil
		}
		items = append(items, item)
	}
	return items
}

func size(lines []string) int {
	n := 0
	for _, line := range lines {
		n += len(line) + 1
	}
	return n
}

// itemName returns the string or token that names a limit. It returns an empty string for any other type.
func itemName(item httpsfv.Item) string {
	switch name := item.Value.(type) {
	case string:
		return name
	case httpsfv.Token:
		return string(name)
	}
	return ""
}

// integer returns an integer parameter of an item; ok is false if the parameter is missing or of another type.
func integer(item httpsfv.Item, parameter string) (n int64, ok bool) {
	value, _ := item.Params.Get(parameter)
	n, ok = value.(int64)
	return n, ok
}

const (
	maxRetryAfter = fetch.MaxRetryAfter
	maxSeconds    = int64(maxRetryAfter / time.Second)
)

// wholeNumber parses a number of seconds or calls between 0 and maxSeconds.
func wholeNumber(v any) (int64, bool) { return numberUpTo(v, maxSeconds) }

// maxTime is the last second of the year 9999, as a Unix time.
const maxTime = 253402300799

// numberUpTo parses a whole number between 0 and limit.
func numberUpTo(v any, limit int64) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	return i, err == nil && i >= 0 && i <= limit
}
