package sqlmail_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
)

// Random operations of a few agents through two processes return only expected errors, and redundant data stays consistent.
func TestConcurrentMix(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){"": func(r *relay) {
		stores := []*sqlmail.Store{r.Store, sqlmail.New(open(r.T, r.place), sqlmail.Options{MaxAgents: manyAgents, Idle: time.Nanosecond})}
		var all sync.WaitGroup
		for n := range 8 {
			m := &randomClient{relay: r, s: stores[n%2], rand: rand.New(rand.NewPCG(1, uint64(n)))}
			all.Go(func() {
				for range 100 {
					m.step(r.Context())
				}
			})
		}
		all.Wait()
		r.counted()
		r.age(100 * time.Hour)
		for more := true; more; {
			var err error
			_, more, err = r.Sweep(r.Context(), 7)
			r.must(err)
		}
		if got := r.counted(); got.Messages != 0 || got.Blobs != 0 {
			r.Errorf("%+v is left", got)
		}
	}})
}

// A randomClient executes random operations.
type randomClient struct {
	*relay
	s        *sqlmail.Store
	rand     *rand.Rand
	blobs    []string
	postings []mail.WebhookPost
}

func (m *randomClient) key() mail.Key { return key(m.rand.IntN(4) + 1) }

func (m *randomClient) chance() bool { return m.rand.IntN(2) == 0 }

// expected are errors that concurrent operations may cause: an agent was deleted, a list is full, or a record is missing.
var expected = []error{
	mail.ErrNotFound, mail.ErrDenied, mail.ErrForbidden, mail.ErrQueueFull, mail.ErrOverQuota, mail.ErrReferenced, mail.ErrNoBlob,
	mail.ErrSuspended,
}

func (m *randomClient) step(ctx context.Context) {
	n := m.rand.IntN(len(steps))
	err := steps[n](m, ctx)
	for _, known := range expected {
		if errors.Is(err, known) {
			return
		}
	}
	if err != nil {
		m.Errorf("step %d: %v", n, err)
	}
}

var steps = []func(m *randomClient, ctx context.Context) error{
	func(m *randomClient, ctx context.Context) error {
		_, _, err := m.s.Admit(ctx, m.guard(m.key()), 0)
		return err
	},
	func(m *randomClient, ctx context.Context) error {
		tags := []string{"c"}
		for _, tag := range []string{"a", "b"} {
			if m.chance() {
				tags = append(tags, tag)
			}
		}
		p := mail.Profile{Visibility: new(mail.Public), Policy: new(mail.Blocklist), Capabilities: []byte("[]"), Tags: tags}
		if m.chance() {
			p.Visibility = new(mail.Private)
		}
		_, err := m.s.Update(ctx, m.key(), p)
		return err
	},
	func(m *randomClient, ctx context.Context) error { return m.s.Suspend(ctx, m.key(), m.chance()) },
	func(m *randomClient, ctx context.Context) error {
		if m.rand.IntN(4) > 0 {
			return nil
		}
		_, err := m.s.Delete(ctx, m.key())
		return err
	},
	send, send, send,
	func(m *randomClient, ctx context.Context) error {
		list, _, err := m.s.Messages(ctx, mail.Query{Recipient: m.key(), Status: mail.Sent, Limit: 5})
		if err != nil || len(list) == 0 {
			return err
		}
		return m.s.Delivered(ctx, list[0].Recipient, ids(list))
	},
	func(m *randomClient, ctx context.Context) error {
		_, err := m.s.SetEntry(ctx, m.key(), m.key(), []string{mail.Allow, mail.Block}[m.rand.IntN(2)])
		return err
	},
	func(m *randomClient, ctx context.Context) error { return m.s.DeleteEntry(ctx, m.key(), m.key()) },
	func(m *randomClient, ctx context.Context) error {
		b := m.blobOf(m.id("blob"), m.key(), int64(m.rand.IntN(20)))
		_, err := m.s.AddBlob(ctx, b, mail.BlobBounds{Count: 5, Bytes: 60, All: 1000})
		if err == nil {
			m.blobs = append(m.blobs, b.ID)
		}
		return err
	},
	func(m *randomClient, ctx context.Context) error {
		if len(m.blobs) == 0 {
			return nil
		}
		return m.s.DeleteBlob(ctx, m.blobs[m.rand.IntN(len(m.blobs))], m.key())
	},
	func(m *randomClient, ctx context.Context) error {
		_, err := m.s.SetWebhook(ctx, mail.Webhook{Owner: m.key(), URL: "https://a.example"})
		return err
	},
	func(m *randomClient, ctx context.Context) error {
		if m.chance() {
			return nil
		}
		return m.s.DeleteWebhook(ctx, m.key())
	},
	func(m *randomClient, ctx context.Context) error {
		list, err := m.s.Postings(ctx, mail.Claim{Now: m.s.Now(), Lease: time.Minute, Limit: 3, Each: 3})
		m.postings = append(m.postings, list...)
		return err
	},
	func(m *randomClient, ctx context.Context) error {
		if len(m.postings) == 0 {
			return nil
		}
		p := m.postings[0]
		m.postings = m.postings[1:]
		return m.s.Posted(ctx, p, m.s.Now(), m.chance(), 2)
	},
	func(m *randomClient, ctx context.Context) error {
		_, _, err := m.s.Sweep(ctx, 3)
		return err
	},
}

func send(m *randomClient, ctx context.Context) error {
	s := m.message(m.key(), m.key())
	s.Waiting, s.Unknown = 10, 5
	s.Lifetime = []time.Duration{time.Millisecond, time.Hour}[m.rand.IntN(2)]
	if m.chance() {
		s.IdempotencyKey = fmt.Sprint(m.rand.IntN(20))
	}
	if len(m.blobs) > 0 && m.chance() {
		s.Blobs, s.Attachments = m.blobs[len(m.blobs)-1:], []byte("[{}]")
	}
	_, _, err := m.s.Send(ctx, s)
	return err
}
