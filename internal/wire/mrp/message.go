package mrp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A MessageStatus is the state of a message.
type MessageStatus string

// The states of a message. A message is in state sent until it is delivered or expires.
const (
	Sent      MessageStatus = "sent"
	Delivered MessageStatus = "delivered"
	Expired   MessageStatus = "expired"
)

// A Message is a message that a relay has accepted, in the form that the relay returns to the sender and to the recipient.
type Message struct {
	ID          string          `json:"message_id"`
	Sender      Key             `json:"sender_key"`
	Recipient   Key             `json:"recipient_key"`
	ContentType string          `json:"content_type"`
	Body        json.RawMessage `json:"body,omitempty"` // any JSON value, byte for byte as sent; nil means no body
	Attachments []Attachment    `json:"attachments"`
	ThreadID    string          `json:"thread_id,omitempty"`
	InReplyTo   string          `json:"in_reply_to,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // an object
	Status      MessageStatus   `json:"status"`
	CreatedAt   time.Time       `json:"created_at"`
	ExpiresAt   time.Time       `json:"expires_at"`
	DeliveredAt time.Time       `json:"delivered_at,omitzero"`
}

// AppendJSON appends the message as JSON. Unlike json.Marshal, it copies the body byte for byte.
func (m *Message) AppendJSON(out []byte) ([]byte, error) {
	w := strictjson.NewWriter(out)
	w.Text("message_id", m.ID)
	w.Text("sender_key", m.Sender.String())
	w.Text("recipient_key", m.Recipient.String())
	w.Text("content_type", m.ContentType)
	w.Append("attachments", func(out []byte) ([]byte, error) { return appendAttachments(out, m.Attachments) })
	w.Text("status", string(m.Status))
	w.Time("created_at", m.CreatedAt.UTC())
	w.Time("expires_at", m.ExpiresAt.UTC())
	w.Optional("thread_id", m.ThreadID)
	w.Optional("in_reply_to", m.InReplyTo)
	w.JSON("body", m.Body)
	w.JSON("metadata", m.Metadata)
	if !m.DeliveredAt.IsZero() {
		w.Time("delivered_at", m.DeliveredAt.UTC())
	}
	return w.End()
}

// An Attachment refers to a blob that belongs to a message. Size, Hash and ContentType describe the blob that the relay stores.
type Attachment struct {
	BlobID      string `json:"blob_id"`
	Filename    string `json:"filename,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Size        int64  `json:"size"`           // bytes
	Hash        string `json:"hash,omitempty"` // SHA-256, in lowercase hex
	// Encrypted means that the blob is encrypted with a data key. DEKEnc and DEKCT contain that key, encrypted for the recipient.
	Encrypted bool   `json:"encrypted,omitempty"`
	DEKEnc    string `json:"dek_enc,omitempty"`
	DEKCT     string `json:"dek_ct,omitempty"`
}

func appendAttachments(out []byte, list []Attachment) ([]byte, error) {
	if len(list) == 0 {
		return append(out, "[]"...), nil
	}
	text, err := json.Marshal(list)
	return append(out, text...), err
}

// A Send is a request to send a message.
type Send struct {
	Recipient      Key             `json:"recipient_key"`
	ContentType    string          `json:"content_type,omitempty"` // "" means TypeJSON
	Body           json.RawMessage `json:"body,omitempty"`
	Attachments    []Attachment    `json:"attachments,omitempty"`
	ThreadID       string          `json:"thread_id,omitempty"`
	InReplyTo      string          `json:"in_reply_to,omitempty"`
	ExpiresIn      int64           `json:"expires_in,omitempty"` // seconds; 0 means DefaultExpiry
	Metadata       json.RawMessage `json:"metadata,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"` // an extension that other implementations ignore
}

// AppendJSON appends the request as JSON. It copies the body byte for byte.
func (s *Send) AppendJSON(out []byte) ([]byte, error) {
	w := strictjson.NewWriter(out)
	w.Text("recipient_key", s.Recipient.String())
	w.Optional("content_type", s.ContentType)
	w.Optional("thread_id", s.ThreadID)
	w.Optional("in_reply_to", s.InReplyTo)
	w.Optional("idempotency_key", s.IdempotencyKey)
	if s.ExpiresIn != 0 {
		w.JSON("expires_in", strconv.AppendInt(nil, s.ExpiresIn, 10))
	}
	if len(s.Attachments) > 0 {
		w.Append("attachments", func(out []byte) ([]byte, error) { return appendAttachments(out, s.Attachments) })
	}
	w.JSON("body", s.Body)
	w.JSON("metadata", s.Metadata)
	return w.End()
}

// ReadSend parses the body of a request to send a message. The error has the code bad_request, payload_too_large or unprocessable_entity.
func ReadSend(document []byte) (Send, *Error) {
	o, err := readObject(document)
	if err != nil {
		return Send{}, err
	}
	return o.send()
}

func (o *object) send() (Send, *Error) {
	body, there := o.raw["body"]
	s := Send{
		Recipient: o.key("recipient_key"), ContentType: o.text("content_type", MaxContentType), ThreadID: o.text("thread_id", MaxThreadID),
		InReplyTo: o.text("in_reply_to", MaxThreadID), IdempotencyKey: o.text("idempotency_key", MaxIdempotency),
		ExpiresIn: o.whole("expires_in", 1, int64(MaxExpiry/time.Second), int64(DefaultExpiry/time.Second)),
		Metadata:  o.asSent("metadata", MaxMetadata), Body: body,
	}
	s.ContentType = cmp.Or(s.ContentType, TypeJSON)
	if !Shown(s.ContentType) {
		o.fail(BadRequest, "content_type", "contains characters that are not allowed in a content type")
	}
	for i, item := range o.list("attachments", MaxAttachments) {
		s.Attachments = append(s.Attachments, o.attachment(i, item))
	}
	switch {
	case o.err != nil:
		return Send{}, o.err
	case len(body) > MaxBody:
		return Send{}, refuse(TooLarge, fmt.Sprintf("body must be at most %d bytes long: attach larger content as a blob", MaxBody))
	case !there && len(s.Attachments) == 0:
		return Send{}, refuse(Unprocessable, "body and attachment are missing")
	}
	return s, nil
}

func (o *object) attachment(i int, item any) (a Attachment) {
	if id, ok := item.(string); ok {
		item = map[string]any{"blob_id": id}
	}
	members, ok := strictjson.AsObject(item)
	if !ok {
		o.fail(BadRequest, "attachments", "must contain objects with a blob_id")
		return a
	}
	inner := &object{members: members, at: fmt.Sprintf("%sattachments/%d/", o.at, i), err: o.err}
	a = Attachment{
		BlobID: inner.required("blob_id", MaxThreadID), Filename: inner.text("filename", MaxFilename),
		Encrypted: members.Flag("encrypted"), DEKEnc: inner.text("dek_enc", MaxSealedKey), DEKCT: inner.text("dek_ct", MaxSealedKey),
	}
	o.err = inner.err
	return a
}

// A Receipt is the response to the sender of a message.
type Receipt struct {
	MessageID   string        `json:"message_id"`
	Status      MessageStatus `json:"status"`
	CreatedAt   time.Time     `json:"created_at"`
	ExpiresAt   time.Time     `json:"expires_at"`
	DeliveredAt time.Time     `json:"delivered_at,omitzero"`
}

// Messages is one page of a list of messages.
type Messages struct {
	Messages   []Message `json:"messages"`
	HasMore    bool      `json:"has_more"`
	NextCursor *string   `json:"next_cursor"`
}

// AppendJSON appends the page as JSON. It copies the bodies byte for byte.
func (p *Messages) AppendJSON(out []byte) ([]byte, error) {
	out = append(out, `{"messages":[`...)
	var err error
	for i := range p.Messages {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = p.Messages[i].AppendJSON(out); err != nil {
			return nil, err
		}
	}
	return appendPage(append(out, ']'), p.HasMore, p.NextCursor)
}

func appendPage(out []byte, more bool, cursor *string) ([]byte, error) {
	tail, err := json.Marshal(struct {
		HasMore    bool    `json:"has_more"`
		NextCursor *string `json:"next_cursor"`
	}{more, cursor})
	if err != nil {
		return nil, err
	}
	out = append(out, ',')
	return append(out, tail[1:]...), nil
}
