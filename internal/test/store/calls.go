package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// converse begins a call of a conversation.
func (b *suite) converse(agentID pat.AgentID, conversation, key string) store.Admission {
	b.Helper()
	r := b.keyed(key)
	r.Execution.AgentID, r.Execution.ContextID = agentID, conversation
	b.clock.Advance(time.Second)
	return b.begin(r)
}

// calls lists calls by their keys.
func (b *suite) calls(f store.CallFilter) []string {
	b.Helper()
	list, total, err := b.Calls(b.Context(), f)
	b.must(err)
	keys := []string{fmt.Sprint(total)}
	for i := range list {
		status, _ := list[i].Status()
		keys = append(keys, list[i].IdempotencyKey+" "+string(status))
	}
	return keys
}

func listCalls(b *suite) {
	one := b.converse("agent", "c1", "one")
	two := b.converse("agent", "c2", "two")
	b.converse("agent", "c1", "three")
	b.converse("other", "c1", "four")
	b.begin(b.keyed("of no conversation"))
	everything := store.CallScope{Service: service, AgentID: "agent", Namespaces: []string{"example.com"}}
	all := store.CallFilter{CallScope: everything}
	b.equal(b.calls(all), []string{"3", "three running", "two running", "one running"})
	b.clock.Advance(time.Second)
	refused := &store.Answer{Reason: reason.UpstreamError, Code: reason.UpstreamError.Code(), Message: "no", Details: []byte(`{"a":1}`)}
	_, err := b.Settle(b.Context(), one, store.Settlement{State: store.Released, Outcome: store.Failed, Answer: refused})
	b.must(err)
	b.clock.Advance(time.Second)
	at := b.clock.Now()
	_, err = b.Settle(b.Context(), two, store.Settlement{
		State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Output: []byte("{}")},
	})
	b.must(err)
	b.equal(b.calls(all), []string{"3", "two done", "one failed", "three running"})
	list, _, err := b.Calls(b.Context(), store.CallFilter{CallScope: everything, Limit: 2})
	b.must(err)
	if a := list[1].Answer; a == nil || a.Reason != refused.Reason || a.Message != "no" || string(a.Details) != `{"a":1}` {
		b.Fatalf("got %+v", a)
	}
	if a := list[0].Answer; a == nil || a.Reason != "" || a.Output != nil {
		b.Fatalf("%+v: a listing has an output", a)
	}
	for i, tt := range []struct {
		store.CallFilter
		want []string
	}{
		{store.CallFilter{ContextID: "c1"}, []string{"2", "one failed", "three running"}},
		{store.CallFilter{ContextID: "c3"}, []string{"0"}},
		{store.CallFilter{Status: store.CallRunning}, []string{"1", "three running"}},
		{store.CallFilter{Status: store.CallDone}, []string{"1", "two done"}},
		{store.CallFilter{Status: store.CallFailed}, []string{"1", "one failed"}},
		{store.CallFilter{Since: at}, []string{"1", "two done"}},
		{store.CallFilter{BeganAfter: one.Execution.BeganAt.Add(1)}, []string{"2", "two done", "three running"}},
		{store.CallFilter{Limit: 1}, []string{"3", "two done"}},
		{
			store.CallFilter{After: store.CallCursor{Since: list[0].SettledAt, ID: list[0].ID}, Limit: 1},
			[]string{"3", "one failed"},
		},
	} {
		tt.CallScope = everything
		if got := b.calls(tt.CallFilter); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			b.Errorf("%d: %v, not %v", i, got, tt.want)
		}
	}
	found, err := b.KeyedCall(b.Context(), everything, "two")
	b.must(err)
	if found.ID != two.Execution.ID || found.ContextID != "c2" || string(found.Answer.Output) != "{}" {
		b.Errorf("got %+v", found)
	}
	everything.AgentID = "other"
	_, err = b.KeyedCall(b.Context(), everything, "two")
	b.want(err, store.ErrNotFound)
}

// readCallsInScope reads calls of four intents in every way, with scopes that have some of them.
func readCallsInScope(b *suite) {
	ids := map[string]string{}
	for _, uid := range []string{"example.com:buy:v1", "example.com:buy:v10", "example.com:find:v1", "example.com.au:buy:v1"} {
		r := b.keyed(uid)
		r.Execution.AgentID, r.Execution.ContextID, r.Execution.Intent = "agent", "c", uid
		b.clock.Advance(time.Second)
		ids[uid] = b.begin(r).Execution.ID
	}
	for _, tt := range []struct {
		intents, namespaces string // separated by spaces
		want                string
	}{
		{"example.com:buy:v1", "", "example.com:buy:v1"},
		{"example.com:find:v1 example.com:buy:v10", "", "example.com:find:v1 example.com:buy:v10"},
		{"", "example.com", "example.com:find:v1 example.com:buy:v10 example.com:buy:v1"},
		{"example.com:buy:v1", "example.com.au", "example.com.au:buy:v1 example.com:buy:v1"},
		{"", "example.com example.com.au", "example.com.au:buy:v1 example.com:find:v1 example.com:buy:v10 example.com:buy:v1"},
		{"example.com:none:v1", "example", ""},
		{"example.com:*:*", "%", ""},
		{"", "", ""},
	} {
		scope := store.CallScope{
			Service: service, AgentID: "agent", Intents: strings.Fields(tt.intents), Namespaces: strings.Fields(tt.namespaces),
		}
		want := strings.Fields(tt.want)
		list, total, err := b.Calls(b.Context(), store.CallFilter{CallScope: scope})
		b.must(err)
		listed := []string{}
		for i := range list {
			listed = append(listed, list[i].Intent)
		}
		if total != len(want) || !slices.Equal(listed, want) {
			b.Errorf("%+v: %d %v, not %v", scope, total, listed, want)
		}
		for uid, id := range ids {
			one, err := b.Call(b.Context(), scope, id)
			b.inScope(slices.Contains(want, uid), one, err)
			one, err = b.KeyedCall(b.Context(), scope, uid)
			b.inScope(slices.Contains(want, uid), one, err)
			for _, other := range []store.CallScope{
				{Service: "other", AgentID: "agent", Namespaces: []string{"example.com"}},
				{Service: service, AgentID: "other", Namespaces: []string{"example.com"}},
			} {
				_, err = b.Call(b.Context(), other, id)
				b.want(err, store.ErrNotFound)
			}
		}
	}
}

// inScope checks that a call was returned, or that it was not found.
func (b *suite) inScope(is bool, e store.Execution, err error) {
	b.Helper()
	if !is {
		b.want(err, store.ErrNotFound)
		return
	}
	b.must(err)
	if e.Intent != e.IdempotencyKey {
		b.Errorf("got %+v, want Intent %v", e, e.IdempotencyKey)
	}
}

func callsStayEnded(b *suite) {
	lost := b.converse("agent", "c", "lost")
	late := b.converse("agent", "c", "late")
	_, err := b.Settle(b.Context(), lost, store.Settlement{State: store.Unresolved, Outcome: store.Unknown})
	b.must(err)
	b.clock.Advance(time.Hour)
	_, err = b.Sweep(b.Context())
	b.must(err)
	ended := []string{"2", "late failed", "lost failed"}
	all := store.CallFilter{CallScope: store.CallScope{Service: service, AgentID: "agent", Namespaces: []string{"example.com"}}}
	b.equal(b.calls(all), ended)
	b.clock.Advance(time.Second)
	_, err = b.Resolve(b.Context(), service, lost.Execution.ID, store.Captured)
	b.must(err)
	_, err = b.Settle(b.Context(), late,
		store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Output: []byte("{}")}})
	b.must(err)
	b.equal(b.calls(all), ended)
}
