// Package client calls the admin API of a running gateway. Package operation has the operations.
//
//	base, err := client.ParseURL("http://127.0.0.1:8081")
//	c := client.New(client.Options{URL: base, Token: token})
//	agents, err := client.Do(ctx, c, operation.Agents, agreements.AgentQuery{Status: pat.AgentBlocked})
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
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
)

const (
	timeout   = 5 * time.Minute // a reload compiles every policy
	maxAnswer = 64 << 20        // bytes of a response
)

// ErrURL means that a URL is not valid for an admin listener, or that the token must not be sent to it.
var ErrURL = errors.New("the admin URL cannot be used")

// Options are the address of a gateway and the credentials for it.
type Options struct {
	// URL is the address of the admin listener: see ParseURL.
	URL *url.URL
	// Token is the admin token: see ParseToken.
	Token string
	// Socket is the path of the Unix socket of a gateway, which replaces URL and Token: see OwnSocket. Empty: URL and Token are used.
	Socket string
}

// A Client calls one gateway. It is safe for concurrent use. Do returns a *RefusedError if the gateway refused the request, and an
// *UnansweredError if no response began. If the gateway refused a configuration, the *RefusedError has its problems. Other errors mean that
// the response was not that of an admin API.
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
	// The client uses no proxy and follows no redirects, so that the token is sent only to the gateway.
	c.http = &http.Client{
		Transport:     &http.Transport{DialContext: dial, TLSHandshakeTimeout: 10 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// ParseURL parses the URL of an admin listener. The scheme must be https unless the host is localhost or a loopback address, because
// requests contain the token. The error wraps ErrURL.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, urlError("the admin URL must be like " + DefaultURL)
	}
	if address, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" &&
		(err != nil || !address.IsLoopback()) {
		return nil, urlError("the token would be sent to " + u.Host + " unencrypted: use https://" + u.Host +
			", or an SSH tunnel to a local port")
	}
	return u, nil
}

// A urlError is an error that matches ErrURL and has a more specific message.
type urlError string

func (e urlError) Error() string        { return string(e) }
func (e urlError) Is(target error) bool { return target == ErrURL }

// HostFor returns the Host header for requests. To keep web pages out, the admin API accepts only addresses, localhost and admin.hosts, so
// HostFor replaces a host name with localhost. TLS still verifies the certificate for the host name in the URL.
func HostFor(base *url.URL) string {
	if _, err := netip.ParseAddr(base.Hostname()); err != nil {
		return "localhost"
	}
	return base.Host
}

// A message is one request.
type message struct {
	method, path string
	query        url.Values
	body         any // nil: none
}

// Do sends a request to the gateway, and returns its response.
func Do[Q, A any](ctx context.Context, c *Client, o operation.Operation[Q, A], q Q) (a A, err error) {
	m := message{method: o.Method}
	m.path, m.query = api.Encode(o.Path, &q)
	if o.Method != http.MethodGet {
		m.body = &q
	}
	data, err := c.send(ctx, m)
	if err != nil {
		return a, err
	}
	if raw, ok := any(&a).(*json.RawMessage); ok { // return it unchanged
		*raw = data
		return a, nil
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("the response does not match this version of uimgate: %w", err)
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
		return nil, fmt.Errorf("the response from %s is incomplete or too long", c.base)
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
	r.Host = HostFor(c.base)
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}
