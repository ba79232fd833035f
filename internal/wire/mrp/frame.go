package mrp

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// The types of frames on a WebSocket. Each frame is a text frame that contains one JSON object.
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

// An AuthFrame is the first frame that an agent sends.
type AuthFrame struct {
	Type      string `json:"type"`
	PublicKey string `json:"public_key"`
	Timestamp string `json:"timestamp"`
	Signature string `json:"signature"`
}

// A Frame is a frame that an agent sends after the AuthFrame.
type Frame struct {
	Type      string
	MessageID string // for an ack
	ID        string // for a send, chosen by the agent
	Send      Send
}

// ReadFrame parses a frame from an agent. If the type is unknown, only Type is set, because new types may be added. If the message of a
// send frame is invalid, ReadFrame returns an error with a code of ReadSend, together with the ID of the frame.
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

// inner reads the message of a send frame, either from the member message or from the members of the frame.
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

// ReadAuthFrame parses the first frame. The error has the code unauthorized.
func ReadAuthFrame(document []byte) (Auth, *Error) {
	o, err := readObject(document)
	if err != nil || o.members.Text("type") != FrameAuth {
		return Auth{}, refuse(Unauthorized, "the first frame must be of type auth, with public_key, timestamp and signature")
	}
	return NewAuth(o.members.Text("public_key"), o.members.Text("timestamp"), o.members.Text("signature"))
}

// A Reply is a frame from a relay.
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

// AppendMessage appends a frame that delivers m. It copies the body of m byte for byte.
func AppendMessage(out []byte, m *Message) ([]byte, error) {
	out, err := m.AppendJSON(append(out, `{"type":"message","message":`...))
	if err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// ReadReply parses a frame from a relay. It ignores unknown members.
func ReadReply(document []byte) (r Reply, err error) {
	if !strictjson.Valid(document) {
		return Reply{}, errors.New("the frame is not a JSON object")
	}
	err = json.Unmarshal(document, &r)
	return r, err
}
