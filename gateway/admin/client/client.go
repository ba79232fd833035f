// Package client calls the admin API of a running gateway. It has the operations of admin.Operator, with the same request and response
// types.
//
//	base, err := client.ParseURL("http://127.0.0.1:8081")
//	c := client.New(client.Options{URL: base, Token: token})
//	agents, err := c.Agents(ctx, admin.AgentQuery{Status: pat.AgentBlocked})
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
)

const (
	timeout   = 5 * time.Minute // a reload compiles every policy
	maxAnswer = 64 << 20        // in bytes
)

// ErrURL means that a URL does not lead to an admin listener, or leads to one that must not get the token.
var ErrURL = errors.New("the admin URL cannot be used")

// Options are the address of a gateway and the credentials.
type Options struct {
	// URL is that of the admin listener: see ParseURL.
	URL *url.URL
	// Token is the admin token: see ParseToken.
	Token string
	// Socket is the Unix socket of a gateway of this user, instead of URL and Token: see OwnSocket. Empty: URL and Token are used.
	Socket string
}

// A Client calls one gateway. It is safe for concurrent use. Its errors are *RefusedError if the gateway responded, and *UnansweredError
// if it did not.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New returns a Client.
func New(o Options) *Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	c := &Client{base: o.URL, token: o.Token}
	dial := dialer.DialContext
	if o.Socket != "" {
		c.base = &url.URL{Scheme: "http", Host: "localhost"}
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", o.Socket)
		}
	}
	// It connects directly to the gateway: no proxy, and no redirect that would send the token elsewhere.
	c.http = &http.Client{
		Transport:     &http.Transport{DialContext: dial, TLSHandshakeTimeout: 10 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// ParseURL parses the URL of an admin listener. It must be https, except on this machine, because the token is sent there. The error
// wraps ErrURL.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, urlError("the admin URL must be like " + DefaultURL)
	}
	if address, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" &&
		(err != nil || !address.IsLoopback()) {
		return nil, urlError("the token would go to " + u.Host + " unencrypted: use https, or an SSH tunnel to a local port")
	}
	return u, nil
}

// A urlError is an ErrURL with a separate text.
type urlError string

func (e urlError) Error() string        { return string(e) }
func (e urlError) Is(target error) bool { return target == ErrURL }

// hostFor returns the Host header. The admin API accepts only addresses and localhost, which keeps web pages out. If the URL has a name,
// for which its certificate was issued, only TLS uses the name.
func hostFor(base *url.URL) string {
	if _, err := netip.ParseAddr(base.Hostname()); err != nil {
		return "localhost"
	}
	return base.Host
}

// path joins escaped segments. It also escapes dots in segments that consist of them: an agent id may be "..".
func path(segments ...string) string {
	var out strings.Builder
	for _, s := range segments {
		out.WriteByte('/')
		if s == "." || s == ".." {
			out.WriteString(strings.ReplaceAll(s, ".", "%2E"))
			continue
		}
		out.WriteString(url.PathEscape(s))
	}
	return out.String()
}

// A message is one request.
type message struct {
	method, path string
	query        url.Values
	body         any // nil: none
}

// get requests a record.
func get[A any](ctx context.Context, c *Client, path string, q admin.Request) (A, error) {
	return answer[A](ctx, c, message{method: http.MethodGet, path: path, query: values(q)})
}

// post carries out an operation; the request is also the body.
func post[A any](ctx context.Context, c *Client, path string, q admin.Request) (A, error) {
	var body any = q
	if _, ok := q.(*admin.Record); ok || q == nil {
		body = struct{}{}
	}
	return answer[A](ctx, c, message{http.MethodPost, path, values(q), body})
}

func values(q admin.Request) url.Values {
	if q == nil {
		return nil
	}
	return admin.Values(q)
}

func answer[A any](ctx context.Context, c *Client, m message) (a A, err error) {
	data, err := c.send(ctx, m)
	if err != nil {
		return a, err
	}
	if raw, ok := any(&a).(*json.RawMessage); ok { // as it is
		*raw = data
		return a, nil
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("the answer is not one of this version of uimgate: %w", err)
	}
	return a, nil
}

func (c *Client) send(ctx context.Context, m message) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := c.request(ctx, m)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		if inURL, ok := errors.AsType[*url.Error](err); ok {
			err = inURL.Err
		}
		return nil, &UnansweredError{URL: c.base.String(), Changed: m.method != http.MethodGet, err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil || len(data) > maxAnswer {
		return nil, fmt.Errorf("the answer of %s is not whole", c.base)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, c.refusal(resp.Status, data)
	}
	return data, nil
}

func (c *Client) request(ctx context.Context, m message) (*http.Request, error) {
	var text io.Reader
	if m.body != nil {
		encoded, err := json.Marshal(m.body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(encoded)
	}
	target := strings.TrimSuffix(c.base.String(), "/") + admin.Path + m.path
	if len(m.query) > 0 {
		target += "?" + m.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, m.method, target, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	r.Header.Set("Accept", "application/json")
	r.Host = hostFor(c.base)
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}
