package relay

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/fetch"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// Parameters for posting messages to webhooks, which the pages of the protocol leave open. pauses are the pauses after failed attempts;
// the last one repeats until the message expires.
var pauses = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}

const (
	disableAt = 20 // consecutive failed attempts that disable a webhook
	postEvery = time.Second
	postLease = 35 * time.Second // longer than an attempt may take, and longer than a socket may take to acknowledge a message
	// postClaims and postEach are the maximum numbers of claimed messages, in total and of one agent. Agents share the places of
	// postSharing, so that an agent whose webhook hangs does not delay others. Waiting for a place and posting take less time than
	// postLease.
	postClaims = 96
	postEach   = 16
	// maxDrained is the maximum length of a response body, in bytes, that is read so that the connection can be reused.
	maxDrained = 4 << 10
)

// postSharing limits the attempts in progress.
var postSharing = fairqueue.Bounds{Places: 32, Waiting: postClaims - 32, Wait: 20 * time.Second}

// post posts due messages until ctx ends.
func (r *Relay) post(ctx context.Context) {
	tick := time.NewTicker(postEvery)
	defer tick.Stop()
	for r.postDue(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.postings.room:
		}
	}
}

// postings counts the attempts in progress, by agent.
type postings struct {
	mu   sync.Mutex
	of   map[mail.Key]int
	room chan struct{} // has a value once an attempt that kept others from starting has ended
}

func (p *postings) busy() map[mail.Key]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.of)
}

// underWay returns the number of attempts in progress to the webhook of an agent.
func (p *postings) underWay(owner mail.Key) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[owner]
}

func (p *postings) begin(owner mail.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[owner]++
}

func (p *postings) end(owner mail.Key, full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	full = full || p.of[owner] == postEach
	if p.of[owner]--; p.of[owner] == 0 {
		delete(p.of, owner)
	}
	if full {
		select {
		case p.room <- struct{}{}:
		default:
		}
	}
}

// postDue starts attempts for due messages, up to postClaims at a time. It returns false if the relay is shutting down.
func (r *Relay) postDue(ctx context.Context) bool {
	for room := cap(r.posting) - len(r.posting); room > 0; room = cap(r.posting) - len(r.posting) {
		due, err := r.store.Postings(ctx, mail.Claim{
			Now: r.now(), Lease: postLease, Limit: room, Each: postEach, Busy: r.postings.busy(), Most: r.probes.most, Hold: r.probes.hold,
		})
		if err != nil || len(due) == 0 {
			return true
		}
		for _, p := range due {
			r.posting <- struct{}{}
			r.postings.begin(p.Recipient)
			if !r.during(func() {
				proved := r.attempt(ctx, p)
				full := len(r.posting) == cap(r.posting) || !proved // then the next attempt may start
				<-r.posting
				r.postings.end(p.Recipient, full)
			}) {
				return false
			}
		}
	}
	return true
}

// attempt posts one message, and records the result. It reports whether the webhook had accepted an earlier message.
func (r *Relay) attempt(ctx context.Context, p mail.WebhookPost) (proved bool) {
	proved = r.probes.proved(p.Recipient, p.Webhook.CreatedAt)
	if r.hasSocket(p.Recipient) || !proved && r.postings.underWay(p.Recipient) > 1 {
		return proved // an open socket or another probe has precedence; the message is due again when the lease ends
	}
	leave, err := r.places.Take(ctx, fairqueue.Party{Name: string(p.Recipient[:]), Unapproved: !proved})
	if err != nil {
		return proved // no place became free; the message is due again when the lease ends
	}
	ok := r.postOnce(ctx, p)
	leave()
	if ctx.Err() != nil && !ok {
		return proved // the message is due again when the lease ends
	}
	pause := pauses[min(p.Attempt, len(pauses))-1]
	next, failures := r.now().Add(pause+rand.N(pause/10)), disableAt //nolint:gosec // not a secret: it spreads the attempts
	if until := r.probes.ended(p.Webhook, ok, r.now()); !proved {
		next, failures = until, probeFailures
	}
	r.meter.postings.WithLabelValues(map[bool]string{true: "ok", false: "failed"}[ok]).Inc()
	if ok {
		r.meter.delivered.WithLabelValues("webhook").Inc()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	if err := r.store.Posted(ctx, p, next, ok, failures); err != nil {
		r.log.Warn("the result of an attempt to post to a webhook could not be stored: the message will be posted again", zap.Error(err))
	}
	return proved
}

// postOnce posts a message, and reports whether the webhook responded with status 200 in time. It does not follow redirects, and reads the
// body of the response only if the body is short.
func (r *Relay) postOnce(ctx context.Context, p mail.WebhookPost) bool {
	body, err := (&wire.Delivery{ID: p.DeliveryID, Message: messageOf(p.Message)}).AppendJSON(nil)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, r.times.post)
	defer cancel()
	answer, err := r.postman.Stream(ctx, fetch.Request{
		Method: http.MethodPost, URL: p.Webhook.URL, From: foreign, Header: http.Header{
			"Content-Type":              {"application/json"},
			wire.HeaderWebhookSignature: {wire.SignDelivery(p.Webhook.Secret, body)},
			wire.HeaderWebhookTimestamp: {r.now().UTC().Format(time.RFC3339)},
			wire.HeaderDeliveryID:       {p.DeliveryID},
		},
	}, bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return false
	}
	if n := answer.ContentLength; n > 0 && n <= maxDrained {
		_, _ = io.CopyN(io.Discard, answer.Body, n)
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
