package problem_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
)

func TestCounted(t *testing.T) {
	for n, want := range []string{"0 errors", "1 error", "2 errors"} {
		if got := problem.Counted(n, "error"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
