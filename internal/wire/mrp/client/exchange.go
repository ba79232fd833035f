package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/fetch"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A request describes one request across all its attempts.
type request struct {
	method string
	target string // path and query, relative to the relay's URL
	header http.Header
	body   []byte
	most   int64 // limit of the response body in bytes

	// once means that the request is not retried if it may have been carried out.
	once bool

	// content, size and digest replace body if the request body is not in memory. If streamed is set, the response body is not read
	// into memory either.
	content  io.ReadSeeker
	size     int64
	digest   wire.Digest
	streamed bool
}

// An answer is a 2xx response. Its body is in memory, unless the request is streamed: the caller must then read and close stream.
type answer struct {
	status int
	header http.Header
	body   []byte
	stream io.ReadCloser
}

// A StatusError is a response that is neither a success nor an error of the protocol: it comes from a server other than the relay, for
// example a proxy in front of the relay.
type StatusError struct {
	Status     int           // HTTP status
	RetryAfter time.Duration // 0 if unknown
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s: the status is %d", ErrAnswer, e.Status) }

// Is makes errors.Is match ErrAnswer.
func (e *StatusError) Is(err error) bool { return err == ErrAnswer }

// exchange sends a request until it succeeds, must not be repeated, or reaches the limits of the options, or until ctx ends. It returns
// the error of the last attempt.
func (c *Client) exchange(ctx context.Context, r request) (answer, error) {
	attempts := attempts{c: c, backoff: c.o.Backoff}
	for {
		a, date, err := c.send(ctx, r)
		if err == nil {
			return a, nil
		}
		wait, again := attempts.after(r, err, date)
		if !again || ctx.Err() != nil {
			return answer{}, err
		}
		if delay.For(ctx, wait) != nil {
			return answer{}, err
		}
	}
}

// attempts is the state of one request's attempts.
type attempts struct {
	c        *Client
	made     int
	waited   time.Duration
	backoff  time.Duration
	resigned bool
}

// after decides whether another attempt follows a failed one, and returns the wait before it. date is the Date header of the
// response, if there was one.
func (a *attempts) after(r request, err error, date string) (wait time.Duration, again bool) {
	status, sent := 0, time.Duration(0)
	refused, isRefused := errors.AsType[*wire.Error](err)
	foreign, isForeign := errors.AsType[*StatusError](err)
	failed, isFailed := errors.AsType[*fetch.Error](err)
	switch {
	case isRefused && (refused.Code == wire.ReplayDetected || refused.Code == wire.TimestampExpired):
		if a.resigned || refused.Code == wire.TimestampExpired && !a.c.follow(date) {
			return 0, false
		}
		a.resigned = true
		return 0, true
	case isRefused:
		status, sent = refused.Status, refused.RetryAfter
	case isForeign:
		status, sent = foreign.Status, foreign.RetryAfter
	case isFailed && !errors.Is(failed, fetch.ErrRefused) && !errors.Is(failed, fetch.ErrTooLarge):
		if r.once && failed.Sent {
			return 0, false
		}
	default:
		return 0, false
	}
	switch status {
	case 0, http.StatusTooManyRequests, http.StatusServiceUnavailable:
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		if r.once {
			return 0, false
		}
	default:
		return 0, false
	}
	return a.pause(sent)
}

// pause returns the wait that the relay requested or, if it requested none, a wait that increases with every attempt. again is false if the
// limits of the options are reached.
func (a *attempts) pause(sent time.Duration) (wait time.Duration, again bool) {
	if a.made++; a.made >= a.c.o.Attempts {
		return 0, false
	}
	if wait = sent; wait <= 0 {
		wait = jittered(a.backoff)
		a.backoff = min(2*a.backoff, maxBackoff)
	}
	if a.waited += wait; a.waited > a.c.o.MaxWait {
		return 0, false
	}
	return wait, true
}

// send makes one attempt. date is the Date header of the response, if there was one. The error is a *wire.Error, a *StatusError, an error
// of package fetch, an error of reading the content or, if the URL is invalid, an error that wraps ErrOptions.
func (c *Client) send(ctx context.Context, r request) (a answer, date string, err error) {
	address, err := url.Parse(c.base.String() + r.target)
	if err != nil {
		return answer{}, "", fmt.Errorf("%w: the address is not a valid URL", ErrOptions)
	}
	header := http.Header{}
	maps.Copy(header, r.header)
	if r.content == nil {
		r.digest = wire.Sum(r.body)
	}
	wire.Sign(header, c.o.Key, c.next(), r.method, address.RequestURI(), r.digest)
	out := fetch.Request{Method: r.method, URL: address.String(), Header: header, Body: r.body, Max: max(r.most, maxErrorAnswer)}
	if r.content == nil && !r.streamed {
		got, err := c.fetch.Do(ctx, out)
		if err != nil {
			return answer{}, "", err
		}
		a = answer{status: got.Status, header: got.Header, body: got.Body}
	} else if a, err = c.stream(ctx, r, out); err != nil {
		return answer{}, "", err
	}
	date = a.header.Get("Date")
	if a.status/100 == 2 {
		return a, date, nil
	}
	return answer{}, date, readError(a)
}

// stream sends a request whose body or response body is not in memory. It reads the response body into memory unless the request is
// streamed and succeeded.
func (c *Client) stream(ctx context.Context, r request, out fetch.Request) (answer, error) {
	var content io.Reader
	if r.content != nil {
		if _, err := r.content.Seek(0, io.SeekStart); err != nil {
			return answer{}, err
		}
		content = io.LimitReader(r.content, r.size)
	}
	got, err := c.fetch.Stream(ctx, out, content, r.size)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: got.StatusCode, header: got.Header, stream: got.Body}
	if r.streamed && a.status/100 == 2 {
		return a, nil
	}
	defer got.Body.Close()
	a.stream = nil
	a.body, err = io.ReadAll(io.LimitReader(got.Body, out.Max))
	if err != nil {
		return answer{}, &fetch.Error{Origin: fetch.Origin(c.base), Sent: true, Err: err}
	}
	return a, nil
}
