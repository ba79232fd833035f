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
		"requests are listed by their kind":     requestsListed,
		"a listing of requests is bounded":      requestsBounded,
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
	for n := range int64(70) { // more rows than one statement writes
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

// requestsListed pages through listings, with each filter, and compares them with the requests that match.
func requestsListed(b *suite) {
	var all []store.IndexedRequest
	for n := range int64(40) {
		r := request(fmt.Sprint("r-", n), n, time.Duration(n/3)*time.Second) // several requests at one time
		r.RequestKind = store.RequestKind{
			Service: "s", Agent: fmt.Sprint("agent-", n%3), Intent: fmt.Sprint("i-", n%2), Decision: "deny", Reason: fmt.Sprint("R", n%5),
		}
		if n%4 == 0 {
			r.Decision, r.Reason, r.Outcome = "permit", "", "done"
		}
		if n%7 == 0 {
			r.RequestKind = store.RequestKind{Decision: "deny", Reason: "LOST"}
		}
		all = append(all, r)
	}
	b.must(b.IndexRequests(b.Context(), all))
	b.reopen()
	at := func(after time.Duration) time.Time { return start.Add(after) }
	for name, f := range map[string]store.RequestFilter{
		"everything":           {},
		"a service":            {RequestKind: store.RequestKind{Service: "s"}},
		"an agent":             {RequestKind: store.RequestKind{Agent: "agent-1"}},
		"an intent":            {RequestKind: store.RequestKind{Intent: "i-1"}},
		"a reason":             {RequestKind: store.RequestKind{Reason: "LOST"}},
		"a decision":           {RequestKind: store.RequestKind{Decision: "permit"}},
		"an outcome":           {RequestKind: store.RequestKind{Outcome: "done"}},
		"an agent's reason":    {RequestKind: store.RequestKind{Agent: "agent-2", Reason: "R2", Decision: "deny"}},
		"a time":               {From: at(3 * time.Second), To: at(9 * time.Second)},
		"an intent and a time": {RequestKind: store.RequestKind{Intent: "i-0", Service: "s"}, From: at(3 * time.Second), To: at(9 * time.Second)},
		"nothing":              {RequestKind: store.RequestKind{Agent: "agent-9"}},
	} {
		var want, got []string
		for i := range all {
			if r := all[len(all)-1-i]; matches(&r, f) {
				want = append(want, r.ID)
			}
		}
		for f.Limit = 3; ; {
			page, next, err := b.Requests(b.Context(), f)
			b.must(err)
			for i := range page {
				got = append(got, page[i].ID)
			}
			if next.At.IsZero() {
				break
			}
			parsed, ok := store.ParseRequestCursor(next.String())
			if !ok || parsed != next {
				b.Fatalf("%s: the cursor %q was read as %v, %v", name, next, parsed, ok)
			}
			f.After = parsed
		}
		if d := cmp.Diff(want, got); d != "" {
			b.Errorf("%s differs (-want +got):\n%s", name, d)
		}
	}
}

func matches(r *store.IndexedRequest, f store.RequestFilter) bool {
	equal := func(want, is string) bool { return want == "" || want == is }
	return equal(f.Service, r.Service) && equal(f.Agent, r.Agent) && equal(f.Intent, r.Intent) && equal(f.Decision, r.Decision) &&
		equal(f.Reason, r.Reason) && equal(f.Outcome, r.Outcome) && (f.From.IsZero() || !r.At.Before(f.From)) &&
		(f.To.IsZero() || r.At.Before(f.To))
}

// requestsBounded lists requests with a filter that excludes more requests than one listing reads.
func requestsBounded(b *suite) {
	list := make([]store.IndexedRequest, store.MostRequestsRead+10)
	for i := range list {
		list[i] = request("many", int64(i), time.Duration(i)*time.Millisecond)
		list[i].Agent, list[i].Decision = "agent-1", "permit"
	}
	list[0].Decision = "deny"
	for from := 0; from < len(list); from += 500 {
		b.must(b.IndexRequests(b.Context(), list[from:min(from+500, len(list))]))
	}
	f := store.RequestFilter{RequestKind: store.RequestKind{Agent: "agent-1", Decision: "deny"}}
	page, next, err := b.Requests(b.Context(), f)
	b.must(err)
	if len(page) != 0 || next.At.IsZero() {
		b.Fatalf("got %d requests and the cursor %v; want none, and a cursor", len(page), next)
	}
	f.After = next
	page, next, err = b.Requests(b.Context(), f)
	b.must(err)
	if len(page) != 1 || page[0].Number != 0 || !next.At.IsZero() {
		b.Fatalf("got %d requests and the cursor %v; want the first one, and no cursor", len(page), next)
	}
}
