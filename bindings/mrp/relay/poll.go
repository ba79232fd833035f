package relay

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.uber.org/zap"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// poll responds with messages to the caller, oldest first. Messages with the status sent count as delivered once the page is written.
func (r *Relay) poll(w http.ResponseWriter, c *call) *wire.Error {
	q, refused := readQuery(c.URL.RawQuery)
	if refused != nil {
		return refused
	}
	query, wait, refused := readPoll(q, c.key())
	if refused != nil {
		return refused
	}
	list, more, end, refused := r.wait(c.Context(), query, wait)
	defer end()
	if refused != nil {
		return refused
	}
	text, err := pageOf(list, more).AppendJSON(nil)
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	if err := r.large(w, c, text); err != nil || query.Status != string(wire.Sent) {
		return refusedIn(err)
	}
	ids := make([]string, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	r.delivered(c.Context(), c.key(), "poll", ids)
	return nil
}

// fresh returns at most limit messages that wait for a recipient and that are not taken, oldest first. It always starts with the oldest
// message in the store, because another process may store a message after newer messages have already been returned.
func (r *Relay) fresh(
	ctx context.Context, recipient wire.Key, taken func(id string) bool, limit int,
) (fresh []mail.WaitingMessage, _ error) {
	var after *mail.Place
	for {
		list, more, err := r.store.Waiting(ctx, recipient, after, wire.MaxPage)
		if err != nil {
			return nil, err
		}
		for _, w := range list {
			if after = &w.Place; taken(w.ID) {
				continue
			}
			if fresh = append(fresh, w); len(fresh) == limit {
				return fresh, nil
			}
		}
		if !more {
			return fresh, nil
		}
	}
}

// delivered records that a recipient has received messages. If that fails, the messages are delivered again.
func (r *Relay) delivered(ctx context.Context, recipient wire.Key, way string, ids []string) {
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	if err := r.store.Delivered(ctx, recipient, ids); err != nil {
		r.log.Warn("the delivery of messages could not be recorded: they will be delivered again", zap.Int("messages", len(ids)), zap.Error(err))
		return
	}
	r.meter.delivered.WithLabelValues(way).Add(float64(len(ids)))
}

// noteWithin is the timeout for recording a delivery. The context of the request is not used, because the recipient may have disconnected.
const noteWithin = 5 * time.Second

// readPoll reads the query of a poll. It ignores unknown parameters.
func readPoll(q url.Values, recipient wire.Key) (query mail.Query, wait time.Duration, refused *wire.Error) {
	query = mail.Query{Recipient: recipient, Status: string(wire.Sent), InReplyTo: q.Get("in_reply_to"), ThreadID: q.Get("thread_id")}
	if query.Limit, refused = readLimit(q, wire.DefaultPage); refused != nil {
		return query, 0, refused
	}
	if query.After, refused = readPlace(q); refused != nil {
		return query, 0, refused
	}
	switch s := wire.MessageStatus(q.Get("status")); s {
	case "":
	case wire.Sent, wire.Delivered, wire.Expired:
		query.Status = string(s)
	default:
		return query, 0, wire.Refuse(wire.BadRequest, "status must be one of sent, delivered, expired")
	}
	if text := q.Get("sender_key"); text != "" {
		k, err := wire.ParseKey(text)
		if err != nil {
			return query, 0, wire.Refuse(wire.BadRequest, "sender_key: "+err.Error())
		}
		query.Sender = (*mail.Key)(&k)
	}
	if text := q.Get("wait"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > int(wire.MaxWait/time.Second) {
			return query, 0, wire.Refuse(wire.BadRequest, "wait must be a whole number of seconds from 0 to 30")
		}
		wait = time.Duration(n) * time.Second
	}
	return query, wait, nil
}

// wait returns messages as soon as there are any. It returns none if the time is over, ctx ends or the relay shuts down. end is never nil.
// Until end is called, other polls of the agent are blocked, because they would find the same messages again before the delivery is
// recorded.
func (r *Relay) wait(ctx context.Context, q mail.Query, wait time.Duration) (
	list []mail.Message, more bool, end func(), refused *wire.Error,
) {
	look := func() (err error) {
		if end, err = r.pollOrder.take(ctx, q.Recipient); err == nil {
			list, more, err = r.store.Messages(ctx, q)
		}
		return err
	}
	if wait == 0 {
		err := look()
		return list, more, end, r.refusal(err, wire.NotFound)
	}
	if !r.joinPolls(q.Recipient) {
		e := wire.Refuse(wire.RateLimited, "the agent has the maximum number of waiting polls: poll without wait")
		e.RetryAfter = time.Second
		return nil, false, func() {}, e
	}
	defer r.leavePolls(q.Recipient)
	woken, leave := r.hub.join(q.Recipient)
	defer leave()
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		if err := look(); err != nil || len(list) > 0 {
			return list, more, end, r.refusal(err, wire.NotFound)
		}
		end()
		select {
		case <-woken:
			continue
		case <-over.C:
		case <-r.stop:
		case <-ctx.Done():
		}
		return nil, false, func() {}, nil
	}
}

func (r *Relay) joinPolls(key wire.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiters[key] >= r.limits.Waiters {
		return false
	}
	r.waiters[key]++
	r.meter.polls.Inc()
	return true
}

func (r *Relay) leavePolls(key wire.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meter.polls.Dec()
	if r.waiters[key]--; r.waiters[key] == 0 {
		delete(r.waiters, key)
	}
}

// listen wakes requests that wait for messages that other processes have stored, until ctx ends.
func (r *Relay) listen(ctx context.Context) {
	const every = 500 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	since := r.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !r.hub.anybody() {
			since = r.now().Add(-every) // a new request reads the store before it waits
			continue
		}
		keys, next, err := r.store.Woken(ctx, since)
		if err != nil {
			continue // the next call to Woken also returns these recipients
		}
		since = next
		for _, key := range keys {
			r.hub.wake(key)
		}
	}
}
