package sqlmail_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
)

func TestRemoval(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"idle agents are deleted":   forgotten,
		"deletion removes all data": removal,
		"deletion of many messages": removalOfMany,
	})
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
			_, _, err = r.Sweep(r.Context(), 2) // a store without the option
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
		r.Fatalf("got %+v, want %+v", got, mail.Totals{Agents: 1, Waiting: 1, Messages: 1, Blobs: 1, BlobBytes: 5})
	}
	r.same(r.waiting(bob), []string{kept})
	r.must(r.DeleteBlob(r.Context(), foreign, bob)) // no message attaches it any longer
	tags, _, err := r.Tags(r.Context(), nil, 10)
	r.must(err)
	if len(tags) != 0 {
		r.Fatalf("got %v, want none", tags)
	}
	_, _, err = r.Admit(r.Context(), g, 0)
	r.want(err, mail.ErrReplayed)
	r.agent(alice)
	_, err = r.Entry(r.Context(), alice, bob)
	r.want(err, mail.ErrNotFound)
	_, err = r.Webhook(r.Context(), alice)
	r.want(err, mail.ErrNotFound)
	r.same(r.waiting(alice), nil)
	due, err := r.Postings(r.Context(), mail.Claim{Now: r.Now().Add(afterSent), Lease: time.Minute, Limit: 10, Each: 10})
	r.must(err)
	if len(due) != 0 {
		r.Fatalf("got %v, want none", due)
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
		r.Fatalf("got %+v, want %+v", got, mail.Totals{Agents: 1})
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
