package client

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Limits of responses, in bytes.
const (
	maxErrorAnswer = 64 << 10
	maxAnswer      = 1 << 20 // a profile, or a page of an access list or of tags
	maxAgents      = 64 << 20
	// maxMessage is the maximum size of one message in a response, in bytes: the largest message that can be sent, plus the members that the
	// relay adds.
	maxMessage = wire.MaxRequest + 64<<10
)

// Limits of a relay's texts, in characters.
const (
	maxText    = 500 // maximum length of a message or a detail
	maxErrCode = 64
)

// readError returns the error for a response whose status is not 2xx: a *wire.Error, or a *StatusError if the body is not an error
// of the protocol.
func readError(a answer) error {
	after, _ := fetch.RetryAfter(a.header)
	tree, err := strictjson.DecodeObject(a.body)
	inner := tree.Object("error")
	code := inner.Text("code")
	if err != nil || !isCode(code) {
		return &StatusError{Status: a.status, RetryAfter: after}
	}
	return &wire.Error{
		Code: wire.Code(code), Message: shown(inner.Text("message"), maxText), RequestID: shown(inner.Text("request_id"), wire.MaxThreadID),
		Details: inner.Object("details"), Status: a.status, RetryAfter: after,
	}
}

func isCode(text string) bool {
	return text != "" && len(text) <= maxErrCode && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
}

// shown makes untrusted text safe to print: it returns a single line. If the line is longer than maxChars characters, shown cuts it there
// and adds an ellipsis.
func shown(text string, maxChars int) string {
	text = strings.Map(func(r rune) rune {
		if wire.Shown(string(r)) {
			return r
		}
		return ' '
	}, text[:min(len(text), 4*maxChars)])
	if runes := []rune(text); len(runes) > maxChars {
		return string(runes[:maxChars]) + "…"
	}
	return text
}

// decode parses a document strictly and stores it in v. The error wraps ErrAnswer and does not quote the document.
func decode(document []byte, v any) error {
	if !strictjson.Valid(document) {
		return fmt.Errorf("%w: the document is not valid JSON", ErrAnswer)
	}
	return unpack(document, v)
}

// unpack decodes into v the members of a document that v declares, and skips all others. It is for documents that contain text from other
// agents: one agent must not be able to make the entries of others unreadable, for example by deep nesting.
func unpack(document []byte, v any) error {
	if !strictjson.IsObject(document) {
		return fmt.Errorf("%w: the document is not a JSON object", ErrAnswer)
	}
	if err := json.Unmarshal(document, v); err != nil {
		return fmt.Errorf("%w: the document is not JSON, or a member has the wrong type", ErrAnswer)
	}
	return nil
}

// cursorOf returns the cursor of the next page; "" if this is the last one. If a relay announces a further page but sends no cursor, the
// page counts as the last one.
func cursorOf(more bool, cursor *string) string {
	if !more || cursor == nil || len(*cursor) > maxCursor {
		return ""
	}
	return *cursor
}

const maxCursor = 4 << 10

// checked returns a relayed message if it conforms to the protocol and is addressed to or sent by this agent.
func (c *Client) checked(document []byte) (m wire.Message, ok bool) {
	if unpack(document, &m) != nil {
		return wire.Message{}, false
	}
	switch {
	case !isID(m.ID), m.Recipient != c.key && m.Sender != c.key, m.ContentType == "", len(m.ContentType) > 4*wire.MaxContentType,
		m.InReplyTo != "" && !isID(m.InReplyTo), m.ThreadID != "" && !isID(m.ThreadID), len(m.Attachments) > wire.MaxAttachments,
		!wire.Shown(m.ContentType), len(m.Body) == 0 && len(m.Attachments) == 0, len(m.Metadata) > wire.MaxMetadata:
		return wire.Message{}, false
	}
	for _, a := range m.Attachments {
		if !isID(a.BlobID) || a.Size < 0 || len(a.Filename) > 4*wire.MaxFilename || !wire.Shown(a.Filename+a.ContentType) {
			return wire.Message{}, false
		}
	}
	return m, true
}

// isID reports whether text has the form of a message, thread or blob id.
func isID(text string) bool {
	return text != "" && text != "." && text != ".." && len([]rune(text)) <= wire.MaxThreadID && wire.Shown(text)
}
