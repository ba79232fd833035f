package grant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
)

func TestGrantExpires(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		now  time.Time
		want error
	}{
		"before its end": {start.Add(time.Second - 1), nil},
		"at its end":     {start.Add(time.Second), grant.ErrExpired},
		"after its end":  {start.Add(time.Hour), grant.ErrExpired},
	} {
		if err := grant.Expired(start.Add(time.Second), c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", name, err, c.want)
		}
	}
}

// The wall clock can be set forward without the monotonic clock, and the monotonic clock stops while the machine sleeps.
func TestGrantExpiresByEitherClock(t *testing.T) {
	now := time.Now()
	if grant.Expired(now.Add(time.Hour), now.Round(0).Add(2*time.Hour)) == nil {
		t.Error("alive although the wall clock is past its end")
	}
}

func TestTheZeroGrantPermitsNothing(t *testing.T) {
	var g grant.Grant
	if g.Alive() == nil {
		t.Error("an attempt is permitted")
	}
	if _, err := g.Another(t.Context()); err == nil {
		t.Error("another attempt is permitted")
	}
	g.Unused(t.Context()) // has no effect
}
