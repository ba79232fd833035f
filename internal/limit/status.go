package limit

import "time"

// A Status is the state of one limit after a call was admitted or refused.
type Status struct {
	Limit
	Left   int64         // how many more calls can be admitted now
	Resets time.Duration // time until the oldest counted slot expires; 0 for a lifetime limit, and if no units are counted
}
