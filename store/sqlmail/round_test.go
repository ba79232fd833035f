package sqlmail_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
)

func TestRounds(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"many senders":                            manyInOne,
		"repeated signature":                      signatureTwice,
		"repeated idempotency key":                keyThrice,
		"queue and relay limits":                  boundsInOne,
		"too many agents":                         newcomersInOne,
		"refusals do not affect others":           refusedInOne,
		"blob attached twice":                     attachedTwice,
		"deliveries free the queue":               deliveredInOne,
		"duplicate id":                            idTwice,
		"a message and its signature, or neither": signedSends,
		"refused send uses its signature":         refusedSends,
		"different numbers of turns":              anyNumber,
	})
}

// round executes the requests in one transaction and compares their errors with the wanted ones.
func (r *relay) round(all []sqlmail.RoundRequest, want ...error) []sqlmail.Answer {
	r.Helper()
	answers, err := sqlmail.Round(r.Context(), r.Store, all...)
	r.must(err)
	for i, a := range answers {
		if !errors.Is(a.Err, want[i]) {
			r.Fatalf("%d: %v; want %v", i, a.Err, want[i])
		}
	}
	r.counted()
	return answers
}

func (r *relay) signed(m mail.NewMessage) sqlmail.RoundRequest {
	g := r.guard(m.Sender)
	return sqlmail.RoundRequest{Guard: &g, Send: &m}
}

func manyInOne(r *relay) {
	r.agent(bob)
	first := r.send(r.message(alice, bob))
	answers := r.round([]sqlmail.RoundRequest{
		r.signed(r.message(alice, bob)), r.signed(r.message(carol, bob)), r.signed(r.message(bob, carol)), r.signed(r.message(alice, bob)),
	}, nil, nil, nil, nil)
	want := []string{first.ID}
	last := first.CreatedAt
	for i, a := range answers {
		if a.IsNew != (i < 2) { // bob is known, and alice occurs twice
			r.Errorf("%d: new is %v, want %v", i, a.IsNew, i < 2)
		}
		if got, err := r.Message(r.Context(), a.Taken.ID); err != nil || cmp.Diff(got, a.Taken) != "" {
			r.Errorf("%+v, %v; want %+v", got, err, a.Taken)
		}
		if a.Taken.Recipient == bob {
			if want = append(want, a.Taken.ID); !a.Taken.CreatedAt.After(last) {
				r.Errorf("%d was taken at %v", i, a.Taken.CreatedAt)
			}
			last = a.Taken.CreatedAt
		}
	}
	r.same(r.waiting(bob), want)
	r.same(r.waiting(carol), []string{answers[2].Taken.ID})
}

func signatureTwice(r *relay) {
	first := r.signed(r.message(alice, bob))
	second := r.signed(r.message(alice, bob))
	second.Guard = first.Guard
	answers := r.round([]sqlmail.RoundRequest{first, second, {Guard: first.Guard}}, nil, mail.ErrReplayed, mail.ErrReplayed)
	r.same(r.waiting(bob), []string{answers[0].Taken.ID})
	r.round([]sqlmail.RoundRequest{second}, mail.ErrReplayed)
	r.same(r.waiting(bob), []string{answers[0].Taken.ID})
}

func keyThrice(r *relay) {
	m := r.message(alice, bob)
	m.IdempotencyKey, m.Digest = "k", [32]byte{1}
	again, other, foreign := m, m, m
	again.ID, other.ID, foreign.ID = r.id("msg"), r.id("msg"), r.id("msg")
	other.Digest[0]++
	foreign.Sender = carol
	answers := r.round([]sqlmail.RoundRequest{{Send: &m}, {Send: &again}, {Send: &other}, {Send: &foreign}}, nil, nil, mail.ErrKeyReused, nil)
	if d := cmp.Diff(answers[0].Taken, answers[1].Taken); d != "" || answers[0].Repeated || !answers[1].Repeated || answers[3].Repeated {
		r.Fatal(d, answers)
	}
	last := m
	last.ID, last.Recipient = r.id("msg"), key(9) // has no messages
	kept := r.round([]sqlmail.RoundRequest{{Send: &last}, {Send: &other}}, nil, mail.ErrKeyReused)
	if d := cmp.Diff(answers[0].Taken, kept[0].Taken); d != "" || !kept[0].Repeated {
		r.Fatal(d)
	}
	r.same(r.waiting(bob), []string{m.ID, foreign.ID})
	r.same(r.waiting(key(9)), nil)
}

func boundsInOne(r *relay) {
	r.agent(bob)
	queue := make([]sqlmail.RoundRequest, 4)
	for i := range queue {
		m := r.message(alice, bob)
		m.Waiting = 2
		queue[i].Send = &m
	}
	r.round(queue, nil, nil, mail.ErrQueueFull, mail.ErrQueueFull)
	bytes := int64(len(queue[0].Send.Body) + len(queue[0].Send.ContentType))
	whole := make([]sqlmail.RoundRequest, 4)
	for i := range whole {
		m := r.message(alice, carol)
		m.All, m.Bytes = 4, 1<<30
		if i == 0 {
			m.Bytes = 3*bytes - 1
		}
		whole[i].Send = &m
	}
	r.round(whole, mail.ErrFull, nil, nil, mail.ErrFull)
}

func newcomersInOne(r *relay) {
	s := sqlmail.New(r.db, sqlmail.Options{MaxAgents: 2})
	var guards []sqlmail.RoundRequest
	for _, k := range []mail.Key{carol, alice, bob, alice} {
		g := r.guard(k)
		guards = append(guards, sqlmail.RoundRequest{Guard: &g})
	}
	answers, err := sqlmail.Round(r.Context(), s, guards...)
	r.must(err)
	made := 0
	for i, a := range answers {
		switch {
		case a.IsNew:
			made++
		case errors.Is(a.Err, mail.ErrFull):
			_, _, err := r.Admit(r.Context(), *guards[i].Guard, 0) // the refused signature was not recorded
			r.must(err)
		case a.Err != nil || a.Agent.Key != guards[i].Guard.Key:
			r.Errorf("%d: %+v", i, a)
		}
	}
	if made != 2 {
		r.Errorf("got %v, want 2", made)
	}
	r.counted()
}

func refusedInOne(r *relay) {
	r.agent(alice, bob)
	_, err := r.Update(r.Context(), bob, mail.Profile{Policy: new(mail.Closed)})
	r.must(err)
	r.must(r.Suspend(r.Context(), alice, true))
	bare := r.message(carol, key(4))
	bare.Blobs, bare.Attachments = []string{"none"}, []byte("[{}]")
	wrong := r.message(carol, key(4))
	wrong.Attachments = []byte("{")
	wrong.Blobs = []string{r.ownBlob(carol)}
	answers, err := sqlmail.Round(r.Context(), r.Store, r.signed(r.message(alice, carol)), r.signed(r.message(carol, bob)), r.signed(bare),
		r.signed(wrong), r.signed(r.message(carol, key(4))))
	r.must(err)
	for i, want := range []error{mail.ErrSuspended, mail.ErrDenied, mail.ErrNoBlob} {
		r.want(answers[i].Err, want)
	}
	if answers[3].Err == nil || answers[4].Err != nil {
		r.Fatal(answers[3].Err, answers[4].Err)
	}
	r.same(r.waiting(key(4)), []string{answers[4].Taken.ID})
	if got := r.counted(); got.Messages != 1 {
		r.Fatalf("got %+v, want Messages 1", got)
	}
}

func (r *relay) ownBlob(k mail.Key) string {
	r.Helper()
	r.agent(k)
	return r.blob(k, 1)
}

func attachedTwice(r *relay) {
	id := r.ownBlob(alice)
	var requests []sqlmail.RoundRequest
	for i, k := range []mail.Key{bob, carol} {
		m := r.message(alice, k)
		m.Lifetime = time.Duration(3-i) * time.Hour
		m.Blobs, m.Attachments = []string{id, id}, []byte("[{}, {}]")
		requests = append(requests, sqlmail.RoundRequest{Send: &m})
	}
	foreign := r.message(key(4), bob)
	foreign.Blobs, foreign.Attachments = []string{id}, []byte("[{}]")
	answers := r.round(append(requests, sqlmail.RoundRequest{Send: &foreign}), nil, nil, mail.ErrNoBlob)
	b, err := r.Blob(r.Context(), id)
	r.must(err)
	if !b.ExpiresAt.Equal(answers[0].Taken.ExpiresAt) {
		r.Fatal(b.ExpiresAt, answers[0].Taken.ExpiresAt)
	}
	further := r.message(bob, key(4)) // a recipient of the message
	further.Blobs, further.Attachments = foreign.Blobs, foreign.Attachments
	r.round([]sqlmail.RoundRequest{{Send: &further}}, nil)
}

func deliveredInOne(r *relay) {
	r.agent(bob)
	first := r.send(r.message(alice, bob))
	m, more := r.message(alice, bob), r.message(alice, bob)
	m.Waiting, more.Waiting = 1, 1
	r.round([]sqlmail.RoundRequest{
		{Send: &m},
		{Send: &more},
		{Recipient: bob, Delivered: []string{first.ID, "none", first.ID}},
		{Recipient: bob, Delivered: []string{first.ID}},
		{Recipient: carol, Delivered: []string{first.ID}},
	}, nil, mail.ErrQueueFull, nil, nil, nil)
	r.same(r.waiting(bob), []string{m.ID})
	r.same(r.inState(bob, mail.Delivered), []string{first.ID})
}

func idTwice(r *relay) {
	there := r.send(r.message(alice, bob))
	var all sync.WaitGroup
	for n := range 40 {
		m := r.message(alice, key(n%3+1))
		if n == 20 {
			m.ID = there.ID
		}
		all.Go(func() {
			_, _, err := r.Send(r.Context(), m)
			if n == 20 && !errors.Is(err, store.ErrUnavailable) || n != 20 && err != nil {
				r.Errorf("%d: %v", n, err)
			}
		})
	}
	all.Wait()
	if got := r.counted(); got.Messages != 40 {
		r.Fatalf("got %+v, want Messages 40", got)
	}
}

func signedSends(r *relay) {
	m, g := r.message(alice, bob), r.guard(alice)
	taken, repeated, isNew, err := r.SendSigned(r.Context(), g, time.Minute, m)
	r.must(err)
	if repeated || !isNew || taken.ID != m.ID {
		r.Fatal(repeated, isNew, taken)
	}
	if !slices.Equal(r.arrived, []mail.Key{bob}) {
		r.Fatalf("got %v, want %+v", r.arrived, []mail.Key{bob})
	}
	r.reopen()
	m.ID = r.id("msg")
	_, _, isNew, err = r.SendSigned(r.Context(), g, time.Minute, m)
	r.want(err, mail.ErrReplayed)
	_, _, err = r.Admit(r.Context(), g, 0)
	r.want(err, mail.ErrReplayed)
	if isNew {
		r.Fatal("new")
	}
	r.same(r.waiting(bob), []string{taken.ID})
	before := r.guard(alice)
	before.Signed = r.Now().Add(-time.Second)
	r.must(r.db.MarkRestored(r.Context(), store.DefaultRestoredLimits()))
	r.reopen()
	_, _, _, err = r.SendSigned(r.Context(), before, time.Minute, m)
	r.want(err, mail.ErrReplayed)
	r.must(r.db.Close())
	_, _, _, err = r.SendSigned(r.Context(), r.guard(alice), time.Minute, m)
	r.want(err, store.ErrUnavailable)
}

func refusedSends(r *relay) {
	r.agent(bob)
	_, err := r.Update(r.Context(), bob, mail.Profile{Policy: new(mail.Closed)})
	r.must(err)
	g := r.guard(alice)
	_, _, isNew, err := r.SendSigned(r.Context(), g, time.Minute, r.message(alice, bob))
	r.want(err, mail.ErrDenied)
	if !isNew {
		r.Fatal("the agent is not new")
	}
	_, _, isNew, err = r.SendSigned(r.Context(), g, time.Minute, r.message(alice, carol))
	r.want(err, mail.ErrReplayed)
	if isNew {
		r.Fatal("the agent is new again")
	}
	if len(r.arrived) != 0 || r.counted().Messages != 0 {
		r.Fatal(r.arrived)
	}
}

func anyNumber(r *relay) {
	blob := r.ownBlob(key(200))
	for _, n := range []int{2, 3, 5, 17, 33, 70} {
		requests, want := make([]sqlmail.RoundRequest, n), make([]error, n)
		var delivered []string
		for i := range requests {
			m := r.message(key(200), key(100+i))
			if i%2 == 0 {
				m.IdempotencyKey = m.ID
			}
			if i%3 == 0 {
				m.Blobs, m.Attachments = []string{blob}, []byte("[{}]")
			}
			requests[i] = r.signed(m)
			requests[i].Guard.Key = key(i + 1)
			delivered = append(delivered, m.ID)
		}
		r.round(requests, want...)
		requests, want = make([]sqlmail.RoundRequest, n+1), make([]error, n+1)
		for i := range n {
			requests[i] = sqlmail.RoundRequest{Recipient: key(100 + i), Delivered: []string{delivered[i]}}
		}
		requests[n] = sqlmail.RoundRequest{Recipient: key(100), Delivered: delivered}
		r.round(requests, want...)
		if got := r.counted(); got.Waiting != 0 {
			r.Fatal(n, got)
		}
	}
}
