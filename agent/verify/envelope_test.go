package verify

import (
	"slices"
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
)

// The statuses of the gateway are those that verify expects of every service.
func TestGatewayStatuses(t *testing.T) {
	t.Parallel()
	codes := map[reason.Code]bool{}
	for _, r := range reason.All() {
		codes[r.Code()] = true
		if want, listed := statuses[r.Code()]; listed && !slices.Contains(want, r.Status()) {
			t.Errorf("%s has the status %d; the code %s allows %d", r, r.Status(), r.Code(), want)
		}
	}
	for code := range statuses {
		if !codes[code] {
			t.Errorf("no reason has the code %s", code)
		}
	}
}
