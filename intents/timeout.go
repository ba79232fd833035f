package intents

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// memberTimeout is the member of an intent that states how long a call may take, in seconds.
const memberTimeout = "x-timeout"

// maxTimeout is the longest time that a document may state, because callers wait that long.
const maxTimeout = time.Hour

// readTimeout reads the member x-timeout. It returns 0 if the value is not a number of seconds between 0 and 3600.
func readTimeout(v any) time.Duration {
	n, ok := v.(json.Number)
	if !ok {
		return 0
	}
	seconds, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || seconds <= 0 || seconds > maxTimeout.Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// state sets the timeout, and writes it to the member x-timeout of the published text, in whole seconds, rounded up. If d is 0, it removes
// the member.
func (i *Intent) state(d time.Duration) {
	i.Timeout = d
	i.raw = apply(i.raw, cut(i.raw, 0, memberTimeout))
	all, err := members(i.raw)
	if d <= 0 || err != nil || len(all) == 0 { // an intent has at least a uid
		return
	}
	end := all[len(all)-1].to
	i.raw = apply(i.raw, []edit{{from: end, to: end, with: fmt.Appendf(nil, ", %q: %d", memberTimeout, Seconds(d))}})
}

// Seconds returns a duration in whole seconds, rounded up.
func Seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
