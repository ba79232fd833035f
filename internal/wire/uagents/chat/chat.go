// Package chat reads and writes texts between agents: the messages of AgentChatProtocol 0.3.0. Receivers in Python accept exactly the
// members of the model and fail on any other, so this package writes no others.
package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Bounds of a message that is read.
const (
	// MaxText bounds the text of a message, in bytes.
	MaxText = 64 << 10

	maxItems  = 100
	maxValues = 10_000
)

// ErrMessage means that bytes are not a ChatMessage. Its text names a member, and no value.
var ErrMessage = errors.New("it is not a ChatMessage")

// A Message is one message of a chat.
type Message struct {
	ID string // msg_id: a UUID of version 4
	// Text has the text items, separated by line feeds.
	Text string
	// Texts is the number of text items.
	Texts int
	// Others is the number of items without text, such as files, beside those that start or end a session.
	Others int
	Starts bool // a session
	Ends   bool // a session
}

// Parse parses a ChatMessage. It ignores its time, because that of the envelope is signed as well. The error is ErrMessage.
func Parse(text []byte) (Message, error) {
	tree, err := strictjson.DecodeObjectOf(text, maxValues)
	if err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	var m Message
	for name := range tree {
		if name != "timestamp" && name != "msg_id" && name != "content" {
			return Message{}, fmt.Errorf("%w: want timestamp, msg_id and content, and no other member", ErrMessage)
		}
	}
	id, err := uuid.Parse(tree.Text("msg_id"))
	if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		return Message{}, fmt.Errorf("%w: want a UUID of version 4 as msg_id", ErrMessage)
	}
	m.ID = id.String()
	content, ok := tree["content"].([]any)
	if !ok || len(content) > maxItems {
		return Message{}, fmt.Errorf("%w: want a list of at most %d items as content", ErrMessage, maxItems)
	}
	var texts []string
	for _, v := range content {
		item, _ := strictjson.AsObject(v)
		switch item.Text("type") {
		case "text":
			if _, isText := item["text"].(string); !isText || len(item) != 2 {
				return Message{}, fmt.Errorf("%w: want text and type, and no other member, in an item of type text", ErrMessage)
			}
			texts = append(texts, item.Text("text"))
		case "start-session", "end-session":
			if len(item) != 1 {
				return Message{}, fmt.Errorf("%w: an item that starts or ends a session has other members", ErrMessage)
			}
			m.Starts, m.Ends = m.Starts || item.Text("type") == "start-session", m.Ends || item.Text("type") == "end-session"
		case "resource", "metadata", "start-stream", "end-stream":
			m.Others++
		default:
			return Message{}, fmt.Errorf("%w: an item of content has no type that is known", ErrMessage)
		}
	}
	m.Texts = len(texts)
	if m.Text = strings.Join(texts, "\n"); len(m.Text) > MaxText {
		return Message{}, fmt.Errorf("%w: want at most %d bytes of text", ErrMessage, MaxText)
	}
	return m, nil
}

// Say encodes a ChatMessage with one text item, under a new id. ends: it is the last one of its session.
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

// Acknowledge encodes the ChatAcknowledgement of a message.
func Acknowledge(id string, now time.Time) ([]byte, error) {
	w := strictjson.NewWriter(nil)
	w.Text("timestamp", timestamp(now))
	w.Text("acknowledged_msg_id", id)
	return w.End()
}

// timestamp formats a time like receivers in Python.
func timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000-07:00") }
