package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store"
)

func testRequests(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a request is found by its id":          requestFound,
		"the newest requests of an id are read": requestsOfOneID,
		"requests are forgotten":                requestsPurged,
	})
}

// request returns the record of a request that began some time after start.
func request(id string, number int64, after time.Duration) store.IndexedRequest {
	return store.IndexedRequest{
		ID: id, At: start.Add(after), Process: "host:1", Number: number, Record: []byte(`{"decision":"deny"}`), Until: start.Add(after + time.Hour),
	}
}

func requestFound(b *suite) {
	var list []store.IndexedRequest
	for n := range int64(70) { // more than one statement
		list = append(list, request(fmt.Sprint("r-", n), n, time.Second))
	}
	b.must(b.IndexRequests(b.Context(), list))
	b.must(b.IndexRequests(b.Context(), list)) // a batch is written again if its first attempt seemed to fail
	b.reopen()
	for _, want := range list {
		got, err := b.RequestsByID(b.Context(), want.ID)
		b.must(err)
		if d := cmp.Diff([]store.IndexedRequest{want}, got); d != "" {
			b.Fatalf("differs (-want +got):\n%s", d)
		}
	}
	if got, err := b.RequestsByID(b.Context(), "r-70"); err != nil || len(got) != 0 {
		b.Fatalf("%v, %v; want none", got, err)
	}
}

func requestsOfOneID(b *suite) {
	var list []store.IndexedRequest
	for n := range int64(store.MostRequests + 5) {
		list = append(list, request("same", n, time.Duration(n)*time.Second))
	}
	b.must(b.IndexRequests(b.Context(), list))
	got, err := b.RequestsByID(b.Context(), "same")
	b.must(err)
	if d := cmp.Diff(list[5:], got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
}

func requestsPurged(b *suite) {
	b.must(b.IndexRequests(b.Context(), []store.IndexedRequest{request("r", 1, 0), request("r", 2, time.Minute)}))
	b.clock.Advance(time.Hour)
	got, err := b.RequestsByID(b.Context(), "r")
	b.must(err)
	if len(got) != 1 || got[0].Number != 2 {
		b.Fatalf("%v; want the second one", got)
	}
	if n := b.purge(); n != 1 {
		b.Fatalf("%d rows were purged, want 1", n)
	}
}
