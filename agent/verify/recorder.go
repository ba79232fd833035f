package verify

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
)

const (
	maxExchanges = 1000
	maxErrorKept = 64 << 10
)

// An exchange is one request and its response.
type exchange struct {
	method string
	url    *url.URL
	sent   []byte // body of the request; nil if the recorder did not keep bodies
	status int
	header http.Header
	answer *prefix
	door   bool // whether it is an exchange with a door, whose errors have the form of another protocol
}

func (e exchange) body() []byte { return e.answer.data }

// name returns the method and the path, without the query.
func (e exchange) name() string { return e.method + " " + printable(e.url.Path) }

// A recorder wraps the transport of all clients, so that later checks can examine the responses to package agent and all errors. It keeps
// the bodies of errors. It keeps other bodies only between start and stop, so that a PAT is not kept longer than needed.
type recorder struct {
	wrapped func(http.RoundTripper) http.RoundTripper

	mu        sync.Mutex
	limit     int64
	exchanges []exchange
	failed    []exchange
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper { return r.record(next, false) }

// wrapDoors wraps the transport of the client of doors.
func (r *recorder) wrapDoors(next http.RoundTripper) http.RoundTripper { return r.record(next, true) }

func (r *recorder) record(next http.RoundTripper, door bool) http.RoundTripper {
	if r.wrapped != nil {
		next = r.wrapped(next)
	}
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		request, sent, err := r.open(request)
		if err != nil {
			return nil, err
		}
		response, err := next.RoundTrip(request)
		if err != nil {
			return response, err
		}
		r.add(request, sent, response, door)
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// open reads the body of a request if bodies are being kept, and returns a request that still has the body. The bodies are short, because
// only this package and package agent send them.
func (r *recorder) open(request *http.Request) (*http.Request, []byte, error) {
	r.mu.Lock()
	keeping := r.limit > 0
	r.mu.Unlock()
	if !keeping || request.Body == nil {
		return request, nil, nil
	}
	sent, err := io.ReadAll(request.Body)
	if err = errors.Join(err, request.Body.Close()); err != nil {
		return nil, nil, err
	}
	request = request.Clone(request.Context())
	request.Body = io.NopCloser(bytes.NewReader(sent))
	return request, sent, nil
}

func (r *recorder) add(request *http.Request, sent []byte, response *http.Response, door bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := exchange{
		method: request.Method, url: request.URL, status: response.StatusCode, header: response.Header.Clone(),
		answer: &prefix{limit: maxErrorKept}, door: door,
	}
	failure := e.status >= http.StatusBadRequest
	if failure && len(r.failed) < maxExchanges {
		r.failed = append(r.failed, e)
	}
	if r.limit > 0 && len(r.exchanges) < maxExchanges {
		if !failure {
			e.answer.limit = r.limit
		}
		e.sent = sent
		r.exchanges = append(r.exchanges, e)
	}
	if failure || r.limit > 0 {
		response.Body = &copyBody{response.Body, e.answer}
	}
}

// start keeps the exchanges that follow until stop is called, with up to maxBytes bytes of the body of each successful response.
func (r *recorder) start(maxBytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit, r.exchanges = maxBytes, nil
}

// stop returns the exchanges that were recorded since start, and deletes them.
func (r *recorder) stop() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.exchanges
	r.limit, r.exchanges = 0, nil
	return out
}

// failures returns the exchanges with a status of 400 or above, at most maxExchanges.
func (r *recorder) failures() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]exchange(nil), r.failed...)
}

// A prefix is the beginning of a body, as far as it was read.
type prefix struct {
	limit int64
	data  []byte
}

type copyBody struct {
	io.ReadCloser
	to *prefix
}

func (b *copyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if room := b.to.limit - int64(len(b.to.data)); room > 0 {
		b.to.data = append(b.to.data, p[:min(int64(n), room)]...)
	}
	return n, err
}
