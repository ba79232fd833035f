package fetch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/uimgate/uimgate/internal/lines"
)

const (
	// maxRedirects is the maximum number of redirects that Get follows; the address of each is checked.
	maxRedirects = 3
	maxHeader    = 64 << 10
	dialTimeout  = 10 * time.Second
	// DefaultTimeout is the default of Options.Timeout.
	DefaultTimeout = 30 * time.Second
)

// Options configure a Client. The zero Options are safe for the internet.
type Options struct {
	// AllowInsecure permits http and private addresses for all URLs. It is for tests and closed networks.
	AllowInsecure bool
	// AllowHTTP permits http in addition to https, for protocols that secure their messages themselves. Addresses are still checked.
	AllowHTTP bool
	// Timeout limits one exchange, including all redirects and reading the body. 0 means DefaultTimeout.
	Timeout time.Duration
	// UserAgent is sent with every request. If it is empty, none is sent.
	UserAgent string
	// TLS is the TLS configuration of the client. nil means Go's default.
	TLS *tls.Config
	// Resolver looks up names. nil means Go's default.
	Resolver *net.Resolver
	// Wrap wraps the transport, for example to print exchanges; it sees tokens and signatures. Addresses are still checked below it. It may
	// be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// A Client sends requests to untrusted servers. It is safe for concurrent use.
type Client struct {
	insecure bool
	plain    bool // AllowHTTP
	timeout  time.Duration
	agent    string
	follow   *http.Client
	direct   *http.Client
	close    func()
}

// New returns a Client.
func New(o Options) *Client {
	c := &Client{insecure: o.AllowInsecure, plain: o.AllowHTTP, timeout: o.Timeout, agent: o.UserAgent}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	plain := &http.Transport{
		DialContext:            (&dialer{insecure: o.AllowInsecure, resolver: o.Resolver}).dial,
		TLSClientConfig:        o.TLS.Clone(),
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           32,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // gzipTransport decompresses
	}
	var transport http.RoundTripper = gzipTransport{plain}
	if o.Wrap != nil {
		transport = o.Wrap(transport)
	}
	c.close = plain.CloseIdleConnections
	c.direct = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	c.follow = &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("%w: more than %d redirects", ErrRefused, maxRedirects)
		}
		return c.Check(r.URL, via[len(via)-1].URL)
	}}
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.close() }

// An Answer is a complete response with any status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	URL    *url.URL // the URL of the last request, after redirects
}

// A Document describes the document that Get fetches.
type Document struct {
	Accept string   // media types; empty means application/json
	Max    int64    // maximum size of the decompressed body in bytes; a larger one causes ErrTooLarge
	From   *url.URL // the document that named the URL; nil means that the caller named it
	ETag   string   // ETag of the caller's copy; if that is current, the response is a 304 without body (RFC 9110 13.1.2)
}

// Get fetches a public document. It follows at most three redirects, and accepts a compressed response. The error wraps ErrRefused, or is
// an *Error, which wraps ErrTooLarge if the document is larger than d.Max.
func (c *Client) Get(ctx context.Context, address string, d Document) (Answer, error) {
	accept := http.Header{"Accept": {cmp.Or(d.Accept, "application/json")}}
	r := Request{Method: http.MethodGet, URL: address, Header: accept, Max: d.Max, From: d.From}
	if d.ETag != "" {
		r.Header.Set("If-None-Match", d.ETag)
	}
	return c.exchange(ctx, c.follow, r)
}

// A Request is a request that Do or Stream sends.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
	Max    int64    // see Document
	From   *url.URL // see Document
	// Timeout limits the exchange if it is longer than Options.Timeout. Stream ignores it.
	Timeout time.Duration
}

// Do makes one exchange and does not follow redirects: it returns a 3xx response like any other. The errors are those of Get.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	return c.exchange(ctx, c.direct, r)
}

func (c *Client) exchange(ctx context.Context, client *http.Client, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, max(c.timeout, r.Timeout))
	defer cancel()
	response, err := c.send(ctx, client, r, bytes.NewReader(r.Body), int64(len(r.Body)))
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	answer := Answer{Status: response.StatusCode, Header: response.Header, URL: response.Request.URL}
	answer.Body, err = io.ReadAll(io.LimitReader(response.Body, r.Max+1))
	if err != nil {
		return Answer{}, transportError(answer.URL, true, err)
	}
	if int64(len(answer.Body)) > r.Max {
		return Answer{}, &Error{Origin: Origin(answer.URL), Sent: true, Err: fmt.Errorf("%w than %d bytes", ErrTooLarge, r.Max)}
	}
	return answer, nil
}

// send sends a request with a body of size bytes, and returns the response when its header has arrived.
func (c *Client) send(ctx context.Context, client *http.Client, r Request, body io.Reader, size int64) (*http.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: the URL cannot be parsed", ErrRefused)
	}
	if err := c.Check(u, r.From); err != nil {
		return nil, err
	}
	// A server cannot act on a request before it has the complete header.
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, r.Method, u.String(), io.NopCloser(body))
	if err != nil {
		return nil, fmt.Errorf("%w: the method or the URL is not valid", ErrRefused)
	}
	// Without GetBody, net/http does not retry a request on its own, not even one with an Idempotency-Key. Only the caller can judge
	// whether a retry is safe.
	request.GetBody, request.ContentLength = nil, size
	if size == 0 {
		request.Body = nil
	}
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	request.Header.Set("User-Agent", c.agent)
	if client == c.direct { // the response may contain secrets
		request.Header.Set("Accept-Encoding", "identity")
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, transportError(u, sent.Load(), err)
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		response.Body.Close()
		return nil, &Error{Origin: Origin(response.Request.URL), Sent: true, Err: errEncoding}
	}
	return response, nil
}

var (
	// ErrTooLarge means that a response is larger than the limit.
	ErrTooLarge = errors.New("the response is larger")
	errEncoding = errors.New("the response has an encoding that was not requested")
)

// An Error is a failed exchange. It contains neither a path nor a query, because these may contain private data of the caller.
type Error struct {
	Origin string
	Sent   bool // the request may have reached the server; false means that it did not
	Err    error
}

// maxErrorText is the maximum length of the cause in the text of an Error, in characters.
const maxErrorText = 400

// Error returns only printable ASCII, because TLS errors quote names from an untrusted certificate.
func (e *Error) Error() string {
	return "request to " + e.Origin + " failed: " + lines.Printable(e.Err.Error(), maxErrorText)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// transportError removes the URL from an error of net/http. If the error wraps ErrRefused, nothing was sent to the refused address.
func transportError(u *url.URL, sent bool, err error) error {
	for {
		outer, ok := errors.AsType[*url.Error](err)
		if !ok {
			break
		}
		if at, parseErr := url.Parse(outer.URL); parseErr == nil && at.Host != "" {
			u = at
		}
		err = outer.Err
	}
	if errors.Is(err, ErrRefused) {
		sent = false
	}
	return &Error{Origin: Origin(u), Sent: sent, Err: err}
}

type dialer struct {
	insecure bool
	resolver *net.Resolver
}

// dial connects to a host. It checks each address to which the host resolves, immediately before it connects to the address.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	netDialer := net.Dialer{Timeout: dialTimeout, Resolver: d.resolver}
	netDialer.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		return d.check(host, resolved)
	}
	return netDialer.DialContext(ctx, network, address)
}

func (d *dialer) check(host, resolved string) error {
	at, err := netip.ParseAddrPort(resolved)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s is not an address", ErrRefused, host)
	case d.insecure:
		return nil
	case LoopbackHost(host):
		if !at.Addr().Unmap().IsLoopback() {
			return fmt.Errorf("%w: %s does not resolve to the loopback address", ErrRefused, host)
		}
		return nil
	case !Public(at.Addr()):
		return fmt.Errorf("%w: %s is not on the public internet", ErrRefused, host)
	}
	return nil
}
