package daemon

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// An outage of ten minutes with five failures a second logs a line when it begins, one a minute, and one when it ends.
func TestOutageLogsOncePerMinute(t *testing.T) {
	core, lines := observer.New(zap.InfoLevel)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	o := outage{log: zap.New(core), now: func() time.Time { return now }, failed: "failed", ended: "ended"}
	o.note(nil)
	for range 3000 {
		o.note(errors.New("the database is away"))
		now = now.Add(200 * time.Millisecond)
	}
	o.note(nil)
	o.note(nil)
	if failed, ended := lines.FilterMessage("failed").Len(), lines.FilterMessage("ended").Len(); failed != 10 || ended != 1 {
		t.Errorf("%d lines while it fails and %d when it ends, want 10 and 1", failed, ended)
	}
}
