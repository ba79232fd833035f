package sqlmail_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
)

func TestAgents(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"the first signature creates the agent":   firstSignature,
		"a signature is accepted once":            signatureOnce,
		"concurrent signatures":                   signatureOnceAtOnce,
		"signatures before a restore are refused": signedBeforeRestore,
		"activity has a precision":                activity,
		"suspended agents are refused":            suspension,
		"unavailable database":                    unavailable,
		"too many agents":                         agentsBounded,
		"profile changes":                         profiles,
		"agents are listed by their keys":         agentsListed,
	})
}

func firstSignature(r *relay) {
	_, err := r.Agent(r.Context(), alice)
	r.want(err, mail.ErrNotFound)
	a, isNew, err := r.Admit(r.Context(), r.guard(alice), time.Minute)
	r.must(err)
	want := mail.Agent{
		Key: alice, Status: mail.Active, Visibility: mail.Private, Policy: mail.Blocklist, Metadata: []byte("{}"), Capabilities: []byte("[]"),
		CreatedAt: a.CreatedAt, LastActiveAt: a.CreatedAt,
	}
	if d := cmp.Diff(want, a); d != "" || !isNew || a.CreatedAt.IsZero() {
		r.Fatal(isNew, d)
	}
	_, isNew, err = r.Admit(r.Context(), r.guard(alice), time.Minute)
	r.must(err)
	r.reopen()
	got, err := r.Agent(r.Context(), alice)
	r.must(err)
	if d := cmp.Diff(want, got); d != "" || isNew {
		r.Fatalf("got %v, %q; want false, an empty string", isNew, d)
	}
	r.counted()
}

func signatureOnce(r *relay) {
	g := r.guard(alice)
	_, _, err := r.Admit(r.Context(), g, 0)
	r.must(err)
	r.reopen()
	_, _, err = r.Admit(r.Context(), g, 0)
	r.want(err, mail.ErrReplayed)
	g.Key = bob // a signature of the same bytes by another agent
	_, _, err = r.Admit(r.Context(), g, 0)
	r.must(err)
	r.age(11 * time.Minute)
	_, more, err := r.Sweep(r.Context(), 1)
	r.must(err)
	if !more {
		r.Fatal("nothing more to sweep")
	}
	_, _, err = r.Sweep(r.Context(), 10)
	r.must(err)
	_, _, err = r.Admit(r.Context(), g, 0) // the caller checks the time
	r.must(err)
}

func signatureOnceAtOnce(r *relay) {
	other := sqlmail.New(open(r.T, r.place), sqlmail.Options{MaxAgents: manyAgents})
	g := r.guard(alice)
	var taken atomic.Int64
	var all sync.WaitGroup
	for n := range 16 {
		s := r.Store
		if n%2 == 1 {
			s = other
		}
		all.Go(func() {
			_, _, err := s.Admit(r.Context(), g, 0)
			if err == nil {
				taken.Add(1)
				return
			}
			if err != mail.ErrReplayed { //nolint:errorlint // Admit returns the error itself
				r.Errorf("got %v, want %v", err, mail.ErrReplayed)
			}
		})
	}
	all.Wait()
	if taken.Load() != 1 {
		r.Fatalf("taken %d times, want 1", taken.Load())
	}
	r.counted()
}

func signedBeforeRestore(r *relay) {
	before := r.guard(alice)
	before.Signed = r.Now().Add(-time.Second)
	r.must(r.db.MarkRestored(r.Context(), store.DefaultRestoredLimits()))
	r.reopen()
	after, silent := r.guard(alice), r.guard(alice)
	after.Signed = r.Now().Add(time.Second)
	_, _, err := r.Admit(r.Context(), before, 0)
	r.want(err, mail.ErrReplayed)
	for _, g := range []mail.Guard{after, silent} {
		_, _, err = r.Admit(r.Context(), g, 0)
		r.must(err)
	}
}

func activity(r *relay) {
	first := r.agent(alice)
	r.age(30 * time.Second)
	a, _, err := r.Admit(r.Context(), r.guard(alice), time.Minute)
	r.must(err)
	if !a.LastActiveAt.Equal(first.LastActiveAt.Add(-30 * time.Second)) {
		r.Fatal("written within the time")
	}
	r.age(40 * time.Second)
	a, _, err = r.Admit(r.Context(), r.guard(alice), time.Minute)
	r.must(err)
	kept, err := r.Agent(r.Context(), alice)
	r.must(err)
	if !kept.LastActiveAt.Equal(a.LastActiveAt) || !a.LastActiveAt.After(first.LastActiveAt) {
		r.Fatal(first.LastActiveAt, a.LastActiveAt, kept.LastActiveAt)
	}
}

func suspension(r *relay) {
	r.want(r.Suspend(r.Context(), alice, true), mail.ErrNotFound)
	r.agent(alice)
	r.must(r.Suspend(r.Context(), alice, true))
	g := r.guard(alice)
	_, _, err := r.Admit(r.Context(), g, 0)
	r.want(err, mail.ErrSuspended)
	r.must(r.Suspend(r.Context(), alice, false))
	_, _, err = r.Admit(r.Context(), g, 0)
	r.want(err, mail.ErrReplayed) // the signature was used while the agent was suspended
	r.agent(alice)
}

func unavailable(r *relay) {
	r.must(r.db.Close())
	_, _, err := r.Admit(r.Context(), r.guard(alice), 0)
	r.want(err, store.ErrUnavailable)
	_, _, err = r.Send(r.Context(), r.message(alice, bob))
	r.want(err, store.ErrUnavailable)
	_, err = r.Message(r.Context(), "msg")
	r.want(err, store.ErrUnavailable)
	_, _, err = r.Discover(r.Context(), mail.Search{Words: []string{"a"}, Limit: 1})
	r.want(err, store.ErrUnavailable)
	_, _, err = r.Sweep(r.Context(), 1)
	r.want(err, store.ErrUnavailable)
}

func agentsBounded(r *relay) {
	s := sqlmail.New(r.db, sqlmail.Options{MaxAgents: 2})
	for _, k := range []mail.Key{alice, bob} {
		_, _, err := s.Admit(r.Context(), r.guard(k), 0)
		r.must(err)
	}
	g := r.guard(carol)
	_, _, err := s.Admit(r.Context(), g, 0)
	r.want(err, mail.ErrFull)
	_, _, err = s.Admit(r.Context(), r.guard(alice), 0)
	r.must(err)
	_, err = s.Delete(r.Context(), alice)
	r.must(err)
	_, _, err = s.Admit(r.Context(), g, 0) // the refused signature was not recorded
	r.must(err)
	r.counted()
}

func profiles(r *relay) {
	_, err := r.Update(r.Context(), alice, mail.Profile{})
	r.want(err, mail.ErrNotFound)
	want := r.agent(alice)
	for _, p := range []mail.Profile{
		{},
		{Name: new("Al\x00ice\xff"), Words: new("al\x00ice")},
		{Visibility: new(mail.Public)},
		{Policy: new(mail.Closed), Metadata: []byte(`{"a":"\u0000"}`)},
		{Capabilities: []byte(`[{"name":"x"}]`), Tags: []string{"t", "u", "t"}, Words: new("x")},
		{Name: new("")},
	} {
		got, err := r.Update(r.Context(), alice, p)
		r.must(err)
		if p.Name != nil {
			want.Name = *p.Name
		}
		if p.Visibility != nil {
			want.Visibility = *p.Visibility
		}
		if p.Policy != nil {
			want.Policy, want.Metadata = *p.Policy, p.Metadata
		}
		if p.Capabilities != nil {
			want.Capabilities = p.Capabilities
		}
		if d := cmp.Diff(want, got); d != "" {
			r.Fatalf("differs (-want +got):\n%s", d)
		}
		got, err = r.Agent(r.Context(), alice)
		r.must(err)
		if d := cmp.Diff(want, got); d != "" {
			r.Fatalf("differs (-want +got):\n%s", d)
		}
	}
}

func agentsListed(r *relay) {
	for n := range 5 {
		r.agent(key(n + 1))
	}
	var got []mail.Key
	var after *mail.Key
	for {
		list, more, err := r.Agents(r.Context(), after, 2)
		r.must(err)
		for _, a := range list {
			got = append(got, a.Key)
		}
		if !more {
			break
		}
		after = &list[len(list)-1].Key
	}
	if want := []mail.Key{key(1), key(2), key(3), key(4), key(5)}; !slices.Equal(got, want) {
		r.Fatalf("got %v, want %v", got, want)
	}
}

// found returns the numbers of the agents that a search finds, page by page.
