package limit_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/limit"
)

func TestStages(t *testing.T) {
	for _, c := range []struct {
		most, left int64
		want       limit.Stage
	}{
		{10, 10, limit.Open},
		{10, 3, limit.Open},
		{10, 2, limit.Near},
		{10, 1, limit.Near},
		{10, 0, limit.Reached},
		{10, -1, limit.Reached},
		{3, 1, limit.Open},
		{1, 1, limit.Open},
		{1, 0, limit.Reached},
		{limit.MaxCount, limit.MaxCount / 5, limit.Near},
	} {
		s := limit.Status{Limit: limit.Limit{Rate: limit.Rate{Max: c.most, Period: limit.Day}}, Left: c.left}
		if got := s.Stage(); got != c.want {
			t.Errorf("%d of %d left: %v; want %v", c.left, c.most, got, c.want)
		}
	}
}
