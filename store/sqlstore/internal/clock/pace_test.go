package clock

import (
	"testing"
	"time"
)

func TestSingleSlowCommitIsIgnored(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	var p Pace
	took := func(d time.Duration) { p.Took(at, at.Add(d)) }
	for i, c := range []struct {
		took time.Duration
		want int64
	}{
		{0, 1},
		{3 * time.Second, 1},
		{40 * time.Millisecond, 1},
		{60 * time.Millisecond, 1},
		{60 * time.Millisecond, 2},
		{time.Minute, 2},
		{time.Minute, 50},
	} {
		if took(c.took); p.Slots(at) != c.want {
			t.Errorf("%d: %d slots, want %d", i, p.Slots(at), c.want)
		}
	}
	if n := p.Slots(at.Add(time.Minute + 2*paceTurn)); n != 1 {
		t.Errorf("later: %d, want 1", n)
	}
}
