package sqlmail_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
)

func TestAgents(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"the first signature makes the agent":         firstSignature,
		"a signature is taken once":                   signatureOnce,
		"at once too":                                 signatureOnceAtOnce,
		"what was signed before a restore is refused": signedBeforeRestore,
		"activity is kept to within a time":           activity,
		"suspended agents are refused":                suspension,
		"there are as many agents as may be":          agentsBounded,
		"who has nothing is forgotten when idle":      forgotten,
		"what is changed of a profile":                profiles,
		"what is an agent's own is removed with it":   removal,
		"however much waits for it":                   removalOfMany,
		"agents are listed by their keys":             agentsListed,
		"who is found, and in which order":            discovered,
		"tags are counted over agents that are shown": tagsCounted,
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
		r.Fatal(isNew, d)
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
	g.Key = bob // another's signature of the same bytes
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
	_, _, err = r.Admit(r.Context(), g, 0) // its time is up to the caller
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
			if err != mail.ErrReplayed { //nolint:errorlint // nothing else is in it
				r.Error(err)
			}
		})
	}
	all.Wait()
	if taken.Load() != 1 {
		r.Fatalf("taken %d times", taken.Load())
	}
	r.counted()
}

func signedBeforeRestore(r *relay) {
	before := r.guard(alice)
	before.Signed = r.Now().Add(-time.Second)
	r.must(r.db.MarkRestored(r.Context()))
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
	r.want(err, mail.ErrReplayed) // it was used while the agent was suspended
	r.agent(alice)
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
	_, _, err = s.Admit(r.Context(), g, 0) // nothing is kept of one that was refused
	r.must(err)
	r.counted()
}

func forgotten(r *relay) {
	s := sqlmail.New(r.db, sqlmail.Options{MaxAgents: manyAgents, Idle: time.Hour})
	owners := map[int]func(k mail.Key) error{
		1: func(k mail.Key) error {
			_, err := r.Update(r.Context(), k, mail.Profile{Policy: new(mail.Closed)})
			return err
		},
		2: func(k mail.Key) error { _, err := r.SetEntry(r.Context(), k, bob, mail.Block); return err },
		3: func(k mail.Key) error { r.blob(k, 1); return nil },
		4: func(k mail.Key) error { r.hook(k); return nil },
		5: func(k mail.Key) error { return r.Suspend(r.Context(), k, true) },
	}
	for n := range 10 {
		r.agent(key(n))
		if own := owners[n]; own != nil {
			r.must(own(key(n)))
		}
	}
	waits := r.message(alice, key(6))
	waits.Lifetime = 100 * time.Hour
	r.send(waits)
	r.age(50 * time.Minute)
	r.agent(key(7))
	for _, c := range []struct {
		after time.Duration
		want  int64
	}{{0, 10}, {20 * time.Minute, 6}, {30 * time.Minute, 6}, {time.Hour, 5}} {
		r.age(c.after)
		for more := true; more; {
			var err error
			_, more, err = s.Sweep(r.Context(), 2)
			r.must(err)
			_, _, err = r.Sweep(r.Context(), 2) // without the option
			r.must(err)
		}
		if got := r.counted(); got.Agents != c.want {
			r.Fatalf("after %v more there are %d; want %d", c.after, got.Agents, c.want)
		}
	}
	r.same(r.waiting(key(6)), []string{waits.ID})
	r.agent(key(6))
	r.counted()
}

// public makes a public agent with tags.
func (r *relay) public(k mail.Key, name, words string, tags ...string) {
	r.Helper()
	r.agent(k)
	_, err := r.Update(r.Context(), k, mail.Profile{
		Name: &name, Visibility: new(mail.Public), Capabilities: []byte(`[{"name":"c"}]`), Tags: tags, Words: &words,
	})
	r.must(err)
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
			r.Fatal(d)
		}
		got, err = r.Agent(r.Context(), alice)
		r.must(err)
		if d := cmp.Diff(want, got); d != "" {
			r.Fatal(d)
		}
	}
}

func removal(r *relay) {
	_, err := r.Delete(r.Context(), alice)
	r.want(err, mail.ErrNotFound)
	r.public(alice, "Alice", "words", "tag")
	r.agent(bob)
	kept := r.send(r.message(alice, bob)).ID
	r.send(r.message(bob, alice))
	blob := r.blob(alice, 10)
	foreign := r.blob(bob, 5)
	attached := r.message(bob, alice)
	attached.Blobs, attached.Attachments = []string{foreign}, []byte(`[{}]`)
	r.send(attached)
	_, err = r.SetEntry(r.Context(), alice, bob, mail.Allow)
	r.must(err)
	_, err = r.SetWebhook(r.Context(), mail.Webhook{Owner: alice, URL: "https://a.example"})
	r.must(err)
	g := r.guard(alice)
	_, _, err = r.Admit(r.Context(), g, 0)
	r.must(err)

	blobs, err := r.Delete(r.Context(), alice)
	r.must(err)
	r.same(blobs, []string{blob})
	got := r.counted()
	if got.Bytes = 0; got != (mail.Totals{Agents: 1, Waiting: 1, Messages: 1, Blobs: 1, BlobBytes: 5}) {
		r.Fatalf("%+v", got)
	}
	r.same(r.waiting(bob), []string{kept})
	r.must(r.DeleteBlob(r.Context(), foreign, bob)) // no message attaches it any more
	tags, _, err := r.Tags(r.Context(), nil, 10)
	r.must(err)
	if len(tags) != 0 {
		r.Fatal(tags)
	}
	_, _, err = r.Admit(r.Context(), g, 0)
	r.want(err, mail.ErrReplayed)
	r.agent(alice)
	_, err = r.Entry(r.Context(), alice, bob)
	r.want(err, mail.ErrNotFound)
	_, err = r.Webhook(r.Context(), alice)
	r.want(err, mail.ErrNotFound)
	r.same(r.waiting(alice), nil)
	due, err := r.Postings(r.Context(), r.Now(), time.Minute, 10)
	r.must(err)
	if len(due) != 0 {
		r.Fatal(due)
	}
	r.counted()
}

func removalOfMany(r *relay) {
	r.agent(alice, bob)
	for n := range 250 {
		m := r.message(bob, alice)
		m.Waiting = 1000
		if n%50 == 0 {
			m.Body = make([]byte, 5<<20)
		}
		r.send(m)
	}
	_, err := r.Delete(r.Context(), alice)
	r.must(err)
	if got := r.counted(); got != (mail.Totals{Agents: 1}) {
		r.Fatalf("%+v", got)
	}
	r.agent(alice)
	for range 250 {
		m := r.message(bob, alice)
		m.Waiting = 1000
		r.send(m)
	}
	for _, want := range []int64{250, 0} {
		r.age(20 * time.Hour)
		for more := true; more; {
			_, more, err = r.Sweep(r.Context(), 220)
			r.must(err)
		}
		if got := r.counted(); got.Messages != want || got.Waiting != 0 {
			r.Fatalf("%+v; want %d", got, want)
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
		r.Fatal(got)
	}
}

// found returns the numbers of the agents that a search finds, page by page.
func (r *relay) found(q mail.Search) (got []int) {
	r.Helper()
	if q.Limit == 0 {
		q.Limit = 2
	}
	for {
		list, more, err := r.Discover(r.Context(), q)
		r.must(err)
		for _, a := range list {
			got = append(got, int(a.Key[0]))
		}
		if !more {
			return got
		}
		last := list[len(list)-1]
		q.After = &mail.AgentPlace{ActiveAt: last.LastActiveAt, Key: last.Key}
	}
}

func discovered(r *relay) {
	r.public(key(1), "Translator of ÄRGER", "Translator of ÄRGER translate 100% a_b", "text:translate", "text:x", "free")
	r.age(time.Hour)
	r.public(key(2), "Painter", `Painter paint it back\slash 100 axb`, "image:paint", "free")
	r.age(time.Hour)
	r.public(key(3), "", "translate paint", "text:translate", "image:paint")
	r.public(key(4), "Suspended", "translate", "free")
	r.must(r.Suspend(r.Context(), key(4), true))
	r.public(key(5), "Private", "translate", "free")
	_, err := r.Update(r.Context(), key(5), mail.Profile{Visibility: new(mail.Private)})
	r.must(err)
	r.agent(key(6))
	for name, c := range map[string]struct {
		q    mail.Search
		want []int
	}{
		"all":                     {mail.Search{}, []int{3, 2, 1}},
		"a tag":                   {mail.Search{Tags: []string{"free"}}, []int{2, 1}},
		"two tags":                {mail.Search{Tags: []string{"free", "text:translate"}}, []int{1}},
		"no such tag":             {mail.Search{Tags: []string{"free", "Free"}}, nil},
		"a prefix":                {mail.Search{Prefixes: []string{"text:"}}, []int{3, 1}},
		"two prefixes":            {mail.Search{Prefixes: []string{"text:", "im"}}, []int{3}},
		"no such prefix":          {mail.Search{Prefixes: []string{"text:y"}}, nil},
		"a prefix without end":    {mail.Search{Prefixes: []string{"\xff\xff"}}, nil},
		"a word":                  {mail.Search{Words: []string{"TRANSL"}}, []int{3, 1}},
		"two words":               {mail.Search{Words: []string{"paint", "it"}}, []int{2}},
		"a name":                  {mail.Search{Name: "ärger"}, []int{1}},
		"a name in its middle":    {mail.Search{Name: "AINT"}, []int{2}},
		"percent":                 {mail.Search{Words: []string{"100%"}}, []int{1}},
		"underline":               {mail.Search{Words: []string{"a_b"}}, []int{1}},
		"backslash":               {mail.Search{Words: []string{`k\s`}}, []int{2}},
		"active since":            {mail.Search{ActiveSince: r.Now().Add(-90 * time.Minute)}, []int{3, 2}},
		"a word that is too long": {mail.Search{Words: []string{string(make([]byte, 100_000))}}, nil},
		"all of it": {
			mail.Search{Tags: []string{"free"}, Prefixes: []string{"text"}, Words: []string{"of"}, Name: "t", ActiveSince: r.Now().Add(-3 * time.Hour)},
			[]int{1},
		},
	} {
		for _, limit := range []int{1, 2, 10} {
			c.q.Limit = limit
			if got := r.found(c.q); !slices.Equal(got, c.want) {
				r.Errorf("%s, by %d: %v; want %v", name, limit, got, c.want)
			}
		}
	}
}

func tagsCounted(r *relay) {
	r.public(key(1), "", "", "b", "a", "c")
	r.public(key(2), "", "", "b", "d")
	r.public(key(3), "", "", "c", "b")
	tags := func() (all []mail.TagCount) {
		var after *mail.TagCount
		for {
			list, more, err := r.Tags(r.Context(), after, 1)
			r.must(err)
			all = append(all, list...)
			if !more {
				return all
			}
			after = &list[len(list)-1]
		}
	}
	for _, step := range []struct {
		do   func() error
		want []mail.TagCount
	}{
		{func() error { return nil }, []mail.TagCount{{Tag: "b", Count: 3}, {Tag: "c", Count: 2}, {Tag: "a", Count: 1}, {Tag: "d", Count: 1}}},
		{func() error {
			_, err := r.Update(r.Context(), key(1), mail.Profile{Capabilities: []byte("[]"), Tags: []string{"d", "a"}})
			return err
		}, []mail.TagCount{{Tag: "b", Count: 2}, {Tag: "d", Count: 2}, {Tag: "a", Count: 1}, {Tag: "c", Count: 1}}},
		{func() error { return r.Suspend(r.Context(), key(2), true) }, []mail.TagCount{{Tag: "a", Count: 1}, {Tag: "b", Count: 1}, {Tag: "c", Count: 1}, {Tag: "d", Count: 1}}},
		{func() error { return r.Suspend(r.Context(), key(2), true) }, []mail.TagCount{{Tag: "a", Count: 1}, {Tag: "b", Count: 1}, {Tag: "c", Count: 1}, {Tag: "d", Count: 1}}},
		{func() error {
			_, err := r.Update(r.Context(), key(3), mail.Profile{Visibility: new(mail.Private)})
			return err
		}, []mail.TagCount{{Tag: "a", Count: 1}, {Tag: "d", Count: 1}}},
		{func() error { return r.Suspend(r.Context(), key(2), false) }, []mail.TagCount{{Tag: "d", Count: 2}, {Tag: "a", Count: 1}, {Tag: "b", Count: 1}}},
		{func() error { _, err := r.Delete(r.Context(), key(1)); return err }, []mail.TagCount{{Tag: "b", Count: 1}, {Tag: "d", Count: 1}}},
	} {
		r.must(step.do())
		if d := cmp.Diff(step.want, tags()); d != "" {
			r.Fatal(d)
		}
	}
}
