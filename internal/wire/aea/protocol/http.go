package protocol

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

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
	p, body, err := httpTable.open(content)
	if err != nil {
		return nil, err
	}
	m := HTTPMessage{Performative: p}
	r := field.Read(body)
	for r.Next() {
		switch at := r.Number(); {
		case at == 4:
			m.Header, err = parseHeader(r.Text(MaxHeader))
			r.Within(err)
		case at == 5:
			m.Body = r.Bytes(wire.MaxEnvelope)
		case p == HTTPRequest && at == 1:
			m.Method = r.Text(MaxMethod)
		case p == HTTPRequest && at == 2:
			m.URL = r.Text(MaxURL)
		case p == HTTPRequest && at == 3, p == HTTPResponse && at == 1:
			m.Version = r.Text(MaxMethod)
		case p == HTTPResponse && at == 2:
			m.Status = r.Enum(999)
		case p == HTTPResponse && at == 3:
			m.StatusText = r.Text(MaxText)
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if p == HTTPResponse && m.Status < 100 {
		return nil, fmt.Errorf("%w: not an HTTP status", wire.ErrUndecodable)
	}
	return m, nil
}

// parseHeader parses lines of the form "Name: value", with or without an empty line at the end, or the JSON object of strings that the
// webhook connection writes. It returns nil if text is blank.
func parseHeader(text string) (h http.Header, err error) {
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
func (m HTTPMessage) Encode() []byte {
	var body []byte
	if m.Performative == HTTPRequest {
		body = field.AppendText(body, 1, m.Method)
		body = field.AppendText(body, 2, m.URL)
		body = field.AppendText(body, 3, m.Version)
	} else {
		body = field.AppendText(body, 1, m.Version)
		body = field.AppendInt(body, 2, int64(m.Status))
		body = field.AppendText(body, 3, m.StatusText)
	}
	body = field.AppendText(body, 4, formatHeader(m.Header))
	body = field.AppendBytes(body, 5, m.Body)
	return httpTable.close(m.Performative, body)
}
