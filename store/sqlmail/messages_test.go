package sqlmail_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store/mail"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"a message outlives a restart":         messageRoundTrip,
		"a message is delivered once":          delivery,
		"undelivered messages expire":          expiry,
		"the policy of the inbox":              policies,
		"queue limit":                          queueBounded,
		"relay limit":                          relayBounded,
		"an idempotency key":                   idempotency,
		"a message needs an id and a lifetime": senseless,
		"unknown ids":                          strangeIDs,
	})
}

func messageRoundTrip(r *relay) {
	r.agent(alice)
	full := r.message(alice, bob)
	full.ThreadID, full.InReplyTo, full.ContentType = "thr\x00ead\xff", "no id", "te\x00xt"
	full.Metadata, full.Signed = []byte(`{"a": "\u0000"}`), []byte{0, 255}
	for _, m := range []mail.NewMessage{full, r.message(alice, bob)} {
		m.Waiting = 2
		taken := r.send(m)
		if !taken.ExpiresAt.Equal(taken.CreatedAt.Add(time.Hour)) || taken.Status != mail.Sent || taken.CreatedAt.IsZero() {
			r.Fatalf("got %+v", taken)
		}
		want := m.Message
		want.Status, want.CreatedAt, want.ExpiresAt = taken.Status, taken.CreatedAt, taken.ExpiresAt
		r.reopen()
		got, err := r.Message(r.Context(), m.ID)
		r.must(err)
		for _, got := range []mail.Message{taken, got} {
			if d := cmp.Diff(want, got); d != "" {
				r.Fatalf("differs (-want +got):\n%s", d)
			}
		}
	}
	r.counted()
}

func delivery(r *relay) {
	r.agent(alice, bob)
	first, second := r.send(r.message(alice, bob)), r.send(r.message(alice, bob))
	r.must(r.Delivered(r.Context(), alice, []string{first.ID})) // the message is not hers
	r.same(r.waiting(bob), []string{first.ID, second.ID})
	r.must(r.Delivered(r.Context(), bob, []string{first.ID, "unknown", "\x00", "", first.ID}))
	r.same(r.waiting(bob), []string{second.ID})
	r.same(r.inState(bob, mail.Delivered), []string{first.ID})
	got, err := r.Message(r.Context(), first.ID)
	r.must(err)
	if got.Status != mail.Delivered || got.DeliveredAt.IsZero() {
		r.Fatalf("got %+v", got)
	}
	r.must(r.Delivered(r.Context(), bob, []string{first.ID}))
	again, err := r.Message(r.Context(), first.ID)
	r.must(err)
	if !again.DeliveredAt.Equal(got.DeliveredAt) {
		r.Fatal("delivered twice")
	}
	r.age(2 * time.Hour)
	again, err = r.Message(r.Context(), first.ID)
	r.must(err)
	if again.Status != mail.Delivered {
		r.Fatalf("got %+v, want Status %v", again, mail.Delivered)
	}
	r.counted()
}

func expiry(r *relay) {
	m, other := r.send(r.message(alice, bob)), r.message(alice, bob)
	other.Lifetime = 3 * time.Hour
	kept := r.send(other)
	r.age(2 * time.Hour)
	check := func() {
		r.Helper()
		r.same(r.waiting(bob), []string{kept.ID})
		r.same(r.inState(bob, mail.Expired), []string{m.ID})
		r.must(r.Delivered(r.Context(), bob, []string{m.ID}))
		got, err := r.Message(r.Context(), m.ID)
		r.must(err)
		if got.Status != mail.Expired || !got.DeliveredAt.IsZero() {
			r.Fatalf("got %+v", got)
		}
	}
	check()
	_, _, err := r.Sweep(r.Context(), 10)
	r.must(err)
	check()
	if got := r.counted(); got.Waiting != 1 || got.Messages != 2 {
		r.Fatalf("got %+v; want Waiting 1 and Messages 2", got)
	}
}

func policies(r *relay) {
	r.agent(alice, bob)
	for _, c := range []struct {
		policy, entry string
		want          error
	}{
		{mail.Open, "", nil},
		{mail.Open, mail.Allow, nil},
		{mail.Open, mail.Block, nil},
		{mail.Closed, "", mail.ErrDenied},
		{mail.Closed, mail.Allow, mail.ErrDenied},
		{mail.Closed, mail.Block, mail.ErrDenied},
		{mail.Allowlist, "", mail.ErrDenied},
		{mail.Allowlist, mail.Allow, nil},
		{mail.Allowlist, mail.Block, mail.ErrDenied},
		{mail.Blocklist, "", nil},
		{mail.Blocklist, mail.Allow, nil},
		{mail.Blocklist, mail.Block, mail.ErrDenied},
		{"of another version", mail.Allow, mail.ErrDenied},
	} {
		_, err := r.Update(r.Context(), bob, mail.Profile{Policy: &c.policy})
		r.must(err)
		if err := r.DeleteEntry(r.Context(), bob, alice); err != nil {
			r.want(err, mail.ErrNotFound)
		}
		if c.entry != "" {
			_, err := r.SetEntry(r.Context(), bob, alice, c.entry)
			r.must(err)
		}
		if _, _, err := r.Send(r.Context(), r.message(alice, bob)); !errors.Is(err, c.want) {
			r.Errorf("%s, %s: %v; want %v", c.policy, c.entry, err, c.want)
		}
	}
	_, err := r.SetEntry(r.Context(), bob, carol, mail.Block)
	r.must(err)
	_, _, err = r.Send(r.Context(), r.message(carol, alice)) // another recipient blocks the sender
	r.must(err)
	r.counted()
}

func queueBounded(r *relay) {
	r.agent(bob)
	for name, to := range map[string]mail.Key{"an agent": bob, "a stranger": carol} {
		m := r.message(alice, to)
		m.Waiting, m.Unknown = 3, 2
		most := 3
		if to == carol {
			most = 2
		}
		var taken []string
		for range most {
			m.ID = r.id("msg")
			taken = append(taken, r.send(m).ID)
		}
		m.ID = r.id("msg")
		_, _, err := r.Send(r.Context(), m)
		r.want(err, mail.ErrQueueFull)
		r.must(r.Delivered(r.Context(), to, taken[:1]))
		r.send(m)
		r.age(2 * time.Hour) // expired messages do not count, even before upkeep
		m.ID = r.id("msg")
		r.send(m)
		if got := r.waiting(to); len(got) != 1 {
			r.Fatalf("%v: got %v, want length 1", name, got)
		}
		r.counted()
	}
}

func relayBounded(r *relay) {
	m := r.message(alice, bob)
	m.All = 1
	first := r.send(m)
	m.ID, m.Recipient = r.id("msg"), carol
	_, _, err := r.Send(r.Context(), m)
	r.want(err, mail.ErrFull)
	used := r.counted().Bytes
	m.All, m.Bytes = 10, 2*used-1
	_, _, err = r.Send(r.Context(), m)
	r.want(err, mail.ErrFull)
	m.Bytes++
	r.send(m)
	r.must(r.Delivered(r.Context(), bob, []string{first.ID})) // the message is kept until it expires
	m.ID = r.id("msg")
	_, _, err = r.Send(r.Context(), m)
	r.want(err, mail.ErrFull)
	r.counted()
}

func idempotency(r *relay) {
	r.agent(alice, bob)
	m := r.message(alice, bob)
	m.IdempotencyKey, m.Digest = "k\x00", [32]byte{1}
	first := r.send(m)
	same := m
	same.ID = r.id("msg")
	repeat := func() mail.Message {
		r.Helper()
		got, repeated, err := r.Send(r.Context(), same)
		r.must(err)
		if !repeated || got.ID != first.ID || got.Recipient != bob || got.ExpiresAt.Sub(got.CreatedAt) != time.Hour {
			r.Fatal(repeated, got)
		}
		return got
	}
	if d := cmp.Diff(first, repeat()); d != "" {
		r.Fatalf("differs (-want +got):\n%s", d)
	}
	_, err := r.Update(r.Context(), bob, mail.Profile{Policy: new(mail.Closed)})
	r.must(err)
	r.reopen()
	repeat() // the message was accepted
	_, err = r.Update(r.Context(), bob, mail.Profile{Policy: new(mail.Open)})
	r.must(err)
	other := same
	other.Digest[0]++
	_, _, err = r.Send(r.Context(), other)
	r.want(err, mail.ErrKeyReused)
	other.Sender, other.ID = carol, r.id("msg")
	r.send(other)
	r.must(r.Delivered(r.Context(), bob, []string{first.ID}))
	r.age(23 * time.Hour)
	_, _, err = r.Sweep(r.Context(), 10)
	r.must(err)
	_, err = r.Message(r.Context(), first.ID)
	r.want(err, mail.ErrNotFound)
	repeat()
	r.age(2 * time.Hour)
	if got := r.send(same); got.ID != same.ID {
		r.Fatalf("got %+v, want ID %v", got, same.ID)
	}
	r.counted()
}

func senseless(r *relay) {
	for _, change := range []func(*mail.NewMessage){
		func(m *mail.NewMessage) { m.ID = "" }, func(m *mail.NewMessage) { m.ID = "\x00" }, func(m *mail.NewMessage) { m.Lifetime = 0 },
		func(m *mail.NewMessage) { m.Blobs = []string{"b"} },
	} {
		m := r.message(alice, bob)
		change(&m)
		if _, _, err := r.Send(r.Context(), m); err == nil {
			r.Errorf("%+v was taken", m)
		}
	}
	r.counted()
}

func strangeIDs(r *relay) {
	for _, id := range []string{"", "none", "\x00", "\xff", "' OR 1=1 --"} {
		_, err := r.Message(r.Context(), id)
		r.want(err, mail.ErrNotFound)
		_, err = r.Blob(r.Context(), id)
		r.want(err, mail.ErrNotFound)
		r.want(r.DeleteBlob(r.Context(), id, alice), mail.ErrNotFound)
	}
}
