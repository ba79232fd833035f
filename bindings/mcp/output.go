package mcp

import (
	"net/http"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// piece is the number of bytes after which a part of a response is written. A large output can occur twice in its response. Because the
// response is written in pieces, the output need not be copied as a whole.
const piece = 64 << 10

var pieces = sync.Pool{New: func() any { return new([]byte) }}

// done responds with the output of a call: as text and, if the output is an object, also unchanged as structuredContent. If the output is
// not UTF-8, done responds with a tool error.
func (a *answer) done(result *execute.Result) {
	if !utf8.Valid(result.Output) {
		a.toolFailed(reason.Internal.Refusal("The response could not be encoded.").Charged(result.Charge))
		return
	}
	door.WriteHeader(a.Header(), result)
	if result.Paid != nil {
		a.settlement = result.Paid.Receipt
	}
	buffer := pieces.Get().(*[]byte) //nolint:forcetypeassert // the pool has only this type
	p := &pieceWriter{answer: a, out: jsonrpc.BeginResult((*buffer)[:0], a.ID)}
	p.out = append(append(p.out, '{'), a.complete()...)
	p.out = append(p.out, `"content":[{"type":"text","text":"`...)
	p.quoted(result.Output)
	p.out = append(p.out, `"}]`...)
	if strictjson.IsObject(result.Output) {
		p.out = append(p.out, `,"structuredContent":`...)
		p.raw(result.Output)
	}
	p.out = jsonrpc.EndResult(append(a.metaOf(p.out), '}'))
	p.end()
	if cap(p.out) <= 4*piece {
		*buffer = p.out
		pieces.Put(buffer)
	}
}

// A pieceWriter writes a response in pieces. It writes a stream in one piece, because the stream has only one event.
type pieceWriter struct {
	*answer
	out     []byte // not yet written
	started bool
}

// flush writes the buffered bytes.
func (p *pieceWriter) flush() {
	if !p.started {
		p.started = true
		p.Header()["Content-Type"] = applicationJSON
		p.WriteHeader(http.StatusOK)
	}
	_, _ = p.Write(p.out)
	p.out = p.out[:0]
}

// quoted appends text, which must be UTF-8, as the contents of a JSON string.
func (p *pieceWriter) quoted(text []byte) {
	for len(text) > 0 {
		n := min(len(text), piece)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		at := len(p.out)
		p.out, _ = jsontext.AppendQuote(p.out, text[:n]) // cannot fail: the text is UTF-8
		copy(p.out[at:], p.out[at+1:len(p.out)-1])
		p.out = p.out[:len(p.out)-2]
		if text = text[n:]; !p.stream && len(p.out) >= piece {
			p.flush()
		}
	}
}

// raw appends JSON unchanged.
func (p *pieceWriter) raw(text []byte) {
	if p.stream || len(text) < piece {
		p.out = append(p.out, text...)
		return
	}
	p.flush()
	_, _ = p.Write(text)
}

// end writes the remaining bytes.
func (p *pieceWriter) end() {
	if p.started {
		p.flush()
		return
	}
	p.write(http.StatusOK, p.out)
}
