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
	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/ratelimit"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Bounds of one agent.
const (
	atOnce   = 64       // messages that are handled concurrently; their senders share these places
	inLine   = 192      // messages that wait for a place
	heldMost = 64 << 20 // bytes of messages that are waiting or in progress
	heldEach = 64 << 10 // each message counts as at least this many bytes
	fetched  = 16       // messages that are received from the relay at a time

	lineWait    = 30 * time.Second // how long a message waits for a place
	firstPause  = time.Second      // after a failure; each further failure doubles the pause, up to longPause
	longPause   = time.Minute
	sendTries   = 8                // attempts to send one reply
	publishTime = 10 * time.Second // the timeout for sending a profile to the relay of this process
)

// chatLimit limits the replies to text messages of one sender. Without a limit, two agents could reply to each other forever.
var chatLimit = limit.Rate{Max: 20, Period: limit.Hour}

// An agent represents one service at a relay.
type agent struct {
	d        *Door
	service  string
	settings *Settings
	private  ed25519.PrivateKey
	key      wire.Key
	box      mailbox

	places    *fairqueue.Places
	held      *semaphore.Weighted // bytes of messages that are waiting or in progress
	chatLimit *ratelimit.Set
	work      sync.WaitGroup // messages that are waiting or in progress
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

// publish sends the profile of the service to the relay. If the relay is in this process, publish returns the error. Otherwise it returns
// nil, and keepPublishing sends the profile as soon as the relay can be reached.
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
	select { // the new profile replaces one that was not yet sent
	case <-a.news:
	default:
	}
	a.news <- profile
	return nil
}

// Run implements door.Agent. It replies to messages until taking ends, and then waits for the messages in progress.
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

// take receives messages until taking ends. It handles each message in a goroutine, which may continue until working ends.
func (a *agent) take(taking, working context.Context) {
	pause := firstPause
	for taking.Err() == nil {
		list, err := a.box.Next(taking, fetched)
		if err != nil {
			a.failed(taking, "receiving messages", err)
			if delay.For(taking, pause) != nil {
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
				return // the relay will deliver the unhandled messages again
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

// handle replies to one message, and marks the message as done once the reply is delivered or lost. If ctx ends first, the mailbox delivers
// the message again.
func (a *agent) handle(ctx context.Context, m relay.Arrival) {
	answer := a.answer(ctx, m)
	if ctx.Err() != nil || answer != nil && !a.deliver(ctx, answer) {
		a.box.Again(m.ID)
		return
	}
	if err := a.box.Done(ctx, m.ID); err != nil {
		a.failed(ctx, "recording that a message is done", err) // after a restart, the message arrives again and gets another reply
	}
}

// deliver sends a reply to the relay. It returns true once the reply is sent or lost, and false if ctx ends first. The reply is lost if the
// relay refuses it permanently, for example because the recipient does not accept messages from this agent, or after sendTries attempts.
// The recipient can then send its own message again.
func (a *agent) deliver(ctx context.Context, s *wire.Send) bool {
	for attempt, pause := 1, firstPause; ; attempt++ {
		_, err := a.box.Send(ctx, *s)
		switch refused, isRefusal := errors.AsType[*wire.Error](err); {
		case err == nil:
			a.answered.Add(1)
			return true
		case ctx.Err() != nil:
			return false
		case isRefusal && refused.HTTPStatus() == http.StatusConflict && refused.Code == wire.BadRequest:
			return true // another reply was already sent under this key
		case isRefusal && forGood(refused), attempt == sendTries:
			a.lost.Add(1)
			a.d.Log.Warn("a reply could not be sent", zap.String("door", Name), zap.String("service", a.service),
				zap.Stringer("recipient", s.Recipient), zap.String("in_reply_to", s.InReplyTo), zap.Error(err))
			return true
		}
		a.failed(ctx, "sending a reply", err)
		if delay.For(ctx, pause) != nil {
			return false
		}
		pause = min(2*pause, longPause)
	}
}

// forGood reports whether a refusal is permanent: the relay would refuse the same message again.
func forGood(e *wire.Error) bool {
	switch status := e.HTTPStatus(); status {
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusConflict:
		return false
	default:
		return status < http.StatusInternalServerError || e.Code == wire.NoRoom
	}
}

// keepPublishing sends the newest profile to a remote relay, and retries until the relay accepts the profile or ctx ends.
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
				a.failed(ctx, "publishing the profile at the relay", err)
				if delay.For(ctx, pause) != nil {
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
