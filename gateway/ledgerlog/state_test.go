package ledgerlog_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/ledgerlog"
)

// The first client after a pause does not get the key of an earlier log.
func TestLastStateIsNotOlderThanAFewSeconds(t *testing.T) {
	t.Parallel()
	p := start(t, openStore(t, sqliteFile(t)), "one")
	topUp(t, p.store, 1)
	p.round(t)
	now := time.Now()
	watch, err := ledgerlog.NewWatch(t.Context(), p.store.Logs(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	before := watch.Last().Heads[service].Size
	topUp(t, p.store, 1)
	p.round(t)
	if got := watch.Last().Heads[service].Size; got != before {
		t.Errorf("at once: got the size %d, want %d, because the State is read once a second", got, before)
	}
	now = now.Add(time.Hour)
	if got := watch.Last().Heads[service].Size; got != before+1 {
		t.Errorf("an hour later: got the size %d, want %d", got, before+1)
	}
}
