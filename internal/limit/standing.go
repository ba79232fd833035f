package limit

import "time"

// A Standing is the state of one limit after a call was admitted or refused.
type Standing struct {
	Limit
	Left   int64         // how many more calls can be admitted now
	Resets time.Duration // until the oldest counted slot ends; 0 for a lifetime limit
}
