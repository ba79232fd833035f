package operatorcmd

import (
	"testing"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
)

func TestPeriods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, month, begins, ends string }{
		{"", "", "", "", ""},
		{"", "", "2026-12", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"2026-11", "2026-11-08", "", "2026-11-01T00:00:00Z", "2026-11-08T00:00:00Z"},
		{"2026-11-01T00:30:00+01:00", "", "", "2026-10-31T23:30:00Z", ""},
	} {
		begins, ends, err := period(c.from, c.to, c.month)
		if err != nil || cli.ExactTime(begins) != c.begins || cli.ExactTime(ends) != c.ends {
			t.Errorf("%+v: %s, %s, %v", c, begins, ends, err)
		}
	}
}
