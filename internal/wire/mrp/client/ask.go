package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/e2e"
)

// ErrPlain means that the reply to an encrypted message was not encrypted. Call withholds the reply, because the relay could have
// written it.
var ErrPlain = errors.New("the reply to an encrypted message is not encrypted")

// AskOptions configures a message that expects a reply.
type AskOptions struct {
	Encrypt  bool                // encrypt, so that the relay can read neither the message nor the reply
	Bound    bool                // with Encrypt: reject a reply that does not name the message; UIM services always name it
	Progress func(wire.Progress) // called with progress reports of the other agent; may be nil
}

// Call sends a message and returns the decrypted reply. It waits for the reply until ctx ends. Call works with and without a running
// Listen, which still receives all other messages. Errors are those of Send, Poll, package e2e and ctx, and ErrPlain.
func (c *Client) Call(ctx context.Context, s wire.Send, o AskOptions) (wire.Message, error) {
	digest := ""
	if o.Encrypt {
		var err error
		if s, err = c.Seal(s); err != nil {
			return wire.Message{}, err
		}
		if digest, err = e2e.Digest(s.Body); err != nil {
			return wire.Message{}, err
		}
	}
	sent := c.calls.sending(s.Recipient)
	receipt, err := c.Send(ctx, s)
	if err != nil {
		sent(nil)
		return wire.Message{}, err
	}
	w := &replyWait{
		id: receipt.MessageID, digest: digest, from: s.Recipient, reply: make(chan wire.Message, answers), had: map[string]bool{}, o: o, c: c,
	}
	sent(w)
	defer c.calls.drop(w)
	return w.wait(ctx)
}

// Ask sends a request with Call and reads the response. The Status of the response reports whether the request succeeded.
func (c *Client) Ask(ctx context.Context, to wire.Key, r wire.Request, o AskOptions) (wire.Response, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return wire.Response{}, fmt.Errorf("%w: the parameters cannot be encoded as JSON", ErrOptions)
	}
	m, err := c.Call(ctx, wire.Send{Recipient: to, ContentType: wire.TypeRequest, Body: body}, o)
	if err != nil {
		return wire.Response{}, err
	}
	return ReadResponse(m)
}

// ReadResponse reads a message that responds to a request. The error wraps ErrAnswer.
func ReadResponse(m wire.Message) (r wire.Response, err error) {
	if m.ContentType != wire.TypeResponse && m.ContentType != wire.TypeJSON {
		return wire.Response{}, fmt.Errorf("%w: the message is not a response", ErrAnswer)
	}
	if err := decode(m.Body, &r); err != nil {
		return wire.Response{}, err
	}
	switch {
	case r.Status == wire.ResponseOK:
		r.Fault = nil
		tree, err := strictjson.DecodeObject(m.Body) // with exact numbers
		r.Result = tree["result"]
		return r, err
	case r.Status == wire.ResponseError && r.Fault != nil && isCode(r.Fault.Code):
		r.Result, r.Fault.Message = nil, shown(r.Fault.Message, maxText)
		return r, nil
	}
	return wire.Response{}, fmt.Errorf("%w: the message is not a response", ErrAnswer)
}

// Reply sends s as the reply to a message, in the same thread, and encrypted if that message was. to must be the message as
// received, before Open. Reply sets the recipient and the thread of s.
func (c *Client) Reply(ctx context.Context, to wire.Message, s wire.Send) (wire.Receipt, error) {
	s.Recipient, s.InReplyTo, s.ThreadID = to.Sender, to.ID, to.ThreadID
	s.ThreadID = cmp.Or(s.ThreadID, to.ID)
	if to.ContentType == wire.TypeEncrypted {
		var err error
		if s, err = e2e.SealAnswer(c.o.Key, s, to.Body); err != nil {
			return wire.Receipt{}, err
		}
	}
	return c.Send(ctx, s)
}

// calls holds the messages that wait for replies.
type calls struct {
	sync.Mutex
	listening atomic.Int32 // number of running Listen calls, which also deliver replies
	open      map[wire.Key]*sends
	waiting   map[string]*replyWait // by the id of the sent message
}

// sends counts the messages to one agent that are being sent: their ids at the relay are not yet known.
type sends struct {
	n    int
	done chan struct{}
}

// sending registers a message that is about to be sent and expects a reply. The caller must call the returned function after
// sending; w is nil if no message was sent.
func (c *calls) sending(to wire.Key) func(w *replyWait) {
	c.Lock()
	defer c.Unlock()
	if c.open == nil {
		c.open, c.waiting = map[wire.Key]*sends{}, map[string]*replyWait{}
	}
	s := c.open[to]
	if s == nil {
		s = &sends{done: make(chan struct{})}
		c.open[to] = s
	}
	s.n++
	return func(w *replyWait) {
		c.Lock()
		defer c.Unlock()
		if w != nil {
			c.waiting[w.id] = w
		}
		if s.n--; s.n == 0 {
			delete(c.open, to)
			close(s.done)
		}
	}
}

func (c *calls) drop(w *replyWait) {
	c.Lock()
	defer c.Unlock()
	delete(c.waiting, w.id)
}

// take passes a reply to the caller that waits for it. It returns false if no caller waits for the reply, if the caller's queue is full, or
// if ctx ends. While a message to the sender of m is being sent, take waits, because m may be the reply to that message.
func (c *calls) take(ctx context.Context, m wire.Message) bool {
	if m.InReplyTo == "" {
		return false
	}
	for {
		c.Lock()
		w, s := c.waiting[m.InReplyTo], c.open[m.Sender]
		c.Unlock()
		switch {
		case w != nil && w.from == m.Sender:
			select {
			case w.reply <- m:
				return true
			default:
				return false
			}
		case s == nil:
			return false
		}
		select {
		case <-s.done:
		case <-ctx.Done():
			return false
		}
	}
}

// answers limits how many messages to one caller, such as progress reports, can wait to be processed.
const answers = 64

// A replyWait waits for the reply to one message.
type replyWait struct {
	id     string
	digest string // the digest of the encrypted body that was sent
	from   wire.Key
	reply  chan wire.Message // delivered by Listen
	had    map[string]bool   // ids of the messages that look has seen
	o      AskOptions
	c      *Client
}

func (w *replyWait) wait(ctx context.Context) (wire.Message, error) {
	pause := w.c.o.Reconnect
	for round := 0; ; round++ {
		sent := w.c.o.Now()
		if w.c.calls.listening.Load() == 0 {
			if m, done, err := w.poll(ctx, round); done || err != nil {
				return m, err
			}
		}
		if w.c.o.Now().Sub(sent) >= time.Second {
			pause = w.c.o.Reconnect
		}
		timer := time.NewTimer(jittered(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return wire.Message{}, ctx.Err()
		case m := <-w.reply:
			timer.Stop()
			if m, done, err := w.look(m); done || err != nil {
				return m, err
			}
		case <-timer.C:
			pause = min(2*pause, idle)
		}
	}
}

// poll polls for replies. Every second poll includes messages that the relay has already delivered, possibly to a connection that was
// lost.
func (w *replyWait) poll(ctx context.Context, round int) (wire.Message, bool, error) {
	f := Filter{InReplyTo: w.id, Sender: &w.from, Wait: pollWait}
	if round%2 == 1 {
		f.Status, f.Wait = wire.Delivered, 0
	}
	page, err := w.c.Poll(ctx, f)
	if err != nil {
		return wire.Message{}, false, err
	}
	for _, m := range page.Messages {
		if m, done, err := w.look(m); done || err != nil {
			return m, done, err
		}
	}
	return wire.Message{}, false, nil
}

// look reports whether a message is the reply, and returns the reply decrypted. It passes progress reports to o.Progress, and ignores
// events.
func (w *replyWait) look(m wire.Message) (wire.Message, bool, error) {
	if m.Sender != w.from || m.Recipient != w.c.key || m.InReplyTo != w.id || w.had[m.ID] {
		return wire.Message{}, false, nil
	}
	w.had[m.ID] = true
	if m.ContentType == wire.TypeEncrypted {
		var err error
		if m, err = w.c.Open(m); err != nil {
			return wire.Message{}, false, err
		}
		if w.o.Encrypt {
			if err := e2e.Answers(m, w.digest, w.o.Bound); err != nil {
				return wire.Message{}, false, err
			}
		}
	} else if w.o.Encrypt {
		return wire.Message{}, false, ErrPlain
	}
	switch m.ContentType {
	case wire.TypeStatus:
		if w.o.Progress != nil {
			w.o.Progress(readProgress(m.Body))
		}
		return wire.Message{}, false, nil
	case wire.TypeEvent:
		return wire.Message{}, false, nil
	}
	return m, true, nil
}

// readProgress reads an agent's progress report; older agents write stage instead of state.
func readProgress(body []byte) (p wire.Progress) {
	tree, _ := strictjson.DecodeObject(body)
	p.State, p.Detail = shown(cmp.Or(tree.Text("state"), tree.Text("stage")), wire.MaxName), shown(tree.Text("detail"), maxText)
	if f, err := tree.Number("progress").Float64(); err == nil {
		p.Progress = min(max(f, 0), 1)
	}
	return p
}
