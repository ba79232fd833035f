package fetch_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	date := "Fri, 21 Nov 2025 12:00:00 GMT"
	for text, want := range map[string]time.Duration{
		"": -1, "3": 3 * time.Second, "0": 0, "-1": -1, "x": -1, "99999999999999999999": -1, "999999999999": 365 * 24 * time.Hour,
		"Fri, 21 Nov 2025 12:00:05 GMT": 5 * time.Second, "Fri, 21 Nov 2025 11:00:00 GMT": 0, "1.5": -1,
	} {
		got, ok := fetch.RetryAfter(http.Header{"Retry-After": {text}, "Date": {date}})
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}
