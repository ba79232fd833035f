package protocol

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// The performatives of http.
const (
	HTTPRequest  Performative = "request"
	HTTPResponse Performative = "response"
)

// The limits of HTTP in a message. MaxHeaderLines is a number of lines; all others are numbers of bytes.
const (
	MaxMethod      = 32
	MaxURL         = 8 << 10
	MaxHeader      = 64 << 10
	MaxHeaderLines = 256
)

var httpTable = table{HTTPRequest, HTTPResponse}

// HTTP is the http protocol. It carries a request and its response. Both implementations of the framework have a package for it, with the
// same encoding.
var HTTP = Protocol{
	Name: "http", Specs: []wire.PublicID{spec("fetchai", "http"), spec("valory", "http")}, Parse: decodeHTTP,
	Rules: Rules{
		Starter: "client", Responder: "server",
		Initial: []Performative{HTTPRequest},
		Replies: map[Performative][]Performative{HTTPRequest: {HTTPResponse}},
		Ends:    map[Performative]EndState{HTTPResponse: Successful},
	},
}

// An HTTPMessage is a message of http.
type HTTPMessage struct {
	Performative Performative
	Method       string // for HTTPRequest, like URL
	URL          string
	Version      string
	Status       int // for HTTPResponse, like StatusText; 100 to 999
	StatusText   string
	// Header contains each field as often as it occurred. It is nil if there were no fields.
	Header http.Header
	Body   []byte
}

// Kind returns the performative.
func (m HTTPMessage) Kind() Performative { return m.Performative }

func decodeHTTP(content []byte) (Content, error) {
	var m HTTPMessage
	if err := httpTable.decode(content, &m.Performative, m.fields); err != nil {
		return nil, err
	}
	if m.Performative == HTTPResponse && m.Status < 100 {
		return nil, fmt.Errorf("%w: not an HTTP status", wire.ErrUndecodable)
	}
	return m, nil
}

func (m *HTTPMessage) fields() []field.Field {
	common := []field.Field{
		field.DecodedOf(4, &m.Header, MaxHeader, parseHeader, func(out []byte) []byte {
			return field.AppendText(out, 4, formatHeader(m.Header))
		}),
		field.BytesOf(5, &m.Body, wire.MaxEnvelope),
	}
	if m.Performative == HTTPRequest {
		return append([]field.Field{
			field.TextOf(1, &m.Method, MaxMethod), field.TextOf(2, &m.URL, MaxURL), field.TextOf(3, &m.Version, MaxMethod),
		}, common...)
	}
	return append([]field.Field{
		field.TextOf(1, &m.Version, MaxMethod), field.EnumOf(2, &m.Status, 999), field.TextOf(3, &m.StatusText, MaxText),
	}, common...)
}

// parseHeader parses lines of the form "Name: value", with or without an empty line at the end, or the JSON object of strings that the
// webhook connection writes. It returns nil if text is blank.
func parseHeader(block []byte) (h http.Header, err error) {
	text := string(block)
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: an HTTP header is not UTF-8", wire.ErrUndecodable)
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if strings.HasPrefix(text, "{") {
		h, err = parseJSONHeader(text)
	} else {
		rest := bufio.NewReader(strings.NewReader(strings.TrimRight(text, "\r\n") + "\n\n"))
		var fields textproto.MIMEHeader
		fields, err = textproto.NewReader(rest).ReadMIMEHeader()
		h = http.Header(fields)
		if _, more := rest.Peek(1); more == nil {
			err = wire.ErrUndecodable
		}
	}
	if err != nil { // the library's error quotes the line
		return nil, fmt.Errorf("%w: not a valid HTTP header", wire.ErrUndecodable)
	}
	lines := 0
	for name, values := range h {
		for _, value := range values {
			if lines++; !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("%w: not a valid HTTP header", wire.ErrUndecodable)
			}
		}
	}
	if lines > MaxHeaderLines {
		return nil, fmt.Errorf("%w: too many lines in an HTTP header", wire.ErrUndecodable)
	}
	return h, nil
}

func parseJSONHeader(text string) (http.Header, error) {
	object, err := strictjson.DecodeObjectOf([]byte(text), MaxHeaderLines+1)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for name, v := range object {
		value, ok := v.(string)
		if !ok {
			return nil, wire.ErrUndecodable
		}
		h.Add(name, value)
	}
	return h, nil
}

// formatHeader encodes a header in the form that parseHeader parses: lines sorted by name, and an empty line at the end.
func formatHeader(h http.Header) string {
	if len(h) == 0 {
		return ""
	}
	var block bytes.Buffer
	_ = h.Write(&block) // writing to memory does not fail
	return strings.ReplaceAll(block.String(), "\r\n", "\n") + "\n"
}

// Encode returns the content of a wire.Message.
func (m HTTPMessage) Encode() []byte { return httpTable.encode(m.Performative, m.fields()) }
