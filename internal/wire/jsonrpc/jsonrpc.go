// Package jsonrpc is the frame of JSON-RPC 2.0 messages for the protocols built on it: it reads a message strictly, and appends responses
// to bytes. Batches are not supported.
package jsonrpc

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// MaxValues bounds the values of one message, including nested ones.
const MaxValues = 100_000

// MaxID bounds the id of a request, in bytes as it is written.
const MaxID = 256

// The codes of errors. JSON-RPC 2.0, section 5.1.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// A Message is a request, or a notification, which has no ID. JSON-RPC 2.0, section 4.
type Message struct {
	ID     ID
	Method string
	Params strictjson.Object // never nil
	// Answer: the message is a response of the client, and has no Method.
	Answer bool
}

// IsNotification reports whether the message expects no response.
func (m *Message) IsNotification() bool { return m.ID == "" }

// An ID is the id of a request, in JSON: a string or an integer. Empty: there is none, or it could not be read.
type ID string

// An Error is returned instead of a result. JSON-RPC 2.0, section 5.1.
type Error struct {
	Code    int
	Message string
	Data    []byte // JSON; nil: none
}

func (e *Error) Error() string { return strconv.Itoa(e.Code) + " " + e.Message }

// Read reads one message. If the message is invalid, the Message has its id, if that could be read. The error never quotes the input.
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

// unread explains why a document is not a message.
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

// idOf returns an id in the form of responses; empty: there is none.
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

// AppendResult appends the response to a request. result is JSON.
func AppendResult(out []byte, id ID, result []byte) []byte {
	return EndResult(append(BeginResult(out, id), result...))
}

// BeginResult appends the text before a result. The caller then appends the result, and calls EndResult.
func BeginResult(out []byte, id ID) []byte { return append(head(out, id), `,"result":`...) }

// EndResult appends the text after a result.
func EndResult(out []byte) []byte { return append(out, '}') }

// AppendEvent appends a message as the data of a server-sent event, with the blank line that ends it. It replaces line feeds, which JSON
// has only between tokens and which would end the line, by spaces.
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

// AppendError appends the error response to a request.
func AppendError(out []byte, id ID, e *Error) []byte {
	out = append(strconv.AppendInt(append(head(out, id), `,"error":{"code":`...), int64(e.Code), 10), `,"message":`...)
	quoted, err := strictjson.Append(out, e.Message)
	if err != nil { // without our own text
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
