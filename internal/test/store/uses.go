package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store"
)

func testUses(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"the last use of an intent is kept": usesKept,
		"uses expire":                       usesPurged,
	})
}

func (b *suite) used(since time.Time, want ...store.IntentUse) {
	b.Helper()
	got, err := b.Uses(b.Context(), service, since)
	b.must(err)
	if d := cmp.Diff(want, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
}

func usesKept(b *suite) {
	at := start.UTC()
	var many []store.IntentUse
	for range 150 { // more uses than one transaction records
		many = append(many, store.IntentUse{Service: service, Intent: "b", At: at})
	}
	b.must(b.NoteUses(b.Context(), append(many, store.IntentUse{Service: "other", Intent: "c", At: at})))
	b.must(b.NoteUses(b.Context(), []store.IntentUse{
		{Service: service, Intent: "a", At: at.Add(time.Hour)}, {Service: service, Intent: "b", At: at.Add(-time.Hour)},
	}))
	b.used(at, store.IntentUse{Service: service, Intent: "a", At: at.Add(time.Hour)}, store.IntentUse{Service: service, Intent: "b", At: at})
	b.used(at.Add(1), store.IntentUse{Service: service, Intent: "a", At: at.Add(time.Hour)})
}

func usesPurged(b *suite) {
	b.must(b.NoteUses(b.Context(), []store.IntentUse{{Service: service, Intent: "a", At: start}}))
	b.clock.Advance(store.UsesKept - time.Nanosecond)
	if n := b.purge(); n != 0 {
		b.Fatalf("%d rows were purged, want 0", n)
	}
	b.clock.Advance(time.Nanosecond)
	if n := b.purge(); n != 1 {
		b.Fatalf("%d rows were purged, want 1", n)
	}
	b.used(time.Time{})
}
