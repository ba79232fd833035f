package store

import "time"

// SetBack reports that the state was replaced by an earlier copy while it was in use, so that acknowledged commits are missing. PATs that
// were issued before have ended, and each limit counts as exhausted for up to its period.
type SetBack struct {
	At      time.Time // when the replacement was detected; the zero time means never
	Missing int64     // minimum number of missing commits of this process
}
