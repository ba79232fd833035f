package gateway_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/store"
)

// The store did not respond for so long that it no longer keeps the figures of the minutes. It still keeps those of the hour.
func TestFiguresOfOldHoursAreReturnedUntilTheyAreSaved(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 5, 0, 0, time.UTC)
	f := record.NewFigures("a", func() time.Time { return now })
	f.Record(&execute.Event{})
	now = now.Add(store.MinuteFiguresKept + time.Minute)
	unsaved := func() []store.CallFigures {
		list, err := f.Unsaved("1")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	var got []store.CallFigures
	for range 2 { // the first report fails
		if got = unsaved(); len(got) != 1 || got[0].Length != time.Hour || string(got[0].Sums) != `{"calls":1}` {
			t.Fatalf("got %+v", got)
		}
	}
	f.Saved(got)
	if got := unsaved(); len(got) != 0 {
		t.Errorf("after they were saved: %+v", got)
	}
}
