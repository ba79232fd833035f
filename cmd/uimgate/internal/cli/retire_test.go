package cli

import (
	"testing"
	"time"
)

func TestRetireAfter(t *testing.T) {
	now := time.Date(2026, 11, 28, 21, 0, 0, 0, time.UTC)
	day := func(d int) time.Time { return time.Date(2026, 12, d, 0, 0, 0, 0, time.UTC) }
	for text, want := range map[string]time.Time{
		"":                          day(29),
		"now":                       {},
		"2026-12-09":                day(10),
		"11d":                       day(10),
		"2026-12-10T01:00:00+01:00": day(10),
	} {
		if at, err := RetireAfter(text, now); err != nil || !at.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, at, err, want)
		}
	}
	for _, text := range []string{"2026-11-27", "2026-11-28T20:00:00Z", "soon", "0d", "-1d", "99999d", "3d4", "2026-13-01"} {
		if _, err := RetireAfter(text, now); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
