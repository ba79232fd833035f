package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Transport returns a RoundTripper for libraries that need an *http.Client. It sends requests through Do, and reads each response
// completely. most is the maximum size of the body of a request and of a response in bytes; a larger body is an error. from is
// Request.From.
func (c *Client) Transport(most int64, from *url.URL) http.RoundTripper {
	return &transport{c, most, from}
}

type transport struct {
	client *Client
	most   int64
	from   *url.URL
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(r.Body, t.most+1))
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		if int64(len(body)) > t.most {
			return nil, fmt.Errorf("%w: the request has more than %d bytes", ErrRefused, t.most)
		}
	}
	a, err := t.client.Do(r.Context(), Request{
		Method: r.Method, URL: r.URL.String(), Header: r.Header.Clone(), Body: body, Max: t.most, From: t.from,
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(a.Status), StatusCode: a.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.Header,
		Body: io.NopCloser(bytes.NewReader(a.Body)), ContentLength: int64(len(a.Body)), Request: r,
	}, nil
}
