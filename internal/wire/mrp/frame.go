package mrp

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// The types of frames on a WebSocket. Each is one text frame with a JSON object.
const (
	FrameAuth    = "auth"
	FrameAuthed  = "auth_result"
	FrameMessage = "message"
	FrameAck     = "ack"
	FrameSend    = "send"
	FrameSent    = "send_result"
	FrameError   = "error"
	FramePing    = "ping"
	FramePong    = "pong"
)

// An AuthFrame is the first frame of an agent.
type AuthFrame struct {
	Type      string `json:"type"`
	PublicKey string `json:"public_key"`
	Timestamp string `json:"timestamp"`
	Signature string `json:"signature"`
}

// A Frame is a frame that an agent sends after the first.
type Frame struct {
	Type      string
	MessageID string // of an ack
	ID        string // of a send, chosen by the agent
	Send      Send
}

// ReadFrame reads a frame of an agent. A frame of an unknown type has only its type; types may be added. The errors are those of
// ReadSend; the ID of a send is set even then.
func ReadFrame(document []byte) (Frame, *Error) {
	o, err := readObject(document)
	if err != nil {
		return Frame{}, err
	}
	f := Frame{Type: o.required("type", MaxName)}
	switch f.Type {
	case FrameAck:
		f.MessageID = o.required("message_id", MaxThreadID)
	case FrameSend:
		f.ID = o.text("id", MaxThreadID)
		if o.err == nil {
			f.Send, o.err = o.inner()
		}
	}
	return f, o.err
}

// inner reads the message of a send frame: its member message, or its own members.
func (o *object) inner() (Send, *Error) {
	raw := o.raw["message"]
	if raw == nil {
		return o.send()
	}
	inside, err := readObject(raw)
	if err != nil {
		return Send{}, err
	}
	inside.at = "message/"
	return inside.send()
}

// ReadAuthFrame reads the first frame. The error is of code unauthorized.
func ReadAuthFrame(document []byte) (Auth, *Error) {
	o, err := readObject(document)
	if err != nil || o.members.Text("type") != FrameAuth {
		return Auth{}, refuse(Unauthorized, "the first frame must be of type auth, with public_key, timestamp and signature")
	}
	return NewAuth(o.members.Text("public_key"), o.members.Text("timestamp"), o.members.Text("signature"))
}

// A Reply is a frame of a relay.
type Reply struct {
	Type      string     `json:"type"`
	ID        string     `json:"id,omitempty"`
	Status    string     `json:"status,omitempty"` // ok or error
	PublicKey *Key       `json:"public_key,omitempty"`
	MessageID string     `json:"message_id,omitempty"`
	CreatedAt *time.Time `json:"created_at,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Message   *Message   `json:"message,omitempty"`
	Error     *Error     `json:"error,omitempty"`
}

// AppendMessage appends a frame with a message, whose body stays byte for byte.
func AppendMessage(out []byte, m *Message) ([]byte, error) {
	out, err := m.AppendJSON(append(out, `{"type":"message","message":`...))
	if err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// ReadReply reads a frame of a relay and ignores unknown members.
func ReadReply(document []byte) (r Reply, err error) {
	if !strictjson.Valid(document) {
		return Reply{}, errors.New("the frame is not a JSON object")
	}
	err = json.Unmarshal(document, &r)
	return r, err
}
