package sqlmail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"time"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// notDue is the due time of a message whose webhook is disabled. The message becomes due when the webhook is set again.
const notDue = math.MaxInt64

// SetWebhook sets the URL to which the messages of an agent are posted, and returns the webhook, which is enabled and has no failures. All
// waiting messages are due immediately. The error is mail.ErrNotFound if the agent does not exist.
func (s *Store) SetWebhook(ctx context.Context, h mail.Webhook) (mail.Webhook, error) {
	err := s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		if !x.Find(ctx, lockAgentRow, []any{h.Owner[:]}) {
			return mail.ErrNotFound
		}
		ensureBox(ctx, x, h.Owner) // so that a first message that is being sent now is also posted
		x.Run(ctx, "UPDATE relay_agents SET blank = 0 WHERE agent = ?", h.Owner[:])
		now := nanos(x.Now())
		h.Enabled, h.Failures, h.CreatedAt = true, 0, fromNanos(now)
		found := x.Find(ctx, "SELECT 1 FROM relay_webhooks WHERE owner = ? FOR UPDATE", []any{h.Owner[:]})
		x.Run(ctx, `INSERT INTO relay_webhooks (owner, url, secret, enabled, failures, created_at) VALUES (?, ?, ?, 1, 0, ?)
			ON CONFLICT (owner) DO UPDATE SET url = excluded.url, secret = excluded.secret, enabled = 1, failures = 0,
			created_at = excluded.created_at`, h.Owner[:], []byte(h.URL), h.Secret[:], now)
		x.Run(ctx, `INSERT INTO relay_postings (message, owner, attempts, due_at)
			SELECT id, recipient, 0, CAST(? AS BIGINT) FROM relay_messages WHERE recipient = ? AND state = 'sent' AND expires_at > ?
			ON CONFLICT (message) DO UPDATE SET attempts = 0, due_at = excluded.due_at`, now, h.Owner[:], now)
		sums := tally{}
		if !found {
			sums.of(h.Owner).webhooks++
		}
		sums.write(ctx, x)
		return nil
	})
	if err != nil {
		return mail.Webhook{}, err
	}
	return h, nil
}

const webhookColumns = "w.owner, w.url, w.secret, w.enabled, w.failures, w.created_at"

const selectWebhook = "SELECT " + webhookColumns + " FROM relay_webhooks w WHERE w.owner = ?"

func scanWebhook(scan scan) (h mail.Webhook, err error) {
	err = scan(keyTo(&h.Owner), textTo(&h.URL), keyTo(&h.Secret), &h.Enabled, &h.Failures, timeTo(&h.CreatedAt))
	return h, err
}

// Webhook returns the webhook of an agent, or mail.ErrNotFound.
func (s *Store) Webhook(ctx context.Context, owner mail.Key) (mail.Webhook, error) {
	return engine.First(ctx, s.db, mail.ErrNotFound, selectWebhook, []any{owner[:]}, scanWebhook)
}

// DeleteWebhook removes the webhook of an agent. Messages keep waiting for the agent. The error is mail.ErrNotFound if there is no
// webhook.
func (s *Store) DeleteWebhook(ctx context.Context, owner mail.Key) error {
	return s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		lockBox(ctx, x, owner)
		if dropWebhook(ctx, x, owner) == 0 {
			return mail.ErrNotFound
		}
		sums := tally{}
		sums.of(owner).webhooks--
		sums.write(ctx, x)
		return nil
	})
}

func dropWebhook(ctx context.Context, x tx, owner mail.Key) int64 {
	n := x.Run(ctx, "DELETE FROM relay_webhooks WHERE owner = ?", owner[:])
	x.Run(ctx, "DELETE FROM relay_postings WHERE owner = ?", owner[:])
	return n
}

// Postings claims messages that are due to be posted. It takes turns among the owners, and for one owner claims the messages that have
// waited longest. During the lease, other callers and processes do not post these messages. If Posted is not called within the lease, for
// example because the process has ended, the messages are due again. Postings may return fewer messages than the limit although more are
// due: a page ends at 8 MiB, and messages that are no longer due are omitted.
func (s *Store) Postings(ctx context.Context, c mail.Claim) (list []mail.WebhookPost, err error) {
	due, err := s.due(ctx, c)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	err = s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		list = nil
		var bytes int64
		for _, id := range due {
			if bytes >= pageBytes {
				break
			}
			if p, claimed := claim(ctx, x, id, c); claimed {
				list, bytes = append(list, p), bytes+size(&p.Message)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// claim claims one message, unless another process was faster or the message must not be posted.
func claim(ctx context.Context, x tx, id string, c mail.Claim) (p mail.WebhookPost, claimed bool) {
	var attempts int64
	if !x.Find(ctx, "SELECT attempts FROM relay_postings WHERE message = ? AND due_at <= ? FOR UPDATE SKIP LOCKED",
		[]any{id, nanos(c.Now)}, &attempts) {
		return p, false
	}
	p, open := postingOf(ctx, x, id)
	if !open {
		forgetPostings(ctx, x, []string{id})
		return p, false
	}
	next := int64(notDue)
	if c.Hold != nil && p.Webhook.Enabled {
		if until := c.Hold(p.Webhook); until.After(c.Now) {
			x.Run(ctx, "UPDATE relay_postings SET due_at = ? WHERE message = ?", nanos(until), id)
			return p, false
		}
	}
	if p.Webhook.Enabled {
		next, attempts = nanos(c.Now.Add(c.Lease)), attempts+1
	}
	p.DeliveryID, p.Attempt = deliveryID(id), int(attempts)
	x.Run(ctx, "UPDATE relay_postings SET attempts = ?, due_at = ? WHERE message = ?", attempts, next, id)
	return p, p.Webhook.Enabled
}

// postingOf reads a waiting message, and the webhook of its recipient; open is false if the message no longer waits, or if there is no
// webhook.
func postingOf(ctx context.Context, x tx, id string) (p mail.WebhookPost, open bool) {
	if p.Message, open = engine.Record(ctx, x, scanWhole(x.Now()), selectMessage, id); !open || p.Status != mail.Sent {
		return p, false
	}
	p.Webhook, open = engine.Record(ctx, x, scanWebhook, selectWebhook, p.Recipient[:])
	return p, open
}

// deliveryID returns the id that is the same for all attempts to post a message.
func deliveryID(message string) string {
	sum := sha256.Sum256([]byte("delivery of " + message))
	return "dlv_" + hex.EncodeToString(sum[:6])
}

// Posted records the outcome of an attempt. If ok is set, it marks the message as delivered and clears the failures of the webhook.
// Otherwise next is the time of the next attempt. After disableAt consecutive failures, the webhook is disabled until it is set again.
// Posted ignores a failure if the webhook was set again since the attempt began, and does not change the time of the next attempt if a
// later one has begun.
func (s *Store) Posted(ctx context.Context, p mail.WebhookPost, next time.Time, ok bool, disableAt int) error {
	owner := p.Recipient
	return s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		lockBox(ctx, x, owner) // always needed: only a holder of the box may change postings
		var enabled, failures, created int64
		found := x.Find(ctx, "SELECT enabled, failures, created_at FROM relay_webhooks WHERE owner = ? FOR UPDATE", []any{owner[:]},
			&enabled, &failures, &created)
		same := found && created == nanos(p.Webhook.CreatedAt)
		if ok {
			if same && failures > 0 {
				x.Run(ctx, "UPDATE relay_webhooks SET failures = 0 WHERE owner = ?", owner[:])
			}
			deliver(ctx, x, owner, p.ID)
			return nil
		}
		if !same {
			return nil
		}
		failures++
		if enabled != 0 && failures >= int64(disableAt) {
			enabled = 0
			x.Run(ctx, "UPDATE relay_postings SET due_at = ? WHERE owner = ?", int64(notDue), owner[:])
		}
		x.Run(ctx, "UPDATE relay_webhooks SET enabled = ?, failures = ? WHERE owner = ?", enabled, failures, owner[:])
		if enabled != 0 {
			x.Run(ctx, "UPDATE relay_postings SET due_at = ? WHERE message = ? AND attempts = ?", nanos(next), p.ID, p.Attempt)
		}
		return nil
	})
}
