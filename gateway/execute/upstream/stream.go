package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Stream states whether the responses of an endpoint may be streams, and when a call with such a response is done.
type Stream struct {
	On bool // server-sent events (HTML Living Standard, section 9.2) and lines of JSON are read event by event
	// FirstCounts means that the call is done with its first event, although the stream may break afterwards. Otherwise, a stream that breaks
	// is an incomplete response.
	FirstCounts bool
}

// The media types of streams.
const (
	eventsMedia = "text/event-stream"
	streamsSent = eventsMedia + ", application/x-ndjson, application/json"
)

func isStream(media string) bool {
	switch media {
	case eventsMedia, "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines":
		return true
	default:
		return false
	}
}

// maxEvents is the maximum number of events in one response.
const maxEvents = 100_000

// Each makes Call pass each event of a stream to receive, as JSON, when the event arrives. Call calls receive on its own goroutine. receive
// must not keep the event. Without Each, the events are only in the answer.
func (p *PreparedRequest) Each(receive func(event []byte)) { p.receive = receive }

// readStream reads a response that is a stream. The result is a JSON object. Its member events has the data of all events, each as JSON or,
// if it is not JSON, as a string. Its member complete is false if the stream broke after its first event and Stream.FirstCounts is set. The
// errors are those of read.
func (u *Upstream) readStream(ctx context.Context, resp *pool.Answer, p *PreparedRequest, answer Answer) (Answer, error) {
	share := membudget.Of(ctx)
	if coding := resp.Header.List(contentEncoding); coding != "" && !strings.EqualFold(coding, "identity") {
		return answer, &ResponseError{Status: answer.Status, Reason: "its content encoding is not identity"}
	}
	bound := io.LimitReader(resp.Body, u.cfg.MaxResponse+1)
	in := &eventReader{
		in: membudget.NewReader(bound, func(n int64) error { return share.Wait(ctx, 2*n) }), lines: answer.ContentType != eventsMedia,
	}
	out := []byte(`{"events":[`)
	for n := 0; ; n++ {
		data, err := in.next()
		switch {
		case in.read > u.cfg.MaxResponse, n == maxEvents && err == nil:
			return answer, &ResponseError{Status: answer.Status, Reason: errTooLong.Error()}
		case errors.Is(err, io.EOF):
			answer.JSON = append(out, `],"complete":true}`...)
			return answer, nil
		case errors.Is(err, membudget.ErrExhausted):
			return answer, &ResponseError{Status: answer.Status, Reason: errNoMemory.Error()}
		case err != nil && n > 0 && p.route.stream.FirstCounts:
			answer.JSON, answer.Cut = append(out, `],"complete":false}`...), true
			return answer, nil
		case err != nil:
			return answer, &brokenError{err}
		}
		if n > 0 {
			out = append(out, ',')
		}
		at := len(out)
		out = appendEvent(out, data)
		p.route.conceal(out[at:])
		if p.receive != nil {
			p.streamed = true
			p.receive(out[at:])
		}
	}
}

// appendEvent appends the data of an event as JSON.
func appendEvent(out, data []byte) []byte {
	data = bytes.TrimSpace(data)
	if strictjson.Valid(data) {
		return append(out, data...)
	}
	return strictjson.AppendCanonicalText(out, strings.ToValidUTF8(string(data), "\ufffd"))
}

// An eventReader reads the data of events: of server-sent events or, if lines is set, of lines. It skips events and lines without data.
type eventReader struct {
	in    io.Reader
	lines bool
	read  int64  // number of bytes read
	have  []byte // bytes that are not yet consumed
	ended error
}

// next returns the data of the next event. At the end of a complete stream, the error is io.EOF.
func (e *eventReader) next() ([]byte, error) {
	var data []byte
	found := false
	for {
		line, err := e.line()
		switch {
		case err != nil && found && errors.Is(err, io.EOF): // the last event may lack its blank line
			return data, nil
		case err != nil:
			return nil, err
		case e.lines && len(bytes.TrimSpace(line)) > 0:
			return line, nil
		case len(line) == 0 && found:
			return data, nil
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if e.lines || !ok {
			continue
		}
		if found {
			data = append(data, '\n')
		}
		data, found = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
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
		if e.ended != nil {
			line := e.have
			e.have = nil
			if len(line) > 0 && errors.Is(e.ended, io.EOF) {
				return line, nil
			}
			return nil, e.ended
		}
		searched = len(e.have)
		chunk := make([]byte, 4<<10)
		n, err := e.in.Read(chunk)
		e.have, e.read, e.ended = append(e.have, chunk[:n]...), e.read+int64(n), err
	}
}
