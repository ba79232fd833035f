package fetch

import (
	"context"
	"io"
	"net/http"
)

// Stream is Do for large bodies: the body of the request is read from content, which has size bytes. The caller reads that of the
// response, bounds it and closes it. Body and Max of the request are ignored. Only ctx bounds the time. The error wraps ErrRefused or is
// an *Error.
func (c *Client) Stream(ctx context.Context, r Request, content io.Reader, size int64) (*http.Response, error) {
	return c.send(ctx, c.direct, r, content, size)
}

// Dialer returns the client that Do uses, for a library that makes its own connections, such as WebSockets: every address is checked when
// it is dialed, and no redirect is followed. It does not check the URL itself: call Check first.
func (c *Client) Dialer() *http.Client { return c.direct }
