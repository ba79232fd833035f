package store

import "time"

// SetBack reports that the state went back to an earlier one while it was in use: acknowledged commits are missing. PATs that were issued
// before have ended, and limits are held, each for up to its period.
type SetBack struct {
	At      time.Time // when that was found; the zero time: never
	Missing int64     // commits of this process, at least
}
