// Package jsonrpc reads and writes the envelope of JSON-RPC 2.0 messages for the protocols that are built on it. It parses messages
// strictly and appends responses to byte slices. Batches are not supported.
package jsonrpc

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// MaxValues limits the number of values in one message, including nested ones.
const MaxValues = 100_000

// MaxID limits the size of a request id: the number of bytes in its JSON encoding.
const MaxID = 256

// Error codes. JSON-RPC 2.0, section 5.1.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// A Message is a request, a notification, which is a request without an id, or a client's response to a request of the server. See JSON-RPC
// 2.0, sections 4 and 5.
type Message struct {
	ID     ID
	Method string
	Params strictjson.Object // never nil
	// Answer is true if the message is a response. Such a message has no Method.
	Answer bool
}

// IsNotification reports whether the message expects no response.
func (m *Message) IsNotification() bool { return m.ID == "" }

// An ID is the id of a request in its JSON encoding, which is a string or an integer. It is empty if the request has no id or the id could
// not be read.
type ID string

// An Error is the error member of a response. JSON-RPC 2.0, section 5.1.
type Error struct {
	Code    int
	Message string
	Data    []byte // JSON; nil means no data
}

func (e *Error) Error() string { return strconv.Itoa(e.Code) + " " + e.Message }

// Read parses one message. If the message is invalid, the returned Message still has the ID, provided that the id could be read. The error
// never quotes the input.
func Read(data []byte) (Message, *Error) {
	tree, err := strictjson.DecodeObjectOf(data, MaxValues)
	if err != nil {
		return Message{}, unread(data, err)
	}
	m := Message{Params: strictjson.Object{}}
	id, sent := tree["id"]
	if sent {
		if m.ID = idOf(id); m.ID == "" {
			return m, &Error{Code: InvalidRequest, Message: "The id must be a string or an integer, of at most 256 bytes."}
		}
	}
	if tree["jsonrpc"] != "2.0" {
		return m, &Error{Code: InvalidRequest, Message: `The member jsonrpc must be "2.0".`}
	}
	method, named := tree["method"]
	if !named {
		_, result := tree["result"]
		_, failed := tree["error"]
		if m.Answer = sent && result != failed; m.Answer {
			return m, nil
		}
	}
	if m.Method, named = method.(string); !named || m.Method == "" {
		return m, &Error{Code: InvalidRequest, Message: "The member method must be a string."}
	}
	if params := tree["params"]; params != nil {
		object, isObject := strictjson.AsObject(params)
		if !isObject {
			return m, &Error{Code: InvalidParams, Message: "The member params must be an object."}
		}
		m.Params = object
	}
	return m, nil
}

// unread returns the error for a document that could not be decoded as a JSON object.
func unread(data []byte, err error) *Error {
	if at := strings.TrimLeft(string(data[:min(len(data), 64)]), " \t\r\n"); strings.HasPrefix(at, "[") {
		return &Error{Code: InvalidRequest, Message: "Batches are not accepted: send one message in each request."}
	}
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		where := " (line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column) + ")."
		return &Error{Code: ParseError, Message: "The body is not acceptable JSON: " + e.Reason + where}
	}
	return &Error{Code: ParseError, Message: "The body is not acceptable JSON."}
}

// idOf returns the JSON encoding of an id, or "" if v is not a valid id.
func idOf(v any) ID {
	switch v := v.(type) {
	case string:
		if out, err := strictjson.Append(nil, v); err == nil && len(out) <= MaxID {
			return ID(out)
		}
	case json.Number:
		if s := v.String(); len(s) <= MaxID && strings.Trim(s, "0123456789") == strings.Repeat("-", strings.Count(s, "-")) {
			return ID(s)
		}
	}
	return ""
}

// AppendResult appends the response to the request with the given id. result must be JSON.
func AppendResult(out []byte, id ID, result []byte) []byte {
	return EndResult(append(BeginResult(out, id), result...))
}

// BeginResult appends the part of a response that precedes the result. The caller then appends the result and calls EndResult.
func BeginResult(out []byte, id ID) []byte { return append(head(out, id), `,"result":`...) }

// EndResult appends the part of a response that follows the result.
func EndResult(out []byte) []byte { return append(out, '}') }

// AppendEvent appends a message as a server-sent event, including the blank line that ends the event. It replaces line breaks in the
// message with spaces, because a line break would end the data line. In valid JSON, line breaks occur only between tokens.
func AppendEvent(out, message []byte) []byte {
	out = append(out, "data: "...)
	for _, b := range message {
		if b == '\n' || b == '\r' {
			b = ' '
		}
		out = append(out, b)
	}
	return append(out, "\n\n"...)
}

// AppendError appends the error response to the request with the given id.
func AppendError(out []byte, id ID, e *Error) []byte {
	out = append(strconv.AppendInt(append(head(out, id), `,"error":{"code":`...), int64(e.Code), 10), `,"message":`...)
	quoted, err := strictjson.Append(out, e.Message)
	if err != nil { // then the message is left empty
		quoted = append(out, `""`...)
	}
	if out = quoted; e.Data != nil {
		out = append(append(out, `,"data":`...), e.Data...)
	}
	return append(out, "}}"...)
}

func head(out []byte, id ID) []byte {
	if id == "" {
		id = "null"
	}
	return append(append(out, `{"jsonrpc":"2.0","id":`...), id...)
}
