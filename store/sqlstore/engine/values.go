package engine

import (
	"fmt"
	"math"
	"time"
)

// FirstTime and LastTime are the first and the last time that can be stored. A time outside this range is stored as the nearer of the
// two.
var (
	FirstTime = time.Unix(0, math.MinInt64+1)
	LastTime  = time.Unix(0, math.MaxInt64)
)

// Nanos converts a time for storage: nanoseconds since 1970 UTC, and 0 for the zero time.
func Nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Before(FirstTime):
		return math.MinInt64 + 1
	case t.After(LastTime):
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

// FromNanos is the inverse of Nanos.
func FromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// Stored returns a value to scan a stored time into.
func Stored(t *time.Time) any { return (*storedTime)(t) }

type storedTime time.Time

// Scan implements sql.Scanner.
func (t *storedTime) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a stored time must be an integer, not %T", v)
	}
	*t = storedTime(FromNanos(n))
	return nil
}

// Flag converts a boolean for storage.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Blob converts nil to an empty value, so that it is not NULL.
func Blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
