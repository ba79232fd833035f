package limit

import "time"

// A Standing is how one limit stands after a call was admitted or refused.
type Standing struct {
	Limit
	Left   int64         // how many more calls can be admitted now
	Resets time.Duration // until the oldest counted slot falls out; 0 for a lifetime limit
}
