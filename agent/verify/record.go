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

// An exchange is one request and its answer, as they went over the wire.
type exchange struct {
	method string
	url    *url.URL
	sent   []byte // the request's body; nil where bodies are not kept
	status int
	header http.Header
	answer *kept
}

func (e exchange) body() []byte { return e.answer.data }

// name says what was asked, without its query.
func (e exchange) name() string { return e.method + " " + shown(e.url.Path) }

// A recorder stands in front of the transport of both clients: what a service answered to package agent
// is judged here, and its errors are all looked at in the end. It keeps bodies of errors, and others only
// while it is told to: a PAT is not kept longer than it is needed.
type recorder struct {
	outer func(http.RoundTripper) http.RoundTripper

	mu     sync.Mutex
	most   int64
	recent []exchange
	errors []exchange
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	if r.outer != nil {
		next = r.outer(next)
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
		r.add(request, sent, response)
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// open reads a request's body, where bodies are kept, and returns a request that still has it. The bodies
// are our own clients', which are short.
func (r *recorder) open(request *http.Request) (*http.Request, []byte, error) {
	r.mu.Lock()
	keeping := r.most > 0
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

func (r *recorder) add(request *http.Request, sent []byte, response *http.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := exchange{method: request.Method, url: request.URL, status: response.StatusCode, header: response.Header.Clone(), answer: &kept{most: maxErrorKept}}
	failure := e.status >= http.StatusBadRequest
	if failure && len(r.errors) < maxExchanges {
		r.errors = append(r.errors, e)
	}
	if r.most > 0 && len(r.recent) < maxExchanges {
		if !failure {
			e.answer.most = r.most
		}
		e.sent = sent
		r.recent = append(r.recent, e)
	}
	if failure || r.most > 0 {
		response.Body = &teeBody{response.Body, e.answer}
	}
}

// keep keeps the exchanges that follow, with so many bytes of their bodies, until take.
func (r *recorder) keep(most int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most, r.recent = most, nil
}

// take returns what was kept and forgets it.
func (r *recorder) take() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.recent
	r.most, r.recent = 0, nil
	return out
}

// failures are all answers of 400 and above.
func (r *recorder) failures() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]exchange(nil), r.errors...)
}

// kept is the beginning of a body, as far as it was read.
type kept struct {
	most int64
	data []byte
}

type teeBody struct {
	io.ReadCloser
	to *kept
}

func (b *teeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if room := b.to.most - int64(len(b.to.data)); room > 0 {
		b.to.data = append(b.to.data, p[:min(int64(n), room)]...)
	}
	return n, err
}
