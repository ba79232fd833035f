package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Send sends a message. If s has no idempotency_key, Send adds one. The body may have at most wire.MaxBody bytes. The error wraps
// ErrOptions if s is invalid; if the relay refuses the message, the error is a *wire.Error.
func (c *Client) Send(ctx context.Context, s wire.Send) (r wire.Receipt, err error) {
	s.IdempotencyKey = cmp.Or(s.IdempotencyKey, uuid.NewString())
	body, err := appendSend(s)
	if err != nil {
		return wire.Receipt{}, err
	}
	a, err := c.exchange(ctx, request{
		method: http.MethodPost, target: "/v1/messages", header: http.Header{"Content-Type": {wire.TypeJSON}}, body: body, most: maxAnswer,
	})
	if err != nil {
		return wire.Receipt{}, err
	}
	if err := decode(a.body, &r); err != nil {
		return wire.Receipt{}, err
	}
	if !isID(r.MessageID) {
		return wire.Receipt{}, fmt.Errorf("%w: the response contains no valid message id", ErrAnswer)
	}
	return r, nil
}

// appendSend encodes a message. The error wraps ErrOptions if a relay would not accept the message.
func appendSend(s wire.Send) ([]byte, error) {
	if len(s.Body) > wire.MaxBody {
		return nil, fmt.Errorf("%w: the body must not exceed %d bytes: attach a blob instead", ErrOptions, wire.MaxBody)
	}
	body, err := s.AppendJSON(nil)
	if err != nil {
		return nil, fmt.Errorf("%w: the message cannot be encoded", ErrOptions)
	}
	if _, refused := wire.ReadSend(body); refused != nil {
		return nil, fmt.Errorf("%w: %s", ErrOptions, refused.Message)
	}
	if len(body) > wire.MaxRequest {
		return nil, fmt.Errorf("%w: the message must not exceed %d bytes", ErrOptions, wire.MaxRequest)
	}
	return body, nil
}

// A Filter selects the messages that Poll returns.
type Filter struct {
	Status    wire.MessageStatus // "" means sent: the messages that the relay has not delivered yet
	Sender    *wire.Key
	InReplyTo string
	ThreadID  string
	Limit     int           // messages per page, 1 to 100; 0 means 8. All are held in memory, each up to 2 MiB
	Cursor    string        // Page.Next of the previous page
	Wait      time.Duration // how long the relay waits for a first message, at most 30 s; Wait is an extension, which other relays ignore
}

const pollPage = 8

func (f Filter) limit() int {
	if f.Limit <= 0 {
		return pollPage
	}
	return min(f.Limit, wire.MaxPage)
}

func (f Filter) query() string {
	q := url.Values{"limit": {strconv.Itoa(f.limit())}}
	for name, value := range map[string]string{
		"status": string(f.Status), "in_reply_to": f.InReplyTo, "thread_id": f.ThreadID, "cursor": f.Cursor,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Sender != nil {
		q.Set("sender_key", f.Sender.String())
	}
	if f.Wait > 0 {
		q.Set("wait", strconv.Itoa(int(min(f.Wait, wire.MaxWait)/time.Second)))
	}
	return withQuery("/v1/messages", q)
}

// A Page is one page of messages.
type Page struct {
	Messages []wire.Message
	Next     string // cursor of the next page; "" if this is the last
	Dropped  int    // number of entries that were not messages of the protocol for this agent
}

// Poll returns messages to this agent, the oldest first. Once the relay has written the response, the relay counts the messages in state
// sent as delivered: a client that loses the response must poll for delivered messages.
func (c *Client) Poll(ctx context.Context, f Filter) (Page, error) {
	return c.page(ctx, f.query(), f.limit())
}

// Thread returns the messages of a thread that this agent has sent or received, the oldest first. Thread uses only Limit and Cursor of the
// filter.
func (c *Client) Thread(ctx context.Context, id string, f Filter) (Page, error) {
	if !isID(id) {
		return Page{}, fmt.Errorf("%w: this is not a valid thread id", ErrOptions)
	}
	q := url.Values{"limit": {strconv.Itoa(f.limit())}}
	if f.Cursor != "" {
		q.Set("cursor", f.Cursor)
	}
	return c.page(ctx, withQuery("/v1/messages/threads/"+url.PathEscape(id), q), f.limit())
}

func (c *Client) page(ctx context.Context, target string, limit int) (Page, error) {
	var got struct {
		Messages   []json.RawMessage `json:"messages"`
		HasMore    bool              `json:"has_more"`
		NextCursor *string           `json:"next_cursor"`
	}
	// The limit must admit every page: the relay counts a page as delivered even if the client stops reading halfway.
	if err := c.ask(ctx, http.MethodGet, target, int64(limit)*maxMessage+maxAnswer, &got); err != nil {
		return Page{}, err
	}
	p := Page{Next: cursorOf(got.HasMore, got.NextCursor)}
	for _, document := range got.Messages {
		if m, ok := c.checked(document); ok {
			p.Messages = append(p.Messages, m)
		} else {
			p.Dropped++
		}
	}
	return p, nil
}

// Message returns a message that this agent has sent or received.
func (c *Client) Message(ctx context.Context, id string) (wire.Message, error) {
	target, err := messagePath(id)
	if err != nil {
		return wire.Message{}, err
	}
	a, err := c.exchange(ctx, request{method: http.MethodGet, target: target, most: maxMessage})
	if err != nil {
		return wire.Message{}, err
	}
	m, ok := c.checked(a.body)
	if !ok || m.ID != id {
		return wire.Message{}, fmt.Errorf("%w: the response is not the requested message", ErrAnswer)
	}
	return m, nil
}

// Status returns the delivery status of a message that this agent has sent or received.
func (c *Client) Status(ctx context.Context, id string) (r wire.Receipt, err error) {
	target, err := messagePath(id)
	if err != nil {
		return wire.Receipt{}, err
	}
	if err := c.ask(ctx, http.MethodGet, target+"/status", maxAnswer, &r); err != nil {
		return wire.Receipt{}, err
	}
	if r.MessageID != id || !wire.Shown(string(r.Status)) {
		return wire.Receipt{}, fmt.Errorf("%w: the response has another message id or no valid status", ErrAnswer)
	}
	return r, nil
}

// messagePath returns the path of a message. It rejects the id "threads", because a relay would take that path for the path of threads.
func messagePath(id string) (string, error) {
	if !isID(id) || id == "threads" {
		return "", fmt.Errorf("%w: this is not a valid message id", ErrOptions)
	}
	return "/v1/messages/" + url.PathEscape(id), nil
}
