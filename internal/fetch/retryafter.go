package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the maximum that RetryAfter returns.
const MaxRetryAfter = 365 * 24 * time.Hour

// RetryAfter returns how long a server asks its clients to wait: a number of seconds, or the time from the response's own Date to a date.
// It returns false if the header is missing or invalid (RFC 9110 10.2.3).
func RetryAfter(h http.Header) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if text[0] >= '0' && text[0] <= '9' {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 {
			return 0, false
		}
		return time.Duration(min(seconds, int64(MaxRetryAfter/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	from, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0, false
	}
	return min(max(0, at.Sub(from)), MaxRetryAfter), true
}
