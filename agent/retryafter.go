package agent

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxRetryAfter = 365 * 24 * time.Hour
	maxSeconds    = int64(maxRetryAfter / time.Second)
)

// parseRetryAfter parses seconds, or a date, which is compared with the answer's own Date. RFC 9110 10.2.3.
func parseRetryAfter(text, date string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, false
	}
	if text[0] >= '0' && text[0] <= '9' {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 {
			return 0, false
		}
		return time.Duration(min(seconds, maxSeconds)) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	from, err := http.ParseTime(date)
	if err != nil {
		return 0, false
	}
	return min(max(0, at.Sub(from)), maxRetryAfter), true
}

// wholeNumber reads a whole number of seconds or calls that is not negative.
func wholeNumber(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	return i, err == nil && i >= 0 && i <= maxSeconds
}
