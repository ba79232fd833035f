package doors

import (
	"fmt"
	"net/http"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
)

// shared compares the limits that a door reports after a call with those that HTTP reported before it. One of them must have less left,
// unless counted calls have expired between the two. It does not check every limit, because other agents may have released units of a
// limit that they share.
func (d *Doors) shared(h http.Header) point.Finding {
	before, after := standings(d.Sample.Answer.Header), standings(h)
	unchanged := ""
	for name, now := range after {
		was, ok := before[name]
		if !ok || d.Now().Sub(d.Sample.At) >= was.reset {
			continue
		}
		if now.left < was.left {
			return point.Pass
		}
		unchanged = fmt.Sprintf("%.64q has %d left after the call, but had %d before it", name, now.left, was.left)
	}
	if unchanged == "" {
		return point.Skipped.Because("HTTP and the door report no common limit with the time of its reset")
	}
	return point.Wrong.Because("%s", unchanged)
}

// A limitState is the state of a limit: how much is left, and the time until more may be left.
type limitState struct {
	left  int64
	reset time.Duration
}

// standings parses RateLimit fields, which contain for each limit the remainder (r) and the seconds until it grows (t). See RateLimit
// header fields, draft 11, section 4.
func standings(h http.Header) map[string]limitState {
	const longest, most = 8 << 10, 64
	out := map[string]limitState{}
	lines := h.Values("Ratelimit")
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	if size > longest {
		return out
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil || len(list) > most {
		return out
	}
	for _, member := range list {
		item, _ := member.(httpsfv.Item)
		name, isText := item.Value.(string)
		if !isText {
			continue
		}
		left, known := item.Params.Get("r")
		seconds, soon := item.Params.Get("t")
		r, isNumber := left.(int64)
		t, isTime := seconds.(int64)
		if known && soon && isNumber && isTime && t >= 0 && t < 1<<31 {
			out[name] = limitState{r, time.Duration(t) * time.Second}
		}
	}
	return out
}
