package upstream

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// An Answer is a response of the service.
type Answer struct {
	Status int
	// Header contains Content-Language, Deprecation, Sunset and Retry-After, if the service sent them. nil: it sent none of them.
	Header http.Header
	// JSON is the body of a 2xx response, decompressed but not parsed, so it may be invalid. For an empty response (204, or HEAD), it is an
	// empty object. It is nil if the response is content. Do not modify it.
	JSON []byte
	// Buffer is the memory of JSON; it may be nil.
	Buffer      *Buffer
	ContentType string // media type in lowercase without parameters
	Cut         bool   // the response was a stream that broke after its first event, and Stream.FirstCounts is set
	content     any    // the object that represents a file or text
}

var emptyObject = []byte("{}")

// Tree parses the JSON of a 2xx response. If the response is content (a file or text), Tree returns the object that represents it.
// Tree takes the memory from the membudget share in ctx, and waits for memory until ctx ends. The error is a *ResponseError.
func (a *Answer) Tree(ctx context.Context) (any, error) {
	if a.JSON == nil {
		return a.content, nil
	}
	if membudget.Of(ctx).Wait(ctx, strictjson.Cost(a.JSON)) != nil {
		return nil, &ResponseError{Status: a.Status, Reason: errNoMemory.Error()}
	}
	tree, err := strictjson.Decode(a.JSON)
	if err != nil {
		return nil, &ResponseError{Status: a.Status, Reason: "it is not acceptable JSON: " + jsonReason(err)}
	}
	return tree, nil
}

const (
	maxErrorBody  = 64 << 10 // maximum size of an error response that is read for its message, in bytes
	maxRetryAfter = 30 * 24 * time.Hour
)

// A brokenError means that the response ended before it was complete.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "incomplete response" }

var errTooLong = errors.New("it is longer than max_response")

var errNoMemory = errors.New("the gateway did not have enough memory for it")

// read reads the body of a response and classifies the response. It takes the memory from the membudget share in ctx, and waits for memory
// until ctx ends. The error is a *brokenError, or one of the errors that Call returns for a complete response.
func (u *Upstream) read(ctx context.Context, resp *pool.Answer, p *PreparedRequest) (Answer, error) {
	route := p.route
	share := membudget.Of(ctx)
	answer := Answer{Status: resp.Status, ContentType: mediaType(resp.Header), Header: kept(resp.Header)}
	if resp.Status < 200 { // 101: the gateway did not request it, so no valid response follows
		return answer, &brokenError{errors.New("switched protocols")}
	}
	route.concealHeader(&answer)
	success := resp.Status <= 299
	if success && route.stream.On && isStream(answer.ContentType) {
		return u.readStream(ctx, resp, p, answer)
	}
	bound := u.cfg.MaxResponse
	if !success {
		bound = min(bound, maxErrorBody)
	}
	var raw []byte
	var err error
	if route.method != http.MethodHead {
		raw, answer.Buffer, err = readBody(ctx, share, resp, bound)
	}
	if broken, ok := errors.AsType[*brokenError](err); ok {
		return answer, broken
	}
	if !success {
		// If the body is too long or incorrectly compressed, only the message is lost: the status is sufficient.
		return answer, u.classify(ctx, route, answer, raw)
	}
	if err != nil {
		return answer, &ResponseError{Status: answer.Status, Reason: err.Error()}
	}
	if route.isContent(answer) {
		route.conceal(raw)
		return route.contentOf(ctx, answer, raw)
	}
	if answer.JSON = bytes.TrimSpace(raw); len(answer.JSON) == 0 {
		answer.JSON = emptyObject
		return answer, nil
	}
	reason := ""
	switch {
	case strings.Contains(answer.ContentType, "html") || strings.HasSuffix(answer.ContentType, "xml"):
		reason = "it is " + answer.ContentType + ", not JSON"
	case share.Wait(ctx, int64(len(raw))) != nil: // for the copy of the body in the response to the agent
		reason = errNoMemory.Error()
	}
	if reason != "" {
		return Answer{Status: answer.Status, Header: answer.Header, ContentType: answer.ContentType},
			&ResponseError{Status: answer.Status, Reason: reason}
	}
	// RFC 8259 8.1 permits parsers to ignore a byte order mark, and some services send one.
	answer.JSON = bytes.TrimSpace(bytes.TrimPrefix(answer.JSON, []byte("\xef\xbb\xbf")))
	return answer, nil
}

// jsonReason returns why a response is not acceptable JSON. The reason does not contain the pointer, because agents must not see member
// names of the response.
func jsonReason(err error) string {
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		return fmt.Sprintf("line %d column %d: %s", e.Line, e.Column, e.Reason)
	}
	return "it does not parse"
}

// readBody reads a body of at most bound bytes, both before and after decompression. The error is a *brokenError, or describes why a
// complete body cannot be used.
func readBody(ctx context.Context, share *membudget.Share, resp *pool.Answer, bound int64) ([]byte, *Buffer, error) {
	if resp.Length > bound {
		return nil, nil, errTooLong
	}
	raw, buffer, err := readBounded(ctx, share, resp.Body, bound, resp.Length)
	if err != nil && !errors.Is(err, errTooLong) && !errors.Is(err, errNoMemory) {
		return nil, nil, &brokenError{err}
	}
	if err != nil || len(raw) == 0 {
		return nil, nil, err
	}
	switch coding := strings.ToLower(strings.TrimSpace(resp.Header.List(contentEncoding))); coding {
	case "", "identity":
		return raw, buffer, nil
	case "gzip", "x-gzip": // not requested, but some services always compress their responses
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, nil, errors.New("it is not valid gzip, although its content encoding is gzip")
		}
		plain, _, err := readBounded(ctx, share, z, bound, -1)
		if err != nil && !errors.Is(err, errTooLong) && !errors.Is(err, errNoMemory) {
			return nil, nil, errors.New("it is not valid gzip, although its content encoding is gzip")
		}
		return plain, nil, err
	default:
		return nil, nil, errors.New("its content encoding is neither identity nor gzip")
	}
}

// readBounded reads at most bound bytes. expect is the announced length, which must not exceed bound, or -1 if it is unknown. The error is
// errTooLong, errNoMemory or an error of r.
func readBounded(ctx context.Context, share *membudget.Share, r io.Reader, bound, expect int64) ([]byte, *Buffer, error) {
	if expect >= 0 { // allocate all memory in one step
		if share.Wait(ctx, expect) != nil {
			return nil, nil, errNoMemory
		}
		raw, buffer := newBuffer(int(expect))
		_, err := io.ReadFull(r, raw)
		return raw, buffer, err
	}
	var buf bytes.Buffer
	_, err := buf.ReadFrom(membudget.NewReader(io.LimitReader(r, bound+1), func(n int64) error { return share.Wait(ctx, n) }))
	switch {
	case errors.Is(err, membudget.ErrExhausted):
		return nil, nil, errNoMemory
	case err != nil:
		return nil, nil, err
	}
	if int64(buf.Len()) > bound {
		return nil, nil, errTooLong
	}
	return buf.Bytes(), nil, nil
}

// classify returns the error for a complete response that is not 2xx.
func (u *Upstream) classify(ctx context.Context, route *Route, answer Answer, raw []byte) error {
	status := answer.Status
	message := ""
	if 400 <= status && status <= 499 {
		message = u.message(ctx, route, raw, u.cfg.ErrorMessage)
	}
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return &RejectedError{Code: InvalidParameter, Status: status, Message: message}
	case http.StatusNotFound, http.StatusGone:
		return &RejectedError{Code: NotFound, Status: status, Message: message}
	case http.StatusConflict, http.StatusPreconditionFailed:
		return &RejectedError{Code: Conflict, Status: status, Message: message}
	case http.StatusTooManyRequests:
		return &BusyError{RetryAfter: retryAfter(answer.Header.Get("Retry-After"), u.cfg.Now()), Message: message}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		// These statuses concern the gateway's credential. Agents must not see the message.
		return &StatusError{Status: status}
	default:
		return &StatusError{Status: status, Message: message}
	}
}

// retryAfter parses a Retry-After field (RFC 9110 10.2.3). It returns 0 if the field is missing or invalid, and at most maxRetryAfter.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

const contentEncoding = "Content-Encoding"

// keptHeaders are the response fields that the agent receives. readHeaders are the response fields that the pool keeps.
var (
	keptHeaders = []string{"Content-Language", "Deprecation", "Retry-After", "Sunset"}
	readHeaders = append([]string{contentType, contentEncoding}, keptHeaders...)
)

func kept(fields pool.Fields) http.Header {
	var subset http.Header
	for _, name := range keptHeaders {
		if v, ok := fields.Lookup(name); ok && len(v) <= maxMessage {
			if subset == nil {
				subset = http.Header{}
			}
			subset[name] = []string{v}
		}
	}
	return subset
}

func mediaType(fields pool.Fields) string {
	sent := fields.Get(contentType)
	switch sent {
	case "", applicationJSON:
		return sent
	case applicationJSON + "; charset=utf-8":
		return applicationJSON
	}
	media, _, err := mime.ParseMediaType(sent)
	if err != nil {
		return ""
	}
	return media
}
