package sqlmail_test

import (
	"slices"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

func TestPages(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"pages are consecutive":           pages,
		"large pages":                     largePages,
		"filters":                         filters,
		"threads":                         threads,
		"lists for the operator":          listed,
		"waiting messages without bodies": withoutBodies,
	})
}

func (r *relay) pagesOf(limit int, page func(after *mail.Place, limit int) ([]mail.Message, bool, error)) (got []string) {
	r.Helper()
	var after *mail.Place
	for {
		list, more, err := page(after, limit)
		r.must(err)
		got = append(got, ids(list)...)
		if !more {
			return got
		}
		last := list[len(list)-1]
		after = &mail.Place{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

func pages(r *relay) {
	var want, delivered []string
	for n := range 7 {
		m := r.send(r.message(alice, bob))
		if n%3 == 0 {
			r.must(r.Delivered(r.Context(), bob, []string{m.ID}))
			delivered = append(delivered, m.ID)
			continue
		}
		want = append(want, m.ID)
	}
	r.send(r.message(bob, alice))
	for limit := 1; limit < 9; limit++ {
		for state, want := range map[string][]string{mail.Sent: want, mail.Delivered: delivered, mail.Expired: nil, "other": nil} {
			r.same(r.pagesOf(limit, func(after *mail.Place, limit int) ([]mail.Message, bool, error) {
				return r.Messages(r.Context(), mail.Query{Recipient: bob, Status: state, After: after, Limit: limit})
			}), want)
		}
	}
	// Rows that change their state between two pages do not move the position.
	list, _, err := r.Messages(r.Context(), mail.Query{Recipient: bob, Status: mail.Sent, Limit: 2})
	r.must(err)
	r.must(r.Delivered(r.Context(), bob, ids(list)))
	rest, _, err := r.Messages(r.Context(), mail.Query{
		Recipient: bob, Status: mail.Sent, Limit: 9, After: &mail.Place{CreatedAt: list[1].CreatedAt, ID: list[1].ID},
	})
	r.must(err)
	r.same(ids(rest), want[2:])
	_, _, err = r.Messages(r.Context(), mail.Query{Recipient: bob, Status: mail.Sent, Limit: 9, After: &mail.Place{ID: "\x00\xff"}})
	r.must(err)
	// Some messages have expired, and upkeep has processed only some of them.
	r.age(2 * time.Hour)
	_, _, err = r.Sweep(r.Context(), 3)
	r.must(err)
	for limit := 1; limit < 5; limit++ {
		r.same(r.pagesOf(limit, func(after *mail.Place, limit int) ([]mail.Message, bool, error) {
			return r.Messages(r.Context(), mail.Query{Recipient: bob, Status: mail.Expired, After: after, Limit: limit})
		}), want[2:])
	}
}

func largePages(r *relay) {
	var want []string
	for range 5 {
		m := r.message(alice, bob)
		m.Body = make([]byte, 3<<20)
		want = append(want, r.send(m).ID)
	}
	list, more, err := r.Messages(r.Context(), mail.Query{Recipient: bob, Status: mail.Sent, Limit: 100})
	r.must(err)
	if len(list) != 3 || !more {
		r.Fatal(len(list), more)
	}
	r.same(r.pagesOf(100, func(after *mail.Place, limit int) ([]mail.Message, bool, error) {
		return r.Messages(r.Context(), mail.Query{Recipient: bob, Status: mail.Sent, After: after, Limit: limit})
	}), want)
}

func filters(r *relay) {
	sent := map[string]mail.Message{}
	for name, m := range map[string]mail.Message{
		"plain": {}, "reply": {InReplyTo: "x"}, "thread": {ThreadID: "t"}, "both": {InReplyTo: "x", ThreadID: "t"}, "other": {InReplyTo: "X", ThreadID: "T"},
	} {
		for _, from := range []mail.Key{alice, carol} {
			s := r.message(from, bob)
			s.InReplyTo, s.ThreadID = m.InReplyTo, m.ThreadID
			if from == carol {
				name += " of carol"
			}
			sent[name] = r.send(s)
		}
	}
	cases := map[string]struct {
		q    mail.Query
		want []string
	}{
		"a sender": {mail.Query{Sender: &carol}, []string{
			"both of carol", "other of carol", "plain of carol", "reply of carol", "thread of carol",
		}},
		"a reply":              {mail.Query{InReplyTo: "x"}, []string{"both", "both of carol", "reply", "reply of carol"}},
		"a thread":             {mail.Query{ThreadID: "t"}, []string{"both", "both of carol", "thread", "thread of carol"}},
		"both":                 {mail.Query{ThreadID: "t", InReplyTo: "x"}, []string{"both", "both of carol"}},
		"all":                  {mail.Query{ThreadID: "t", InReplyTo: "x", Sender: &alice}, []string{"both"}},
		"a thread of a sender": {mail.Query{ThreadID: "t", Sender: &alice}, []string{"both", "thread"}},
		"no matching message":  {mail.Query{ThreadID: "t", InReplyTo: "X"}, nil},
	}
	check := func(state string) {
		r.Helper()
		for name, c := range cases {
			c.q.Recipient, c.q.Status, c.q.Limit = bob, state, 100
			list, _, err := r.Messages(r.Context(), c.q)
			r.must(err)
			var got []string
			for name, m := range sent {
				if slices.Contains(ids(list), m.ID) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) || len(list) != len(got) {
				r.Errorf("%s, %s: %v; want %v", state, name, got, c.want)
			}
		}
	}
	check(mail.Sent)
	r.must(r.Delivered(r.Context(), bob, r.waiting(bob)))
	check(mail.Delivered)
}

func threads(r *relay) {
	first := r.send(r.message(alice, bob))
	want := []string{first.ID}
	for n := range 6 {
		m := r.message(alice, bob)
		if n%2 == 1 {
			m = r.message(bob, alice)
		}
		if n == 4 {
			m = r.message(alice, alice)
		}
		m.ThreadID = first.ID
		id := r.send(m).ID
		if n == 4 {
			r.same(r.thread(alice, first.ID, 10), append(slices.Clone(want), id))
			r.must(r.Delivered(r.Context(), alice, []string{id}))
			_, err := r.Delete(r.Context(), alice)
			r.want(err, mail.ErrNotFound)
			continue
		}
		want = append(want, id)
	}
	others := r.message(carol, bob)
	others.ThreadID = first.ID
	with := append(slices.Clone(want), r.send(others).ID)
	for limit := 1; limit < 9; limit++ {
		r.same(r.thread(bob, first.ID, limit), with)
	}
	r.same(r.thread(carol, first.ID, 1), with[len(with)-1:])
	for _, none := range []string{"", "other", "\x00"} {
		r.same(r.thread(alice, none, 3), nil)
	}
}

func (r *relay) thread(of mail.Key, id string, limit int) []string {
	r.Helper()
	return r.pagesOf(limit, func(after *mail.Place, limit int) ([]mail.Message, bool, error) {
		return r.Thread(r.Context(), id, of, after, limit)
	})
}

func listed(r *relay) {
	var want, ofAlice []string
	for n := range 6 {
		m := r.message([]mail.Key{alice, bob, carol}[n%3], []mail.Key{bob, carol}[n%2])
		if n == 3 {
			m.Recipient = alice
		}
		id := r.send(m).ID
		want = append(want, id)
		if m.Sender == alice || m.Recipient == alice {
			ofAlice = append(ofAlice, id)
		}
	}
	r.must(r.Delivered(r.Context(), alice, want))
	slices.Reverse(want)
	slices.Reverse(ofAlice)
	for limit := 1; limit < 7; limit++ {
		r.same(r.pagesOf(limit, func(after *mail.Place, limit int) ([]mail.Message, bool, error) {
			return r.List(r.Context(), nil, after, limit)
		}), want)
		r.same(r.pagesOf(limit, func(after *mail.Place, limit int) ([]mail.Message, bool, error) {
			return r.List(r.Context(), &alice, after, limit)
		}), ofAlice)
	}
	list, _, err := r.List(r.Context(), nil, nil, 1)
	r.must(err)
	if list[0].Body != nil || list[0].Metadata != nil {
		r.Fatalf("got %+v; want Body nil and Metadata nil", list[0])
	}
}

func withoutBodies(r *relay) {
	var want []string
	for n := range 7 {
		m := r.message(alice, bob)
		m.Body = make([]byte, 100+n)
		taken := r.send(m)
		if n%3 == 0 {
			r.must(r.Delivered(r.Context(), bob, []string{taken.ID}))
			continue
		}
		want = append(want, taken.ID)
	}
	r.send(r.message(bob, alice))
	for limit := 1; limit < 6; limit++ {
		var got []string
		var after *mail.Place
		for more := true; more; {
			list, further, err := r.Waiting(r.Context(), bob, after, limit)
			r.must(err)
			for _, w := range list {
				got, after = append(got, w.ID), &w.Place
				if w.Size < 100 {
					r.Errorf("%s has %d bytes", w.ID, w.Size)
				}
			}
			more = further
		}
		r.same(got, want)
	}
	r.age(2 * time.Hour)
	if list, more, err := r.Waiting(r.Context(), bob, nil, 9); err != nil || more || len(list) != 0 {
		r.Fatalf("got %v, %v, %v; want none, false, nil", list, more, err)
	}
}
