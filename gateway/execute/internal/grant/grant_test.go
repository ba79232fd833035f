package grant_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
)

func TestAGrantLivesUntilItExpires(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		grant grant.Grant
		now   time.Time
		alive bool
	}{
		"the zero grant": {grant.Grant{}, start, false},
		"without an end": {grant.Until("e", time.Time{}, nil), start, true},
		"before its end": {grant.Until("e", start.Add(time.Second), func() time.Time { return start.Add(time.Second - 1) }), start, true},
		"at its end":     {grant.Until("e", start.Add(time.Second), func() time.Time { return start.Add(time.Second) }), start, false},
		"after its end":  {grant.Until("e", start.Add(time.Second), func() time.Time { return start.Add(time.Hour) }), start, false},
	} {
		if err := c.grant.Alive(); (err == nil) != c.alive {
			t.Errorf("%s: got %v, want alive %v", name, err, c.alive)
		}
	}
}

// The wall clock may be set forward while the monotonic one goes on, and the monotonic one stands still while the machine
// sleeps.
func TestAGrantEndsByEitherClock(t *testing.T) {
	now := time.Now()
	g := grant.Until("e", now.Add(time.Hour), func() time.Time { return now.Round(0).Add(2 * time.Hour) })
	if g.Alive() == nil {
		t.Error("alive although the wall clock is past its end")
	}
}
