package words

import (
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// timesAround returns the times at which conditions on the clock begin or cease to hold, and a time between each two of them. If there are
// no such conditions, it returns only the zero time.
func (x *axes) timesAround(conditions []*model.Constraint) []time.Time {
	var moments, clocks []int64
	for _, c := range conditions {
		for i := range c.Right {
			r := c.Right[i]
			start, end, windowed := r.Start, r.End, r.Window
			if !windowed {
				start, end, windowed = strings.Cut(r.Text, "/")
			}
			if !windowed {
				end = start
			}
			if from, _, ok := model.ParseClock(start); ok && windowed {
				to, _, ok := model.ParseClock(end)
				x.unread = x.unread || !ok
				clocks = append(clocks, from%int64(model.Day), to%int64(model.Day))
				continue
			}
			from, ok := parseSpan(start)
			to, ok2 := parseSpan(end)
			if !ok || !ok2 || outOfReach(from.from) || outOfReach(to.to) {
				x.unread = true
				continue
			}
			moments = append(moments, from.from.UnixNano(), to.to.UnixNano())
		}
		x.unread = x.unread || len(c.RightRef) > 0
	}
	if len(conditions) == 0 {
		return []time.Time{{}}
	}
	if len(moments) == 0 {
		moments = []int64{someDay.UnixNano()}
	}
	moments = between(moments, int64(time.Second))
	if len(clocks) > 0 {
		const day = int64(model.Day)
		hours := between(append(clocks, 0), int64(time.Second))
		for _, at := range slices.Clone(moments) {
			for _, hour := range hours {
				moments = append(moments, at-(at%day+day)%day+hour)
			}
		}
	}
	slices.Sort(moments)
	times := make([]time.Time, 0, len(moments))
	for _, at := range slices.Compact(moments) {
		times = append(times, time.Unix(0, at).UTC())
	}
	return times
}

// outOfReach reports whether a time is too far from 1970 to be counted in nanoseconds, with a margin of some decades.
func outOfReach(t time.Time) bool { return t.Year() < 1700 || t.Year() > 2200 }

// between returns the sorted values, with one value between each two, one below and one above.
func between(values []int64, step int64) []int64 {
	slices.Sort(values)
	values = slices.Compact(values)
	list := []int64{values[0] - step}
	for i, v := range values {
		list = append(list, v)
		switch {
		case i == len(values)-1:
			list = append(list, v+step)
		case values[i+1]-v > 1:
			list = append(list, v+(values[i+1]-v)/2)
		}
	}
	return list
}
