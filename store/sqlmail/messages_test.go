package sqlmail_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"a message outlives a restart":                   messageRoundTrip,
		"delivered once, by its recipient":               delivery,
		"what is not delivered in time expires":          expiry,
		"the policy of the inbox":                        policies,
		"a queue is bounded":                             queueBounded,
		"the relay is bounded":                           relayBounded,
		"an idempotency key":                             idempotency,
		"at once, under one key":                         idempotencyAtOnce,
		"a page begins where the last ended":             pages,
		"a page ends where it is large":                  largePages,
		"filters":                                        filters,
		"threads":                                        threads,
		"lists for the operator":                         listed,
		"whoever waits is told":                          told,
		"senders at once fill a queue to its bound":      sendersAtOnce,
		"polls while messages are sent lose nothing":     pollsMeanwhile,
		"two processes share a database":                 twoProcesses,
		"a message needs an id and a lifetime":           senseless,
		"ids of no message":                              strangeIDs,
		"upkeep keeps what is needed and deletes it all": sweeping,
	})
}

func messageRoundTrip(r *relay) {
	r.agent(alice)
	full := r.message(alice, bob)
	full.ThreadID, full.InReplyTo, full.ContentType = "thr\x00ead\xff", "no id", "te\x00xt"
	full.Metadata, full.Signed = []byte(`{"a": "\u0000"}`), []byte{0, 255}
	for _, m := range []mail.Sending{full, r.message(alice, bob)} {
		m.Waiting = 2
		taken := r.send(m)
		if !taken.ExpiresAt.Equal(taken.CreatedAt.Add(time.Hour)) || taken.Status != mail.Sent || taken.CreatedAt.IsZero() {
			r.Fatalf("%+v", taken)
		}
		want := m.Message
		want.Status, want.CreatedAt, want.ExpiresAt = taken.Status, taken.CreatedAt, taken.ExpiresAt
		r.reopen()
		got, err := r.Message(r.Context(), m.ID)
		r.must(err)
		for _, got := range []mail.Message{taken, got} {
			if d := cmp.Diff(want, got); d != "" {
				r.Fatal(d)
			}
		}
	}
	r.counted()
}

func delivery(r *relay) {
	r.agent(alice, bob)
	first, second := r.send(r.message(alice, bob)), r.send(r.message(alice, bob))
	r.must(r.Delivered(r.Context(), alice, []string{first.ID})) // it is not hers
	r.same(r.waiting(bob), []string{first.ID, second.ID})
	r.must(r.Delivered(r.Context(), bob, []string{first.ID, "unknown", "\x00", "", first.ID}))
	r.same(r.waiting(bob), []string{second.ID})
	r.same(r.inState(bob, mail.Delivered), []string{first.ID})
	got, err := r.Message(r.Context(), first.ID)
	r.must(err)
	if got.Status != mail.Delivered || got.DeliveredAt.IsZero() {
		r.Fatalf("%+v", got)
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
		r.Fatalf("%+v", again)
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
			r.Fatalf("%+v", got)
		}
	}
	check()
	_, _, err := r.Sweep(r.Context(), 10)
	r.must(err)
	check()
	if got := r.counted(); got.Waiting != 1 || got.Messages != 2 {
		r.Fatalf("%+v", got)
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
	_, _, err = r.Send(r.Context(), r.message(carol, alice)) // blocked by another
	r.must(err)
	r.counted()
}

func queueBounded(r *relay) {
	r.agent(bob)
	for name, to := range map[string]mail.Key{"an agent": bob, "a stranger": carol} {
		m := r.message(alice, to)
		m.Waiting, m.Stranger = 3, 2
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
		r.age(2 * time.Hour) // what has expired waits no longer, also before upkeep
		m.ID = r.id("msg")
		r.send(m)
		if got := r.waiting(to); len(got) != 1 {
			r.Fatal(name, got)
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
	r.must(r.Delivered(r.Context(), bob, []string{first.ID})) // it is kept until it expires
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
		r.Fatal(d)
	}
	_, err := r.Update(r.Context(), bob, mail.Profile{Policy: new(mail.Closed)})
	r.must(err)
	r.reopen()
	repeat() // it was taken
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
		r.Fatal(got)
	}
	r.counted()
}

func idempotencyAtOnce(r *relay) {
	other := sqlmail.New(open(r.T, r.place), sqlmail.Options{MaxAgents: manyAgents})
	var first atomic.Int64
	var all sync.WaitGroup
	for n := range 16 {
		s, m := r.Store, r.message(alice, bob)
		m.IdempotencyKey = "k"
		if n%2 == 1 {
			s = other
		}
		if n%3 == 0 {
			m.Recipient = carol // what counts is the digest
		}
		all.Go(func() {
			_, repeated, err := s.Send(r.Context(), m)
			if err != nil {
				r.Error(err)
			}
			if !repeated {
				first.Add(1)
			}
		})
	}
	all.Wait()
	if got := r.counted(); first.Load() != 1 || got.Messages != 1 {
		r.Fatal(first.Load(), got)
	}
}

// pagesOf reads all pages.
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
	// Rows that leave the state while pages are read do not move the place.
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
	// Some have expired, and upkeep has seen only some of them.
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
		"nothing of the sort":  {mail.Query{ThreadID: "t", InReplyTo: "X"}, nil},
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
		r.Fatalf("%+v", list[0])
	}
}

func told(r *relay) {
	since := r.Now()
	r.send(r.message(alice, bob))
	gone := r.send(r.message(alice, carol))
	r.must(r.Delivered(r.Context(), carol, []string{gone.ID}))
	if want := []mail.Key{bob, carol}; !slices.Equal(r.arrived, want) {
		r.Fatal(r.arrived)
	}
	woken := func(want ...mail.Key) {
		r.Helper()
		keys, next, err := r.Woken(r.Context(), since)
		r.must(err)
		if !slices.Equal(keys, want) {
			r.Fatalf("%x; want %x", keys, want)
		}
		since = next
	}
	woken(bob)
	woken()
	r.send(r.message(alice, bob))
	r.send(r.message(alice, carol))
	r.send(r.message(alice, bob))
	woken(bob, carol)
	woken()
	r.age(time.Minute)
	keys, _, err := r.Woken(r.Context(), r.Now())
	r.must(err)
	if len(keys) != 0 {
		r.Fatal(keys)
	}
}

func sendersAtOnce(r *relay) {
	r.agent(bob)
	const most = 20
	var taken, full atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		m := r.message(alice, bob)
		m.Waiting = most
		all.Go(func() {
			switch _, _, err := r.Send(r.Context(), m); {
			case err == nil:
				taken.Add(1)
			case errors.Is(err, mail.ErrQueueFull):
				full.Add(1)
			default:
				r.Error(err)
			}
		})
	}
	all.Wait()
	if taken.Load() != most || full.Load() != 64-most || len(r.waiting(bob)) != most {
		r.Fatal(taken.Load(), full.Load())
	}
	r.counted()
}

// reader reads on from page to page while others send, and returns how often it saw each message.
func (r *relay) reader(s *sqlmail.Store, done <-chan struct{}) map[string]int {
	seen := map[string]int{}
	var after *mail.Place
	for last := false; ; {
		list, more, err := s.Messages(r.Context(), mail.Query{Recipient: bob, Status: mail.Sent, After: after, Limit: 3})
		if err != nil {
			r.Error(err)
			return seen
		}
		for _, m := range list {
			seen[m.ID]++
			after = &mail.Place{CreatedAt: m.CreatedAt, ID: m.ID}
		}
		if err := s.Delivered(r.Context(), bob, ids(list)); err != nil {
			r.Error(err)
			return seen
		}
		if more {
			continue
		}
		if last {
			return seen
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
}

func (r *relay) meanwhile(senders, readers []*sqlmail.Store) {
	done := make(chan struct{})
	var sending, reading sync.WaitGroup
	var mu sync.Mutex
	sent := map[string]bool{}
	for _, s := range senders {
		sending.Go(func() {
			for range 40 {
				m := r.message(alice, bob)
				m.Waiting, m.Stranger = 1000, 1000
				if _, _, err := s.Send(r.Context(), m); err != nil {
					r.Error(err)
					return
				}
				mu.Lock()
				sent[m.ID] = true
				mu.Unlock()
			}
		})
	}
	for _, s := range readers {
		reading.Go(func() {
			seen := r.reader(s, done)
			for id, n := range seen {
				if n != 1 {
					r.Errorf("%s was read %d times", id, n)
				}
			}
			if len(readers) == 1 && len(seen) != len(sent) {
				r.Errorf("%d were read of %d", len(seen), len(sent))
			}
		})
	}
	sending.Wait()
	close(done)
	reading.Wait()
	r.same(r.waiting(bob), nil)
	if got := r.counted(); got.Messages != int64(len(sent)) {
		r.Fatalf("%+v", got)
	}
}

func pollsMeanwhile(r *relay) {
	r.meanwhile([]*sqlmail.Store{r.Store, r.Store, r.Store, r.Store}, []*sqlmail.Store{r.Store})
}

func twoProcesses(r *relay) {
	other := sqlmail.New(open(r.T, r.place), sqlmail.Options{MaxAgents: manyAgents})
	r.meanwhile([]*sqlmail.Store{r.Store, r.Store, other, other}, []*sqlmail.Store{other})
}

func senseless(r *relay) {
	for _, change := range []func(*mail.Sending){
		func(m *mail.Sending) { m.ID = "" }, func(m *mail.Sending) { m.ID = "\x00" }, func(m *mail.Sending) { m.Lifetime = 0 },
		func(m *mail.Sending) { m.Blobs = []string{"b"} },
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

func sweeping(r *relay) {
	r.agent(alice, bob)
	delivered, lost := r.send(r.message(alice, bob)), r.send(r.message(alice, bob))
	r.must(r.Delivered(r.Context(), bob, []string{delivered.ID}))
	blob := r.blob(alice, 10)
	long := r.message(alice, bob)
	long.Lifetime = 50 * time.Hour
	long.IdempotencyKey = "k"
	r.send(long)
	sweep := func() (blobs []string) {
		r.Helper()
		for {
			some, more, err := r.Sweep(r.Context(), 1)
			r.must(err)
			if blobs = append(blobs, some...); !more {
				r.counted()
				return blobs
			}
		}
	}
	r.same(sweep(), nil)
	for _, step := range []struct {
		after time.Duration
		blobs []string
		want  mail.Totals
	}{
		{20 * time.Minute, []string{blob}, mail.Totals{Agents: 2, Waiting: 2, Messages: 3}},
		{2 * time.Hour, nil, mail.Totals{Agents: 2, Waiting: 1, Messages: 2}},
		{22 * time.Hour, nil, mail.Totals{Agents: 2, Waiting: 1, Messages: 2}},
		{3 * time.Hour, nil, mail.Totals{Agents: 2, Waiting: 1, Messages: 1}},
		{30 * time.Hour, nil, mail.Totals{Agents: 2, Messages: 1}},
		{30 * time.Hour, nil, mail.Totals{Agents: 2}},
	} {
		r.age(step.after)
		r.same(sweep(), step.blobs)
		got := r.counted()
		if got.Bytes = 0; got != step.want {
			r.Fatalf("after %v more: %+v; want %+v", step.after, got, step.want)
		}
	}
	_, err := r.Message(r.Context(), lost.ID)
	r.want(err, mail.ErrNotFound)
	for _, table := range []string{"relay_signatures", "relay_keys", "relay_boxes", "relay_messages", "relay_attachments", "relay_blobs"} {
		var n int
		r.must(r.db.Rows(r.Context(), "SELECT COUNT(*) FROM "+table, nil, func(scan func(...any) error) error { return scan(&n) }))
		if n != 0 {
			r.Errorf("%d rows of %s are left", n, table)
		}
	}
}
