package mcp

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/internal/membudget"
)

const (
	contentType     = "Content-Type"
	contentEncoding = "Content-Encoding"
	sessionID       = "Mcp-Session-Id"
)

// A streamable is a transport over Streamable HTTP. Each message is a POST. The client opens no separate stream, so it receives only
// messages that belong to its requests. See MCP 2026-07-28 and 2025-11-25, basic/transports.
type streamable struct{ server *Server }

func (*streamable) begin(context.Context) (any, error) { return nil, nil } //nolint:nilnil // there is no process
func (*streamable) good(*session) bool                 { return true }
func (*streamable) doubt(*session)                     {}
func (*streamable) doubtOpening()                      {}
func (*streamable) idle()                              {}
func (*streamable) end(context.Context)                {}
func (*streamable) state() State                       { return State{} }

// close closes the idle connections.
func (t *streamable) close() { t.server.cfg.Conns.Close() }

func (t *streamable) send(ctx context.Context, to *session, m message, admit func() error) (Reply, bool, error) {
	conn, err := t.server.cfg.Conns.Take(ctx)
	if err != nil {
		return Reply{}, false, err
	}
	defer conn.Release()
	written, err := conn.Send(pool.Request{
		Method: http.MethodPost, Target: []byte(t.server.cfg.Target), Header: headerOf(to, &m), Body: m.body, HasBody: true,
	}, admit)
	if err != nil {
		return Reply{}, written, err
	}
	answer, err := conn.Answer()
	if err != nil {
		return Reply{}, true, err
	}
	r, err := t.read(ctx, to, &m, answer)
	return r, true, err
}

// headerOf returns the header of a request: the fields of the message, and those that the revision prescribes. See MCP 2026-07-28,
// basic/transports/streamable-http, Standard Request Headers.
func headerOf(to *session, m *message) pool.Fields {
	h := append(pool.Fields{}, m.header...)
	h.Set(contentType, "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Accept-Encoding", "identity")
	if to.revision != "" { // initialize has none
		h.Set("MCP-Protocol-Version", to.revision)
	}
	if to.modern() {
		h.Set("Mcp-Method", m.method)
		if m.name != "" {
			h.Set("Mcp-Name", headerText(m.name))
		}
	}
	if to.id != "" {
		h.Set(sessionID, to.id)
	}
	return h
}

// headerText returns s as the value of a header field, encoded if the field cannot carry s unchanged. See MCP 2026-07-28,
// basic/transports/streamable-http, Value Encoding.
func headerText(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7e }) || strings.HasPrefix(s, "=?") {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
	}
	return s
}

// maxErrorBody is how many bytes of the body of an error response are read.
const maxErrorBody = 64 << 10

func (t *streamable) read(ctx context.Context, to *session, m *message, answer *pool.Answer) (Reply, error) {
	r := Reply{Status: answer.Status, Header: slices.Clone(answer.Header)}
	if answer.Status < 200 { // 101: the gateway did not request it, so no valid response follows
		return r, errors.New("switched protocols")
	}
	success := answer.Status <= 299
	if success && m.id == 0 {
		return r, nil // nothing of interest follows
	}
	bound := t.server.cfg.MaxMessage
	if !success {
		bound = min(bound, maxErrorBody)
	}
	body, err := plain(answer)
	switch {
	case errors.Is(err, ErrNotMCP) && !success:
		return r, nil // the status is sufficient
	case err != nil:
		return r, err
	}
	share := membudget.Of(ctx)
	in := &limitedReader{from: membudget.NewReader(body, func(n int64) error { return share.Wait(ctx, n) }), left: bound}
	media, _, err := mime.ParseMediaType(answer.Header.Get(contentType))
	if err != nil {
		media = ""
	}
	if success && media == "text/event-stream" {
		message, err := t.events(ctx, to, m, in)
		if err == nil {
			r.set(message)
		}
		return r, err
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		if err = readingError(err); !success && (errors.Is(err, ErrTooLong) || errors.Is(err, ErrNoMemory) || isCompression(err)) {
			return r, nil // the status is sufficient
		}
		return r, err
	}
	if message, ok := readMessage(raw); ok && m.id != 0 && message.answers(m.id) {
		r.set(message)
		return r, nil
	}
	if success {
		return r, ErrNotMCP
	}
	r.Body = raw
	return r, nil
}

func (r *Reply) set(m response) {
	if r.Err = m.err; r.Err == nil {
		r.Result = m.result
	}
}

// plain returns the body of a response without its content encoding.
func plain(answer *pool.Answer) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(answer.Header.List(contentEncoding))) {
	case "", "identity":
		return answer.Body, nil
	case "gzip", "x-gzip": // not requested, but some proxies always compress
		z, err := gzip.NewReader(answer.Body)
		switch {
		case errors.Is(err, gzip.ErrHeader), errors.Is(err, io.EOF):
			return nil, ErrNotMCP
		case err != nil:
			return nil, err
		}
		return z, nil
	default:
		return nil, ErrNotMCP
	}
}

// isCompression reports whether an error means that a body is not valid gzip.
func isCompression(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader)
}

// readingError returns ErrNoMemory instead of membudget.ErrExhausted, and all other errors unchanged.
func readingError(err error) error {
	if errors.Is(err, membudget.ErrExhausted) {
		return ErrNoMemory
	}
	return err
}

// A limitedReader returns ErrTooLong after a number of bytes.
type limitedReader struct {
	from io.Reader
	left int64
}

func (b *limitedReader) Read(p []byte) (int, error) {
	if b.left == 0 {
		var one [1]byte
		n, err := b.from.Read(one[:])
		if n > 0 {
			err = ErrTooLong
		}
		return 0, err
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// maxRefusals is the maximum number of requests of the server that are answered during one request.
const maxRefusals = 8

// events reads a stream of server-sent events until the response. It passes on notifications about the progress of the request, ignores all
// other notifications, and refuses requests of the server. The size of all events together is bounded like that of a response. If they
// exceed the bound, or there is not enough memory for them, the error is ErrNoResponse before the response has begun, and ErrTooLong or
// ErrNoMemory afterwards.
func (t *streamable) events(ctx context.Context, to *session, m *message, in io.Reader) (response, error) {
	refused := 0
	var of reports
	events := newEventReader(in)
	for {
		data, err := events.next()
		if err = readingError(err); errors.Is(err, ErrTooLong) || errors.Is(err, ErrNoMemory) {
			if id, result := beginning(data); result && (id == "" || id == strconv.FormatInt(m.id, 10)) {
				return response{}, err
			}
			return response{}, ErrNoResponse
		}
		if err != nil {
			return response{}, unexpected(err)
		}
		if len(data) == 0 {
			continue
		}
		got, ok := readMessage(data)
		switch {
		case !ok:
			return response{}, ErrNotMCP
		case got.answers(m.id):
			return got, nil
		case m.progress != nil && got.id == "" && got.method == progressMethod:
			if p, ok := of.pass(&got, m.id, t.server.cfg.Now()); ok {
				m.progress(p)
			}
		case got.method != "" && got.id != "" && refused < maxRefusals:
			refused++
			t.refuse(ctx, to, m, &got)
		}
	}
}

// refuse responds to a request of the server with an error. It ignores failures to send the response. It takes at most cancelTime, because
// the reading of the response waits for it.
func (t *streamable) refuse(ctx context.Context, to *session, m *message, asked *response) {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	_, _, _ = t.send(ctx, to, message{method: asked.method, body: asked.refusal(), header: m.header}, admitted)
}

// unexpected converts io.EOF into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// An eventReader reads server-sent events. See HTML Living Standard, section 9.2.6.
type eventReader struct {
	in    io.Reader
	have  []byte // bytes that are not yet consumed
	chunk []byte
}

func newEventReader(in io.Reader) *eventReader {
	return &eventReader{in: in, chunk: make([]byte, 16<<10)}
}

// next returns the data of the next event, which may be empty. With an error, it returns the data of the unfinished
// event. The caller may keep the data.
func (e *eventReader) next() ([]byte, error) {
	var data []byte
	several := false
	for {
		line, err := e.line()
		switch {
		case err == nil && len(line) == 0:
			return data, nil
		case err != nil:
			line = e.have
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if ok && several {
			data = append(data, '\n')
		}
		if ok {
			data, several = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
		}
		if err != nil {
			return data, err
		}
	}
}

// line returns the next line without its end, which is LF or CRLF.
func (e *eventReader) line() ([]byte, error) {
	searched := 0
	for {
		if i := bytes.IndexByte(e.have[searched:], '\n'); i >= 0 {
			line := e.have[:searched+i]
			e.have = e.have[searched+i+1:]
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		searched = len(e.have)
		n, err := e.in.Read(e.chunk)
		e.have = append(e.have, e.chunk[:n]...)
		if n == 0 && err != nil {
			return nil, err
		}
	}
}
