package fetch

import (
	"context"
	"io"
	"net/http"
)

// Stream is like Do, for large bodies. It reads the body of the request from content, which has size bytes. The caller must read and close
// the body of the response, and limit its size. Stream ignores Body and Max of the request, and only ctx limits its duration. The error
// wraps ErrRefused or is an *Error.
func (c *Client) Stream(ctx context.Context, r Request, content io.Reader, size int64) (*http.Response, error) {
	return c.send(ctx, c.direct, r, content, size)
}

// Dialer returns the http.Client that Do uses, for a library that opens its own connections, such as WebSockets. The http.Client checks
// every address immediately before it connects to the address, and does not follow redirects. It does not check URLs: call Check first.
func (c *Client) Dialer() *http.Client { return c.direct }
