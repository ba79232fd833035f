package client

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/uimgate/uimgate/internal/delay"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// ListenOptions configures Listen. Its functions are called from several goroutines.
type ListenOptions struct {
	Seen     Seen // records processed messages; nil means Remember()
	Parallel int  // number of messages handled concurrently; 0 means 1
	// PollOnly makes Listen poll and never open a WebSocket. A relay may permit an agent only two WebSockets.
	PollOnly bool
	// Again makes Listen first request all messages that the relay has already delivered, and handle those that are not in Seen: an
	// earlier process did not finish them.
	Again bool
	// Failed is called for a message whose handler has failed three times. Over a WebSocket, the relay sends the message again on
	// the next connection, unless the relay counts it as delivered. Failed may be nil.
	Failed func(m wire.Message, err error)
	// Done is called for a processed message after the relay was notified. It may be nil.
	Done func(m wire.Message)
	// State is called with nil when Listen starts to receive messages, and with the error that interrupts it. It may be nil.
	State func(err error)
}

const (
	tries     = 3        // number of times a handler is called before Failed
	maxQueued = 16 << 20 // bytes of messages that wait for a handler
	queued    = 128      // messages that wait for a handler
	pollWait  = 25 * time.Second
	idle      = 15 * time.Second // maximum pause between polls of a relay that does not hold requests
	pollFor   = 10 * time.Minute // time before the next attempt to open a WebSocket at a relay that had none
)

// Listen passes the messages for this agent to a handler until ctx ends. It then waits for running handlers and returns nil. It receives
// messages over a WebSocket, which it reopens whenever the connection is lost; if the relay does not offer WebSockets, Listen polls. A
// message that arrives twice is handled once. Listen returns an error only if the relay refuses the agent permanently; the error is then a
// *wire.Error.
//
// The relay counts a message as delivered once the handler has processed it, but at the latest half a minute after sending it. A
// polled message counts as delivered immediately.
func (c *Client) Listen(ctx context.Context, o ListenOptions, handle Handler) error {
	o.Seen = cmp.Or(o.Seen, Remember())
	if o.Failed == nil {
		o.Failed = func(wire.Message, error) {}
	}
	if o.Done == nil {
		o.Done = func(wire.Message) {}
	}
	if o.State == nil {
		o.State = func(error) {}
	}
	l := &listener{c: c, o: o, handle: handle, busy: newBusy(), room: semaphore.NewWeighted(maxQueued), queue: make(chan wire.Message, queued)}
	c.calls.listening.Add(1)
	defer c.calls.listening.Add(-1)
	group, ctx := errgroup.WithContext(ctx)
	for range max(1, o.Parallel) {
		group.Go(func() error { return l.work(ctx) })
	}
	group.Go(func() error { return l.run(ctx) })
	if err := group.Wait(); final(err) {
		return err
	}
	return nil
}

// final reports whether a relay refuses this agent permanently.
func final(err error) bool {
	refused, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return false
	}
	switch refused.Code {
	case wire.InvalidSignature, wire.Unauthorized, wire.Forbidden, wire.AgentSuspended:
		return true
	default:
		return false
	}
}

type listener struct {
	c      *Client
	o      ListenOptions
	handle Handler
	busy   *busy
	room   *semaphore.Weighted // limits the bytes of queued messages
	queue  chan wire.Message
	socket atomic.Pointer[socket] // for acknowledging messages; nil while no WebSocket is open
}

// run receives messages until ctx ends or an error is final, and returns that error or the error of ctx.
func (l *listener) run(ctx context.Context) error {
	if l.o.Again {
		if err := l.again(ctx); final(err) {
			return err
		}
	}
	wait := l.c.o.Reconnect
	for ctx.Err() == nil {
		good, err := l.bring(ctx)
		if final(err) {
			return err
		}
		if ctx.Err() != nil {
			break
		}
		l.o.State(err)
		if good {
			wait = l.c.o.Reconnect
		}
		if delay.For(ctx, jittered(wait)) != nil {
			break
		}
		wait = min(2*wait, maxReconnect)
	}
	return ctx.Err()
}

// bring receives messages over a WebSocket or, if the relay does not offer WebSockets, by polling. good reports whether messages
// arrived or the connection worked for a while.
func (l *listener) bring(ctx context.Context) (good bool, err error) {
	if l.o.PollOnly {
		return l.poll(ctx, 0)
	}
	good, err = l.listen(ctx)
	if errors.Is(err, errNoSocket) {
		return l.poll(ctx, pollFor)
	}
	return good, err
}

// listen receives messages over a WebSocket until the connection ends.
func (l *listener) listen(ctx context.Context) (good bool, err error) {
	s, err := l.c.dial(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.conn.CloseNow() //nolint:errcheck // already closed if all went well
	l.socket.Store(s)
	defer l.socket.Store(nil)
	var pings sync.WaitGroup
	pings.Go(func() { s.keep(ctx) })
	defer pings.Wait()
	defer cancel()
	l.o.State(nil)
	from := l.c.o.Now()
	for {
		f, err := s.read(ctx)
		if err != nil {
			if ctx.Err() != nil {
				_ = s.conn.Close(websocket.StatusGoingAway, "")
			}
			return good || l.c.o.Now().Sub(from) > maxReconnect, err
		}
		switch f.Type {
		case wire.FrameMessage:
			if m, ok := l.c.checked(f.Message); ok {
				good = true
				l.accept(ctx, m)
			}
		case wire.FramePing:
			_ = s.write(ctx, map[string]string{"type": wire.FramePong})
		case wire.FrameError:
			l.o.State(f.refusal())
		}
	}
}

// poll polls for messages until it fails, ctx ends, or maxTime has passed; 0 means no limit.
func (l *listener) poll(ctx context.Context, maxTime time.Duration) (good bool, err error) {
	from, pause := l.c.o.Now(), l.c.o.Reconnect
	l.o.State(nil)
	for f := (Filter{Wait: pollWait}); ctx.Err() == nil && (maxTime == 0 || l.c.o.Now().Sub(from) < maxTime); {
		sent := l.c.o.Now()
		page, err := l.c.Poll(ctx, f)
		if err != nil {
			return good, err
		}
		good = true
		for _, m := range page.Messages {
			l.accept(ctx, m)
		}
		if len(page.Messages) > 0 {
			pause = l.c.o.Reconnect
		}
		if f.Cursor = page.Next; f.Cursor != "" || len(page.Messages) > 0 {
			continue
		}
		if l.c.o.Now().Sub(sent) < time.Second { // the relay did not hold the request
			if delay.For(ctx, jittered(pause)) != nil {
				break
			}
			pause = min(2*pause, idle)
		}
	}
	return good, ctx.Err()
}

// again requests the messages that were already delivered, and accepts those that are not in Seen.
func (l *listener) again(ctx context.Context) error {
	f := Filter{Status: wire.Delivered}
	for range maxPages {
		page, err := l.c.Poll(ctx, f)
		if err != nil {
			l.o.State(err)
			return err
		}
		for _, m := range page.Messages {
			l.accept(ctx, m)
		}
		if page.Next == "" || page.Next == f.Cursor {
			return nil
		}
		f.Cursor = page.Next
	}
	return nil
}

// accept passes a reply to the caller that waits for it. It queues any other message for the handler, unless the message was
// processed or is being handled.
func (l *listener) accept(ctx context.Context, m wire.Message) {
	size := min(int64(cmp.Or(len(m.Body), 1)+len(m.Metadata)), maxQueued)
	switch {
	case m.Recipient != l.c.key:
	case l.o.Seen.Seen(m.ID), l.c.calls.take(ctx, m):
		l.ack(ctx, m.ID)
	case !l.busy.begin(m.ID):
	case l.room.Acquire(ctx, size) != nil:
		l.busy.end(m.ID)
	default:
		select {
		case l.queue <- m:
		case <-ctx.Done():
			l.room.Release(size)
			l.busy.end(m.ID)
		}
	}
}

func (l *listener) ack(ctx context.Context, id string) {
	if s := l.socket.Load(); s != nil {
		s.ack(ctx, id)
	}
}

// work handles messages until ctx ends.
func (l *listener) work(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-l.queue:
			l.do(ctx, m)
			l.busy.end(m.ID)
			l.room.Release(min(int64(cmp.Or(len(m.Body), 1)+len(m.Metadata)), maxQueued))
		}
	}
}

func (l *listener) do(ctx context.Context, m wire.Message) {
	pause := l.c.o.Reconnect
	for try := 1; ; try++ {
		err := l.handle(ctx, m)
		if err == nil {
			if err = l.o.Seen.Record(m.ID, m.ExpiresAt); err == nil {
				l.ack(ctx, m.ID)
				l.o.Done(m)
				return
			}
		}
		if try == tries {
			l.o.Failed(m, err)
			return
		}
		if delay.For(ctx, jittered(pause)) != nil {
			return
		}
		pause *= 2
	}
}
