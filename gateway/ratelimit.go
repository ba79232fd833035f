package gateway

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/limit"
	"github.com/uimgate/uimgate/store"
)

// writeRateLimit sets the RateLimit and RateLimit-Policy fields: one item a limit, named by its period.
// r is a lower bound of what can still be admitted, t the seconds until the oldest counted slot falls
// out. draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4.
func writeRateLimit(h http.Header, limits []store.Standing) {
	if len(limits) == 0 {
		return
	}
	policies, standings := make([]string, 0, len(limits)), make([]string, 0, len(limits))
	seen := map[limit.Period]int{}
	for _, l := range limits {
		name := string(l.Period)
		if seen[l.Period]++; seen[l.Period] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[l.Period])
		}
		policy := fmt.Sprintf("%q;q=%d", name, l.Max)
		if w := l.Period.Seconds(); w > 0 {
			policy += fmt.Sprintf(";w=%d", w)
		}
		standing := fmt.Sprintf("%q;r=%d", name, max(0, l.Left))
		if l.Resets > 0 {
			standing += fmt.Sprintf(";t=%d", wholeSeconds(l.Resets))
		}
		policies, standings = append(policies, policy), append(standings, standing)
	}
	h.Set("RateLimit-Policy", strings.Join(policies, ", "))
	h.Set("RateLimit", strings.Join(standings, ", "))
}

// tightest is the limit with the least left; ok is false where there is none.
func tightest(limits []store.Standing) (least store.Standing, ok bool) {
	for i, l := range limits {
		if i == 0 || l.Left < least.Left {
			least = l
		}
	}
	return least, len(limits) > 0
}

func wholeSeconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
