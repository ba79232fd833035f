package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// Errors of Call. None of them, nor any text wrapped in them, holds an address, a URL, a credential or a
// parameter value.
var (
	// ErrUnreachable means no connection could be made.
	ErrUnreachable = errors.New("the service behind the gateway cannot be reached")
	// ErrTimeout means the service was connected but did not answer completely within Config.Timeout.
	ErrTimeout = errors.New("the service behind the gateway did not answer in time")
	// ErrBroken means the connection ended, or stopped being HTTP, before the answer was complete.
	ErrBroken = errors.New("the service behind the gateway broke off before its answer was complete")
	// ErrGrantEnded means that the Grant had ended: the call was not (or not again) sent. It wraps the Grant's error.
	ErrGrantEnded = errors.New("the permission for this call ended before it could be sent")
	// ErrFull means that too many calls to the service are in progress, and no place became free in time.
	ErrFull = errors.New("the service behind the gateway has as many calls under way as it may have")
	// ErrIdentity means that a header cannot hold a member of Identity; nothing was sent.
	ErrIdentity = errors.New("the identity for the service has characters that no header can carry")
)

// A BreakerOpenError means that calls are refused because the service has recently failed too often.
type BreakerOpenError struct {
	RetryAfter time.Duration // until a probe is admitted; at least a second
}

func (e *BreakerOpenError) Error() string {
	return fmt.Sprintf("the service behind the gateway failed repeatedly; calls resume in %s", e.RetryAfter.Round(time.Second))
}

// A Code is how the service rejected a call, in the terms that agents see.
type Code string

// The codes of a RejectedError.
const (
	InvalidParameter Code = "INVALID_PARAMETER" // 400, 422, and 2xx by Endpoint.ErrorWhen
	NotFound         Code = "NOT_FOUND"         // 404, 410
	Conflict         Code = "CONFLICT"          // 409, 412
)

// A RejectedError means that the service refused this request because of its content.
type RejectedError struct {
	Code    Code
	Status  int
	Message string // the service's own, for the agent; empty: none
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("the service behind the gateway rejected the call with status %d", e.Status)
}

// A BusyError means the service answered 429.
type BusyError struct {
	RetryAfter time.Duration // 0: the service stated none
	Message    string
}

func (e *BusyError) Error() string { return "the service behind the gateway is busy" }

// A StatusError means any other complete response that is not 2xx: 3xx, 401, 403, other 4xx, 5xx.
type StatusError struct {
	Status  int
	Message string // only for 4xx, never for those about the gateway's own credential
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the service behind the gateway answered with status %d", e.Status)
}

// A ResponseError means that the service executed the call (2xx) but its response cannot be used.
type ResponseError struct {
	Status int
	Reason string // never quotes the response
}

func (e *ResponseError) Error() string {
	return "the answer of the service behind the gateway cannot be used: " + e.Reason
}

// failure joins a sentinel with a cause from a closed vocabulary. It drops the text of net/http, which holds URLs and addresses.
func failure(sentinel, err error) error {
	if c := cause(err); c != "" {
		return fmt.Errorf("%w: %s", sentinel, c)
	}
	return sentinel
}

func cause(err error) string {
	switch {
	case err == nil:
		return ""
	case is[*net.DNSError](err):
		return "its name does not resolve"
	case is[*tls.CertificateVerificationError](err):
		return "its certificate is not trusted"
	case is[tls.RecordHeaderError](err):
		return "it does not speak TLS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to it"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "the gateway has too many open files"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed early"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "timed out"
	default:
		return ""
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}
