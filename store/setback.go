package store

import "time"

// SetBack reports that an earlier copy replaced the state while it was in use. Acknowledged commits are then missing. PATs that
// were issued before have ended, and each limit counts as exhausted for up to its period.
type SetBack struct {
	At      time.Time // when the replacement was detected; the zero time means never
	Missing int64     // minimum number of missing commits of this process
}
