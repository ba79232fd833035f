package relay

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// send accepts a message, and records the signature of its request in the same transaction.
func (r *Relay) send(w http.ResponseWriter, c *call) *wire.Error {
	s, malformed := wire.ReadSend(c.body)
	if malformed != nil {
		if _, refused := r.known(c.Context(), c.auth, r.options.Client(c.Request)); refused != nil {
			return refused
		}
		return malformed
	}
	receipt, repeated, refused := r.take(c.Context(), c.key(), s, r.evidence(c, s.Recipient), c)
	if refused != nil {
		return refused
	}
	status := http.StatusAccepted
	if repeated {
		status = http.StatusOK
	}
	r.meter.messages.WithLabelValues("http").Inc()
	r.json(w, status, receipt)
	return nil
}

// take stores a message. If c is not nil, take also records the signature of the call in the same transaction, and creates the sender if it
// is new. If c is nil, the sender must exist. The message is durable when take returns. repeated means that the same message was already
// stored under its idempotency key; the receipt is then that of the stored message.
func (r *Relay) take(ctx context.Context, sender wire.Key, s wire.Send, signed []byte, c *call) (
	_ wire.Receipt, repeated bool, _ *wire.Error,
) {
	m := mail.Message{
		ID: wire.NewMessageID(r.now()), Sender: sender, Recipient: s.Recipient, ContentType: s.ContentType, Body: s.Body, Metadata: s.Metadata,
		ThreadID: s.ThreadID, InReplyTo: s.InReplyTo, Signed: signed,
	}
	sending := mail.NewMessage{
		IdempotencyKey: s.IdempotencyKey, Lifetime: time.Duration(s.ExpiresIn) * time.Second,
		Waiting: r.limits.Waiting, Unknown: r.limits.Unknown, All: r.limits.Messages, Bytes: r.limits.Bytes,
	}
	if len(s.Attachments) > 0 {
		text, err := json.Marshal(s.Attachments)
		if err != nil {
			return wire.Receipt{}, false, wire.Refuse(wire.BadRequest, "attachments cannot be encoded")
		}
		m.Attachments = text
		for _, a := range s.Attachments {
			sending.Blobs = append(sending.Blobs, a.BlobID)
		}
	}
	sending.Message = m
	if s.IdempotencyKey != "" {
		sending.Digest = digestOf(s)
	}
	kept, repeated, refused := r.keep(ctx, sending, c)
	if refused != nil {
		return wire.Receipt{}, false, refused
	}
	if !repeated {
		r.hub.wake(s.Recipient)
	}
	return receiptOf(kept), repeated, nil
}

// keep stores a message, together with the signature of its call if c is not nil.
func (r *Relay) keep(ctx context.Context, m mail.NewMessage, c *call) (kept mail.Message, repeated bool, refused *wire.Error) {
	var err error
	if c == nil {
		kept, repeated, err = r.store.Send(ctx, m)
		return kept, repeated, r.refusal(err, wire.NotFound)
	}
	client := r.options.Client(c.Request)
	counted, refused := r.comes(ctx, c.key(), client)
	if refused != nil {
		return mail.Message{}, false, refused
	}
	var isNew bool
	kept, repeated, isNew, err = r.store.SendSigned(ctx, r.guard(c.auth), touch, m)
	r.received(c.key(), client, counted, isNew, err)
	return kept, repeated, r.refusal(err, wire.NotFound)
}

// digestOf returns the digest of a send. All sends under one idempotency key must have the same digest.
func digestOf(s wire.Send) [32]byte {
	h := sha256.New()
	part := func(b []byte) {
		h.Write([]byte(strconv.Itoa(len(b)) + ":"))
		h.Write(b)
	}
	attachments, _ := json.Marshal(s.Attachments) // cannot fail: attachments consist of strings and numbers
	for _, b := range [][]byte{
		s.Recipient[:], []byte(s.ContentType), s.Body, attachments, []byte(s.ThreadID), []byte(s.InReplyTo), s.Metadata,
		[]byte(strconv.FormatInt(s.ExpiresIn, 10)),
	} {
		part(b)
	}
	return [32]byte(h.Sum(nil))
}

func receiptOf(m mail.Message) wire.Receipt {
	return wire.Receipt{
		MessageID: m.ID, Status: wire.MessageStatus(m.Status), CreatedAt: m.CreatedAt.UTC(), ExpiresAt: m.ExpiresAt.UTC(),
		DeliveredAt: utc(m.DeliveredAt),
	}
}

func utc(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.UTC()
}

func messageOf(m mail.Message) wire.Message {
	out := wire.Message{
		ID: m.ID, Sender: m.Sender, Recipient: m.Recipient, ContentType: m.ContentType, Body: m.Body, Metadata: m.Metadata, ThreadID: m.ThreadID,
		InReplyTo: m.InReplyTo, Status: wire.MessageStatus(m.Status), CreatedAt: m.CreatedAt.UTC(), ExpiresAt: m.ExpiresAt.UTC(),
		DeliveredAt: utc(m.DeliveredAt), Attachments: []wire.Attachment{},
	}
	_ = json.Unmarshal(m.Attachments, &out.Attachments) // this relay encoded them
	return out
}

func pageOf(list []mail.Message, more bool) *wire.Messages {
	page := &wire.Messages{HasMore: more}
	for _, m := range list {
		page.Messages = append(page.Messages, messageOf(m))
	}
	if n := len(list); n > 0 {
		page.NextCursor = writeCursor(mark{list[n-1].CreatedAt.UnixNano(), list[n-1].ID}, more)
	}
	return page
}

// ofBoth returns a message that the caller has sent or received.
func (r *Relay) ofBoth(c *call) (mail.Message, *wire.Error) {
	m, err := r.store.Message(c.Context(), c.PathValue("id"))
	switch {
	case err != nil:
		return mail.Message{}, r.refusal(err, wire.MessageNotFound)
	case m.Sender != c.key() && m.Recipient != c.key():
		return mail.Message{}, wire.Refuse(wire.Forbidden, "the caller is neither the sender nor the recipient of this message")
	default:
		return m, nil
	}
}

// ofMessages handles both /v1/messages/threads/{id} and /v1/messages/{id}/status, because no message has the id "threads".
func (r *Relay) ofMessages(w http.ResponseWriter, c *call) *wire.Error {
	switch {
	case c.PathValue("id") == "threads":
		return r.thread(w, c, c.PathValue("part"))
	case c.PathValue("part") == "status":
		return r.status(w, c)
	default:
		return wire.Refuse(wire.NotFound, "this path does not exist: see /v1/openapi.json")
	}
}

func (r *Relay) message(w http.ResponseWriter, c *call) *wire.Error {
	m, refused := r.ofBoth(c)
	if refused != nil {
		return refused
	}
	out := messageOf(m)
	text, err := out.AppendJSON(nil)
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	return refusedIn(r.large(w, c, text))
}

func (r *Relay) status(w http.ResponseWriter, c *call) *wire.Error {
	m, refused := r.ofBoth(c)
	if refused != nil {
		return refused
	}
	r.json(w, http.StatusOK, receiptOf(m))
	return nil
}

// thread lists the messages that the caller sent or received in a thread, oldest first.
func (r *Relay) thread(w http.ResponseWriter, c *call, thread string) *wire.Error {
	q, limit, refused := readPage(c.URL.RawQuery, wire.DefaultPage)
	if refused != nil {
		return refused
	}
	after, refused := readPlace(q)
	if refused != nil {
		return refused
	}
	list, more, err := r.store.Thread(c.Context(), thread, c.key(), after, limit)
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	text, err := pageOf(list, more).AppendJSON(nil)
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	return refusedIn(r.large(w, c, text))
}
