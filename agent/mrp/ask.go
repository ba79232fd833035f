package mrp

import (
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

// ErrPlain means that the reply to an encrypted message was not encrypted. The reply is withheld, because the relay could have written
// it.
var ErrPlain = errors.New("the answer is not encrypted, as the question was")

// AskOptions configures a message that expects an answer.
type AskOptions struct {
	Encrypt  bool                // the relay can read neither the message nor the reply
	Bound    bool                // with Encrypt: reject a reply that does not name the message, as UIM services do
	Progress func(wire.Progress) // receives the progress of the other agent; may be nil
}

// Call sends a message and returns the decrypted reply. It waits until ctx ends, with or without Listen: Listen still receives all other
// messages. The error is one of Send or Poll, ErrPlain, or one of package e2e.
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

// Ask is Call for a request, and reads the response, whose Status reports whether the request succeeded.
func (c *Client) Ask(ctx context.Context, to wire.Key, r wire.Request, o AskOptions) (wire.Response, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return wire.Response{}, fmt.Errorf("%w: the parameters are not JSON", ErrOptions)
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
		return wire.Response{}, fmt.Errorf("%w: it is not a response", ErrAnswer)
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
	return wire.Response{}, fmt.Errorf("%w: it is not a response", ErrAnswer)
}

// Reply replies to a message as received, in its thread, and encrypted if that message was. s has neither recipient nor thread.
func (c *Client) Reply(ctx context.Context, to wire.Message, s wire.Send) (wire.Receipt, error) {
	s.Recipient, s.InReplyTo, s.ThreadID = to.Sender, to.ID, to.ThreadID
	if s.ThreadID == "" {
		s.ThreadID = to.ID
	}
	if to.ContentType == wire.TypeEncrypted {
		var err error
		if s, err = e2e.SealAnswer(c.o.Key, s, to.Body); err != nil {
			return wire.Receipt{}, err
		}
	}
	return c.Send(ctx, s)
}

// calls are the messages that wait for replies.
type calls struct {
	sync.Mutex
	listening atomic.Int32 // running Listen calls, which also deliver replies
	open      map[wire.Key]*sends
	waiting   map[string]*replyWait // by the id of the sent message
}

// sends are messages to one agent whose ids at the relay are not yet known.
type sends struct {
	n    int
	done chan struct{}
}

// sending registers a send that expects a reply. The returned function ends it; w is nil if no message was sent.
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

// take passes a message to its waiting caller. While a message is being sent to its sender, it could be the reply to that message.
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

// answers bounds how many messages can wait to be processed, such as progress reports.
const answers = 64

// A replyWait is one caller's wait for the reply to a message.
type replyWait struct {
	id     string
	digest string // of the body that was encrypted and sent
	from   wire.Key
	reply  chan wire.Message // delivered by Listen
	had    map[string]bool   // ids
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

// look reports whether a message is the reply.
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
	p.State, p.Detail = tree.Text("state"), shown(tree.Text("detail"), maxText)
	if p.State == "" {
		p.State = tree.Text("stage")
	}
	p.State = shown(p.State, wire.MaxName)
	if f, err := tree.Number("progress").Float64(); err == nil {
		p.Progress = min(max(f, 0), 1)
	}
	return p
}
