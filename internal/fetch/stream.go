package fetch

import (
	"context"
	"io"
	"net/http"
)

// Stream is Do for what is too large to be held: the body of the request is read from content, which has size bytes, and that of the
// answer by the caller, who bounds it and closes it. Body and Max of the request mean nothing here. Only ctx bounds the time. The
// error wraps ErrRefused or is an *Error.
func (c *Client) Stream(ctx context.Context, r Request, content io.Reader, size int64) (*http.Response, error) {
	return c.send(ctx, c.direct, r, content, size)
}

// Dialer returns what Do sends requests with, for a library that makes connections of its own, such as WebSockets: every address is
// checked when it is dialled, and no redirect is followed. It does not check the URL itself: call Check before.
func (c *Client) Dialer() *http.Client { return c.direct }
