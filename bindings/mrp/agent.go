package mrp

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/ratelimit"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Bounds of one agent.
const (
	atOnce   = 64       // messages that are answered concurrently, shared among their senders
	inLine   = 192      // that wait
	heldMost = 64 << 20 // bytes of messages in progress
	heldEach = 64 << 10 // that one message counts at least
	fetched  = 16       // messages that are taken from the relay at a time

	lineWait    = 30 * time.Second
	firstPause  = time.Second // after a failure, then twice as long each time
	longPause   = time.Minute
	sendTries   = 8 // of one answer
	publishTime = 10 * time.Second
)

// chatLimit bounds how often one sender gets a reply in words: two agents that do so could continue for ever.
var chatLimit = limit.Rate{Max: 20, Period: limit.Hour}

// An agent is the agent of one service at a relay.
type agent struct {
	d        *Door
	service  string
	settings *Settings
	private  ed25519.PrivateKey
	key      wire.Key
	box      mailbox

	places    *fairqueue.Places
	held      *semaphore.Weighted // bytes of messages in hand
	chatLimit *ratelimit.Set
	work      sync.WaitGroup // messages in hand
	news      chan wire.Change

	inHand, answered, lost atomic.Int64
	mu                     sync.Mutex
	connected              bool
	lastError              string
}

func newAgent(d *Door, id string, set *Settings, private ed25519.PrivateKey, box mailbox) *agent {
	return &agent{
		d: d, service: id, settings: set, private: private, key: wire.KeyOf(private), box: box,
		places: fairqueue.New(fairqueue.Bounds{Places: atOnce, Waiting: inLine, Wait: lineWait}), held: semaphore.NewWeighted(heldMost),
		chatLimit: ratelimit.NewSet(chatLimit), news: make(chan wire.Change, 1),
	}
}

// publish sends the relay the profile of the service: immediately if the relay is in this process, otherwise as soon as it can be
// reached.
func (a *agent) publish(ctx context.Context, s *service.Service) error {
	profile := profileOf(s)
	if a.settings.Relay == LocalRelay {
		ctx, cancel := context.WithTimeout(ctx, publishTime)
		defer cancel()
		err := a.box.Update(ctx, profile)
		if err == nil {
			a.well()
		}
		return err
	}
	select { // only the newest counts
	case <-a.news:
	default:
	}
	a.news <- profile
	return nil
}

// Run implements door.Agent: it replies to messages.
func (a *agent) Run(taking, working context.Context) {
	defer a.chatLimit.Close()
	working, cut := context.WithCancel(working)
	defer cut()
	var beside sync.WaitGroup
	beside.Go(func() { a.keepPublishing(taking) })
	if r, ok := a.box.(*remote); ok {
		beside.Go(func() { r.Run(working) })
	}
	a.take(taking, working)
	a.work.Wait()
	cut()
	beside.Wait()
}

// Close implements door.Agent.
func (a *agent) Close() {
	a.chatLimit.Close()
	if r, ok := a.box.(*remote); ok {
		r.client.Close()
	}
}

// UnderWay implements door.Agent.
func (a *agent) UnderWay() int { return int(a.inHand.Load()) }

// take receives messages until taking ends; their processing continues until working ends.
func (a *agent) take(taking, working context.Context) {
	pause := firstPause
	for taking.Err() == nil {
		list, err := a.box.Next(taking, fetched)
		if err != nil {
			a.failed(taking, "taking messages", err)
			if sleep(taking, pause) != nil {
				return
			}
			pause = min(2*pause, longPause)
			continue
		}
		a.well()
		pause = firstPause
		for _, m := range list {
			size := min(heldMost, max(heldEach, int64(len(m.Body)+len(m.Metadata))))
			if m.Evidence != nil {
				size = min(heldMost, size+int64(len(m.Evidence.Body)))
			}
			if a.held.Acquire(taking, size) != nil {
				return // messages that were not started arrive again
			}
			a.inHand.Add(1)
			a.work.Go(func() {
				defer a.held.Release(size)
				defer a.inHand.Add(-1)
				a.handle(working, m)
			})
		}
	}
}

// handle replies to one message. The message is done once the relay has the reply.
func (a *agent) handle(ctx context.Context, m relay.Arrival) {
	answer := a.answer(ctx, m)
	if ctx.Err() != nil || answer != nil && !a.deliver(ctx, answer) {
		a.box.Again(m.ID)
		return
	}
	if err := a.box.Done(ctx, m.ID); err != nil {
		a.failed(ctx, "noting that a message was answered", err) // it arrives again when the process restarts, and gets a reply then
	}
}

// deliver passes a reply to the relay. It returns false if ctx ends first. A reply that the recipient does not accept, or that the relay
// refuses permanently, is lost: the sender can send its message again.
func (a *agent) deliver(ctx context.Context, s *wire.Send) bool {
	for attempt, pause := 1, firstPause; ; attempt++ {
		_, err := a.box.Send(ctx, *s)
		switch refused, isRefusal := errors.AsType[*wire.Error](err); {
		case err == nil:
			a.answered.Add(1)
			return true
		case ctx.Err() != nil:
			return false
		case isRefusal && refused.HTTPStatus() == http.StatusConflict && refused.Code == wire.BadRequest: // it was answered before
			return true
		case isRefusal && forGood(refused), attempt == sendTries:
			a.lost.Add(1)
			a.d.Log.Warn("an answer could not be sent", zap.String("door", Name), zap.String("service", a.service),
				zap.Stringer("recipient", s.Recipient), zap.String("in_reply_to", s.InReplyTo), zap.Error(err))
			return true
		}
		a.failed(ctx, "sending an answer", err)
		if sleep(ctx, pause) != nil {
			return false
		}
		pause = min(2*pause, longPause)
	}
}

// forGood reports whether a relay would refuse the same message again.
func forGood(e *wire.Error) bool {
	switch status := e.HTTPStatus(); status {
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusConflict:
		return false
	default:
		return status < http.StatusInternalServerError || e.Code == wire.NoRoom
	}
}

// keepPublishing sends a remote relay the new profile until the relay has it.
func (a *agent) keepPublishing(ctx context.Context) {
	for {
		select {
		case profile := <-a.news:
			for pause := firstPause; ; pause = min(2*pause, longPause) {
				err := a.box.Update(ctx, profile)
				if err == nil {
					a.well()
					break
				}
				a.failed(ctx, "publishing the offer at the relay", err)
				if sleep(ctx, pause) != nil {
					return
				}
				select {
				case profile = <-a.news:
				default:
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
