package store

import "time"

const (
	// MinuteFiguresKept is how long the figures of minutes are kept.
	MinuteFiguresKept = 2 * time.Hour
	// HourFiguresKept is how long the figures of hours are kept.
	HourFiguresKept = 26 * time.Hour
)

// CallFigures are the sums over the calls that ended in one period in one process. A process reports a period again when its sums grow.
type CallFigures struct {
	Length  time.Duration // of the period: a minute or an hour
	At      time.Time     // the beginning of the period
	Process string        // Process.ID
	Sums    []byte        // JSON of package record
}
