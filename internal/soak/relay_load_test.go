package soak

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/uimgate/uimgate/agent/mrp"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A mailWorld is one run of relays: the agents that send and receive, and their records.
type mailWorld struct {
	t      *testing.T
	clock  clock
	relays []*relayProcess
	kills  atomic.Int64

	over, done chan struct{} // closed when the load ends, and when all messages have been received

	mu       sync.Mutex
	sends    []sendRecord
	receipts []receiptRecord
	acks     []ackRecord
	denied   int // how often a message of another agent was refused
	breaches []string
}

// A sendRecord is a message that a relay accepted. At is the time at which the sender received the response.
type sendRecord struct {
	Ref, ID string
	To      wire.Key
	Tries   int
	At      time.Duration
}

// A receiptRecord is a message that an agent received. Asked is a time before the relay could have sent it.
type receiptRecord struct {
	Ref, ID string
	By, To  wire.Key
	Asked   time.Duration
	Late    bool // the agent searched for it, because the response to a poll was lost
}

// An ackRecord is a message whose acknowledgement a relay has certainly processed.
type ackRecord struct {
	ID string
	At time.Duration
}

type parcel struct {
	Ref string   `json:"ref"`
	To  wire.Key `json:"to"`
}

// A mailAgent is one agent. It uses any running relay.
type mailAgent struct {
	*mailWorld
	private ed25519.PrivateKey
	address string

	mu      sync.Mutex
	clients map[string]*mrp.Client // by URL
}

var mailAgents atomic.Int64

func (w *mailWorld) agent() *mailAgent {
	w.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	return &mailAgent{mailWorld: w, private: private, address: fmt.Sprintf("10.0.0.%d", mailAgents.Add(1)), clients: map[string]*mrp.Client{}}
}

// An addressTransport is the transport of an agent with its own address.
type addressTransport struct {
	http.RoundTripper
	address string
}

func (f addressTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", f.address)
	return f.RoundTripper.RoundTrip(r)
}

var errNoRelay = errors.New("no relay is running")

// client returns the client for a running relay. It tries each request once.
func (a *mailAgent) client() (*mrp.Client, error) {
	var urls []string
	for _, r := range a.relays {
		if at := r.at.Load(); at != nil {
			urls = append(urls, *at)
		}
	}
	if len(urls) == 0 {
		return nil, errNoRelay
	}
	url := pick(urls)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.clients[url] == nil {
		c, err := mrp.New(mrp.Options{
			Relay: url, Key: a.private, AllowInsecure: true, Attempts: 1,
			Wrap: func(t http.RoundTripper) http.RoundTripper { return addressTransport{t, a.address} },
		})
		if err != nil {
			return nil, err
		}
		a.clients[url] = c
	}
	return a.clients[url], nil
}

// send sends one message with one idempotency key, until a relay has accepted it or the run is over.
func (a *mailAgent) send(to wire.Key, ref string) {
	body, err := json.Marshal(parcel{Ref: ref, To: to})
	if err != nil {
		a.t.Error(err)
		return
	}
	for tries := 1; ; tries++ {
		c, err := a.client()
		if err == nil {
			var r wire.Receipt
			r, err = c.Send(a.t.Context(), wire.Send{Recipient: to, Body: body, ThreadID: "soak", IdempotencyKey: "key-" + ref})
			if err == nil {
				a.mailWorld.mu.Lock()
				a.sends = append(a.sends, sendRecord{ref, r.MessageID, to, tries, a.clock.now()})
				a.mailWorld.mu.Unlock()
				return
			}
		}
		a.expected("send", err)
		if !pause(a.done, 20*time.Millisecond) {
			return
		}
	}
}

// expected records a breach if a kill does not explain the error.
func (a *mailAgent) expected(what string, err error) {
	if refused, ok := errors.AsType[*wire.Error](err); ok && refused.HTTPStatus() < http.StatusInternalServerError {
		a.breach("%s: %v", what, refused)
	}
}

func (w *mailWorld) breach(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breaches = append(w.breaches, fmt.Sprintf(format, args...))
}

func (a *mailAgent) got(since time.Duration, late bool, m wire.Message) {
	var l parcel
	if err := json.Unmarshal(m.Body, &l); err != nil {
		a.breach("message %s: %v", m.ID, err)
	}
	if m.Recipient != l.To {
		a.breach("message %s has the wrong recipient", m.ID)
	}
	a.mailWorld.mu.Lock()
	defer a.mailWorld.mu.Unlock()
	a.receipts = append(a.receipts, receiptRecord{l.Ref, m.ID, wire.KeyOf(a.private), l.To, since, late})
}

// polls receives messages by polling. After a lost response it also searches the delivered messages, because the relay cannot know that
// the response was lost.
func (a *mailAgent) polls() {
	lost := false
	for pause(a.done, 5*time.Millisecond) {
		c, err := a.client()
		if err != nil {
			continue
		}
		since := a.clock.now()
		page, err := c.Poll(a.t.Context(), mrp.Filter{Limit: 50, Wait: time.Second})
		if a.expected("poll", err); err != nil {
			lost = true
			continue
		}
		if page.Dropped > 0 {
			a.breach("%d messages of a page are not for their recipient", page.Dropped)
		}
		for _, m := range page.Messages {
			a.got(since, false, m)
		}
		if lost && len(page.Messages) == 0 {
			lost = !a.looks(c)
		}
	}
}

func (a *mailAgent) looks(c *mrp.Client) bool {
	for f := (mrp.Filter{Status: wire.Delivered, Limit: wire.MaxPage}); ; {
		page, err := c.Poll(a.t.Context(), f)
		if a.expected("poll", err); err != nil {
			return false
		}
		for _, m := range page.Messages {
			a.got(0, true, m)
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return true
		}
	}
}

// listens receives messages over a WebSocket. It sends a ping after each acknowledgement: the pong shows that the relay has recorded the
// acknowledgement.
func (a *mailAgent) listens() {
	for pause(a.done, 20*time.Millisecond) {
		if c, err := a.client(); err == nil {
			a.listensAt(strings.Replace(c.Relay(), "http", "ws", 1) + "/v1/ws")
		}
	}
}

func (a *mailAgent) listensAt(url string) {
	ctx, cancel := context.WithCancel(a.t.Context())
	defer cancel()
	go func() {
		select {
		case <-a.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	since := a.clock.now()
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Forwarded-For": {a.address}}})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(4 << 20)
	say := func(v any) error {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return conn.Write(ctx, websocket.MessageText, text)
	}
	if say(wire.SignSocket(a.private, time.Now().UTC())) != nil {
		return
	}
	var acked []string // acknowledged, but without a pong yet; the next pong is for the first of them
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return
		}
		r, err := wire.ReadReply(raw)
		switch {
		case err != nil:
			a.breach("invalid frame: %v", err)
		case r.Error != nil:
			a.expected("error frame", r.Error)
			return
		case r.Type == wire.FramePong && len(acked) > 0:
			a.mailWorld.mu.Lock()
			a.acks = append(a.acks, ackRecord{acked[0], a.clock.now()})
			a.mailWorld.mu.Unlock()
			acked = acked[1:]
		case r.Message != nil:
			a.got(since, false, *r.Message)
			acked = append(acked, r.Message.ID)
			if say(map[string]string{"type": "ack", "message_id": r.Message.ID}) != nil || say(map[string]string{"type": "ping"}) != nil {
				return
			}
		}
	}
}

// pries requests messages of other agents.
func (a *mailAgent) pries() {
	for pause(a.over, 50*time.Millisecond) {
		a.mailWorld.mu.Lock()
		id := ""
		if n := len(a.sends); n > 0 {
			id = a.sends[n-1].ID
		}
		a.mailWorld.mu.Unlock()
		c, err := a.client()
		if err != nil || id == "" {
			continue
		}
		_, err = c.Message(a.t.Context(), id)
		refused, ok := errors.AsType[*wire.Error](err)
		switch {
		case err == nil:
			a.breach("an agent received message %s of another agent", id)
		case ok && refused.Code == wire.Forbidden:
			a.mailWorld.mu.Lock()
			a.denied++
			a.mailWorld.mu.Unlock()
		}
		if page, err := c.Poll(a.t.Context(), mrp.Filter{}); err == nil && len(page.Messages)+page.Dropped > 0 {
			a.breach("an agent received %d messages of other agents", len(page.Messages)+page.Dropped)
		}
	}
}
