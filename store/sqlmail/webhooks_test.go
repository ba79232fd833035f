package sqlmail_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"a webhook outlives a restart":              webhookRoundTrip,
		"new messages are posted":                   posted,
		"failed posts are retried":                  triedAgain,
		"failures disable a webhook":                disabled,
		"an expired claim is due again":             lease,
		"owners take turns":                         eachInTurn,
		"two processes share the posts":             postedOnce,
		"obsolete posts are dropped":                postedNoMore,
		"a new webhook posts all messages":          postedLater,
		"old attempts are ignored":                  oldAttempt,
		"a message that is posted while it is read": postedAndRead,
		"size of a claim is limited":                claimsBounded,
	})
}

const lap = time.Minute

// afterSent is how long after sending a message its posting is claimed. On PostgreSQL a store estimates the clock of the database, and a
// more exact reading can set the estimate back a little: at r.Now() a message just sent may not be due yet.
const afterSent = time.Second

func (r *relay) hook(owner mail.Key) mail.Webhook {
	r.Helper()
	h, err := r.SetWebhook(r.Context(), mail.Webhook{Owner: owner, URL: "https://b.example/\x00", Secret: key(9)})
	r.must(err)
	return h
}

// due claims the postings that are due, and checks their number.
func (r *relay) due(want int) []mail.WebhookPost {
	r.Helper()
	list, err := r.Postings(r.Context(), mail.Claim{Now: r.Now().Add(afterSent), Lease: lap, Limit: 100, Each: 100})
	r.must(err)
	if len(list) != want {
		r.Fatalf("%d are due: %+v; want %d", len(list), list, want)
	}
	return list
}

func webhookRoundTrip(r *relay) {
	_, err := r.SetWebhook(r.Context(), mail.Webhook{Owner: bob})
	r.want(err, mail.ErrNotFound)
	_, err = r.Webhook(r.Context(), bob)
	r.want(err, mail.ErrNotFound)
	r.want(r.DeleteWebhook(r.Context(), bob), mail.ErrNotFound)
	r.agent(bob)
	r.hook(bob)
	want := r.hook(bob)
	r.reopen()
	got, err := r.Webhook(r.Context(), bob)
	r.must(err)
	if d := cmp.Diff(want, got); d != "" || !got.Enabled || got.CreatedAt.IsZero() {
		r.Fatal(d, got)
	}
	r.counted()
	r.must(r.DeleteWebhook(r.Context(), bob))
	_, err = r.Webhook(r.Context(), bob)
	r.want(err, mail.ErrNotFound)
	r.counted()
}

func posted(r *relay) {
	r.agent(bob)
	h := r.hook(bob)
	m := r.send(r.message(alice, bob))
	r.send(r.message(alice, carol))
	r.reopen()
	p := r.due(1)[0]
	want := mail.WebhookPost{Message: m, Webhook: h, DeliveryID: p.DeliveryID, Attempt: 1}
	if d := cmp.Diff(want, p); d != "" || len(p.DeliveryID) != 16 {
		r.Fatalf("got %q, %v; want an empty string, length 16", d, p.DeliveryID)
	}
	r.due(0)
	r.must(r.Posted(r.Context(), p, time.Time{}, true, 20))
	r.same(r.inState(bob, mail.Delivered), []string{m.ID})
	r.age(24 * time.Hour)
	r.due(0)
	r.counted()
}

func triedAgain(r *relay) {
	r.agent(bob)
	r.hook(bob)
	r.send(r.message(alice, bob))
	first := r.due(1)[0]
	r.must(r.Posted(r.Context(), first, r.Now().Add(5*time.Second), false, 20))
	r.due(0)
	r.age(6 * time.Second)
	second := r.due(1)[0]
	if second.Attempt != 2 || second.DeliveryID != first.DeliveryID || second.Webhook.Failures != 1 {
		r.Fatalf("got %+v; want Attempt 2, DeliveryID %v and Webhook.Failures 1", second, first.DeliveryID)
	}
	r.must(r.Posted(r.Context(), second, time.Time{}, true, 20))
	h, err := r.Webhook(r.Context(), bob)
	r.must(err)
	if h.Failures != 0 {
		r.Fatalf("got %+v, want Failures 0", h)
	}
	r.counted()
}

func disabled(r *relay) {
	r.agent(bob)
	r.hook(bob)
	first, second := r.send(r.message(alice, bob)), r.send(r.message(alice, bob))
	for _, p := range r.due(2) {
		r.must(r.Posted(r.Context(), p, r.Now(), false, 2))
	}
	h, err := r.Webhook(r.Context(), bob)
	r.must(err)
	if h.Enabled || h.Failures != 2 {
		r.Fatalf("got %+v", h)
	}
	third := r.send(r.message(alice, bob))
	r.age(time.Minute)
	r.due(0)
	r.same(r.waiting(bob), []string{first.ID, second.ID, third.ID})
	r.reopen()
	r.hook(bob)
	for i, p := range r.due(3) {
		if p.Attempt != 1 || p.ID != []string{first.ID, second.ID, third.ID}[i] {
			r.Errorf("got %+v; want Attempt 1 and ID %v", p, []string{first.ID, second.ID, third.ID}[i])
		}
	}
	r.counted()
}

func lease(r *relay) {
	r.agent(bob)
	r.hook(bob)
	r.send(r.message(alice, bob))
	first := r.due(1)[0]
	r.reopen()
	r.due(0)
	r.age(lap + time.Second)
	second := r.due(1)[0]
	if second.Attempt != 2 || second.DeliveryID != first.DeliveryID {
		r.Fatalf("got %+v; want Attempt 2 and DeliveryID %v", second, first.DeliveryID)
	}
}

func postedOnce(r *relay) {
	other := sqlmail.New(open(r.T, r.place), sqlmail.Options{MaxAgents: manyAgents})
	r.agent(bob, carol)
	r.hook(bob)
	r.hook(carol)
	const messages = 40
	for n := range messages {
		r.send(r.message(alice, []mail.Key{bob, carol}[n%2]))
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for n := range 4 {
		s := []*sqlmail.Store{r.Store, other}[n%2]
		all.Go(func() {
			for {
				list, err := s.Postings(r.Context(), mail.Claim{Now: s.Now(), Lease: time.Hour, Limit: 3, Each: 3})
				if err != nil {
					r.Error(err)
				}
				mu.Lock()
				for _, p := range list {
					seen[p.ID]++
				}
				done := len(seen) == messages
				mu.Unlock()
				for i, p := range list {
					if err := s.Posted(r.Context(), p, s.Now().Add(time.Hour), i%2 == 0, 1000); err != nil {
						r.Error(err)
					}
				}
				if done || r.Failed() {
					return
				}
			}
		})
	}
	all.Wait()
	for id, n := range seen {
		if n != 1 {
			r.Errorf("%s was posted %d times", id, n)
		}
	}
	r.counted()
}

func postedNoMore(r *relay) {
	r.agent(bob)
	r.hook(bob)
	r.must(r.Delivered(r.Context(), bob, []string{r.send(r.message(alice, bob)).ID}))
	r.due(0)
	r.send(r.message(alice, bob))
	r.age(2 * time.Hour)
	r.due(0)
	r.send(r.message(alice, bob))
	r.must(r.DeleteWebhook(r.Context(), bob))
	r.due(0)
	r.counted()
}

func postedLater(r *relay) {
	r.agent(bob)
	m := r.send(r.message(alice, bob))
	r.due(0)
	r.hook(bob)
	if p := r.due(1)[0]; p.ID != m.ID {
		r.Fatalf("got %+v, want ID %v", p, m.ID)
	}
}

func oldAttempt(r *relay) {
	r.agent(bob)
	r.hook(bob)
	r.send(r.message(alice, bob))
	first := r.due(1)[0]
	r.age(lap + time.Second)
	r.due(1)
	r.must(r.Posted(r.Context(), first, r.Now(), false, 20)) // another attempt is in progress
	r.due(0)
	r.hook(bob)
	r.must(r.Posted(r.Context(), first, r.Now(), false, 1)) // for the previous webhook
	h, err := r.Webhook(r.Context(), bob)
	r.must(err)
	if !h.Enabled || h.Failures != 0 {
		r.Fatalf("got %+v", h)
	}
	r.due(1)
	_, err = r.Delete(r.Context(), bob)
	r.must(err)
	r.must(r.Posted(r.Context(), first, r.Now(), true, 1))
	r.counted()
}

func postedAndRead(r *relay) {
	r.agent(bob)
	r.hook(bob)
	m := r.send(r.message(alice, bob))
	p := r.due(1)[0]
	r.must(r.Delivered(r.Context(), bob, []string{m.ID}))
	read, err := r.Message(r.Context(), m.ID)
	r.must(err)
	r.must(r.Posted(r.Context(), p, time.Time{}, true, 20))
	again, err := r.Message(r.Context(), m.ID)
	r.must(err)
	if d := cmp.Diff(read, again); d != "" {
		r.Fatalf("differs (-want +got):\n%s", d)
	}
	r.counted()
}

func claimsBounded(r *relay) {
	r.agent(bob)
	r.hook(bob)
	for range 4 {
		m := r.message(alice, bob)
		m.Body = make([]byte, 3<<20)
		r.send(m)
	}
	r.due(3)
	r.due(1)
	r.due(0)
}

func eachInTurn(r *relay) {
	r.agent(alice, bob, carol)
	r.hook(bob)
	r.hook(carol)
	for range 20 {
		r.send(r.message(alice, bob))
	}
	for range 2 {
		r.send(r.message(bob, carol))
	}
	for _, c := range []struct {
		claim mail.Claim
		want  map[mail.Key]int
	}{
		{mail.Claim{Limit: 3, Each: 4, Busy: map[mail.Key]int{bob: 4, carol: 4}}, map[mail.Key]int{}},
		{mail.Claim{Limit: 1, Each: 4, Busy: map[mail.Key]int{bob: 1}}, map[mail.Key]int{carol: 1}},
		{mail.Claim{Limit: 2, Each: 4}, map[mail.Key]int{bob: 1, carol: 1}},
		{mail.Claim{Limit: 9, Each: 4, Busy: map[mail.Key]int{bob: 1}}, map[mail.Key]int{bob: 3}},
		{mail.Claim{Limit: 5, Each: 100}, map[mail.Key]int{bob: 5}},
	} {
		c.claim.Now, c.claim.Lease = r.Now().Add(afterSent), lap
		list, err := r.Postings(r.Context(), c.claim)
		r.must(err)
		got := map[mail.Key]int{}
		for _, p := range list {
			got[p.Recipient]++
		}
		if d := cmp.Diff(c.want, got); d != "" {
			r.Errorf("%+v: %s", c.claim, d)
		}
	}
}
