package sqlmail

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// An inbox contains the data about a recipient that is needed to check a message.
type inbox struct {
	policy  *string // nil if the recipient is not an agent
	entry   *string // type of the entry for the sender in the access list; nil if there is none
	webhook *int64  // 1 if it is enabled; nil if there is none
}

// held returns the commands that read the inboxes of messages.
func held(sends []*dispatch) (list []command) {
	const one = `SELECT CAST(? AS BIGINT), (SELECT policy FROM relay_agents WHERE agent = ?),
		(SELECT entry_type FROM relay_acl WHERE owner = ? AND peer = ?), (SELECT enabled FROM relay_webhooks WHERE owner = ?)`
	for len(sends) > 0 {
		n := min(lengthFor(len(sends)), 16)
		some := sends[:min(n, len(sends))]
		sends = sends[len(some):]
		var args []any
		for i := range n {
			m := some[min(i, len(some)-1)].m
			args = append(args, min(i, len(some)-1), m.Recipient[:], m.Recipient[:], m.Sender[:], m.Recipient[:])
		}
		list = append(list, command{Query: joined(n, one, " UNION ALL "), Args: args, Row: func(scan scan) error {
			var i int
			var in inbox
			err := scan(&i, &in.policy, &in.entry, &in.webhook)
			some[i].inbox = in
			return err
		}})
	}
	return list
}

// takes reports whether the policy of the inbox allows the sender to send.
func (in *inbox) takes() bool {
	if in.policy == nil {
		return true
	}
	has := func(kind string) bool { return in.entry != nil && *in.entry == kind }
	switch *in.policy {
	case mail.Open:
		return true
	case mail.Allowlist:
		return has(mail.Allow)
	case mail.Blocklist:
		return !has(mail.Block)
	default:
		return false
	}
}

// fits checks the message against the policy of the recipient and the quotas of the recipient and of the relay. If too many messages are
// waiting, it first marks expired ones as such. refused is the reason for a refusal; err is an error of the database.
func (d *dispatch) fits(ctx context.Context) (refused, err error) {
	r, b := d.r, d.r.boxes[d.m.Recipient]
	if !d.inbox.takes() {
		return mail.ErrDenied, nil
	}
	if r.messages >= d.m.All || size(&d.m.Message) > d.m.Bytes-r.bytes {
		return mail.ErrFull, nil
	}
	most := d.m.Waiting
	if d.inbox.policy == nil {
		most = d.m.Unknown
	}
	if b.waiting < most {
		return nil, nil
	}
	if err := d.expire(ctx, b); err != nil {
		return nil, err
	}
	if b.waiting >= most {
		return mail.ErrQueueFull, nil
	}
	return nil, nil
}

// expire marks up to eight waiting messages of the recipient as expired, if their lifetime has ended.
func (d *dispatch) expire(ctx context.Context, b *box) error {
	const some = 8
	ids := slices.Collect(engine.Values[string](ctx, d.r.x,
		"UPDATE relay_messages SET state = 'expired', due_at = expires_at + ? WHERE id IN "+
			"(SELECT id FROM relay_messages WHERE recipient = ? AND state = 'sent' AND expires_at <= ? ORDER BY created_at, id "+limited(some)+
			") RETURNING id", int64(expiredKept), d.m.Recipient[:], d.r.now))
	if len(ids) > 0 {
		b.waiting, b.changed = b.waiting-int64(len(ids)), true
		d.r.sum.waiting -= int64(len(ids))
		forgetPostings(ctx, d.r.x, ids)
	}
	return d.r.x.Err()
}
