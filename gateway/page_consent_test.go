package gateway_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/page"
)

func TestLengthsInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		30 * 24 * time.Hour:              "30 days",
		24 * time.Hour:                   "1 day",
		60*time.Hour + 5*time.Minute:     "2 days and 12 hours",
		90 * time.Minute:                 "1 hour and 30 minutes",
		time.Hour:                        "1 hour",
		366*24*time.Hour + 3*time.Minute: "366 days and 3 minutes",
		59 * time.Second:                 "59 seconds",
	} {
		if got := page.LengthInWords(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}
