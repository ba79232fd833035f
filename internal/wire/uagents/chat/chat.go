// Package chat reads and writes the text messages of AgentChatProtocol 0.3.0. Receivers in Python fail on a member that is not in the
// model, so this package writes only the members of the model.
package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Limits of a received message.
const (
	// MaxText limits the text of a message, in bytes.
	MaxText = 64 << 10

	maxItems  = 100
	maxValues = 10_000
)

// ErrMessage means that a payload is not a ChatMessage. The error text may name a member, but does not quote its value.
var ErrMessage = errors.New("not a ChatMessage")

// A Message is one message of a chat.
type Message struct {
	ID string // msg_id: a UUID of version 4
	// Text consists of the text items, separated by line feeds.
	Text string
	// Texts is the number of text items.
	Texts int
	// Others is the number of items without text, such as files. It does not count items that start or end a session.
	Others int
	Starts bool // whether the message starts a session
	Ends   bool // whether the message ends a session
}

// Parse parses a ChatMessage. It ignores the timestamp, because the expiry of the envelope is signed as well. The error wraps ErrMessage.
func Parse(text []byte) (Message, error) {
	tree, err := strictjson.DecodeObjectOf(text, maxValues)
	if err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	var m Message
	for name := range tree {
		if name != "timestamp" && name != "msg_id" && name != "content" {
			return Message{}, fmt.Errorf("%w: want only the members timestamp, msg_id and content", ErrMessage)
		}
	}
	id, err := uuid.Parse(tree.Text("msg_id"))
	if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		return Message{}, fmt.Errorf("%w: msg_id must be a UUID of version 4", ErrMessage)
	}
	m.ID = id.String()
	content, ok := tree["content"].([]any)
	if !ok || len(content) > maxItems {
		return Message{}, fmt.Errorf("%w: content must be a list of at most %d items", ErrMessage, maxItems)
	}
	var texts []string
	for _, v := range content {
		item, _ := strictjson.AsObject(v)
		switch item.Text("type") {
		case "text":
			if _, isText := item["text"].(string); !isText || len(item) != 2 {
				return Message{}, fmt.Errorf("%w: an item of type text must have only the members text and type", ErrMessage)
			}
			texts = append(texts, item.Text("text"))
		case "start-session", "end-session":
			if len(item) != 1 {
				return Message{}, fmt.Errorf("%w: an item that starts or ends a session must have only the member type", ErrMessage)
			}
			m.Starts, m.Ends = m.Starts || item.Text("type") == "start-session", m.Ends || item.Text("type") == "end-session"
		case "resource", "metadata", "start-stream", "end-stream":
			m.Others++
		default:
			return Message{}, fmt.Errorf("%w: an item of content has an unknown type", ErrMessage)
		}
	}
	m.Texts = len(texts)
	if m.Text = strings.Join(texts, "\n"); len(m.Text) > MaxText {
		return Message{}, fmt.Errorf("%w: the text must be at most %d bytes long", ErrMessage, MaxText)
	}
	return m, nil
}

// Say encodes a ChatMessage with one text item and a new id. If ends is set, the message also ends the session.
func Say(text string, ends bool, now time.Time) ([]byte, error) {
	w := strictjson.NewWriter(nil)
	w.Text("timestamp", timestamp(now))
	w.Text("msg_id", uuid.NewString())
	w.Append("content", func(out []byte) ([]byte, error) {
		item := strictjson.NewWriter(append(out, '['))
		item.Text("type", "text")
		item.Text("text", text)
		out, err := item.End()
		if ends {
			out = append(out, `,{"type":"end-session"}`...)
		}
		return append(out, ']'), err
	})
	return w.End()
}

// Acknowledge encodes a ChatAcknowledgement of the message with the given id.
func Acknowledge(id string, now time.Time) ([]byte, error) {
	w := strictjson.NewWriter(nil)
	w.Text("timestamp", timestamp(now))
	w.Text("acknowledged_msg_id", id)
	return w.End()
}

// timestamp formats a time in the way that receivers in Python expect.
func timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000-07:00") }
