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

// Errors of Call and Enter. Their messages, and those of the errors that wrap them, contain no address, URL, credential or parameter value.
var (
	// ErrUnreachable means that no connection could be made, that the connection failed before a byte was written, or that no access token
	// could be obtained.
	ErrUnreachable = errors.New("the service behind the gateway cannot be reached")
	// ErrTimeout means that there was a connection, but no complete response within Config.Timeout.
	ErrTimeout = errors.New("the service behind the gateway did not respond in time")
	// ErrBroken means that the connection was closed, or the response was not valid HTTP, before the response was complete.
	ErrBroken = errors.New("the connection to the service behind the gateway broke before the response was complete")
	// ErrGrantEnded means that the Grant had ended, so the attempt was not sent. The returned error also wraps the error of the Grant.
	ErrGrantEnded = errors.New("the permission for this call ended before it could be sent")
	// ErrFull means that too many calls to the service are in progress, and no place became free in time.
	ErrFull = errors.New("too many calls to the service behind the gateway are in progress")
	// ErrIdentity means that a member of Identity is not a valid header value. Nothing was sent.
	ErrIdentity = errors.New("the identity of the agent contains characters that are not allowed in a header")
)

// A BreakerOpenError means that a breaker refuses the call, because recent calls failed too often.
type BreakerOpenError struct {
	RetryAfter time.Duration // time until a probe is admitted; at least a second
}

func (e *BreakerOpenError) Error() string {
	return fmt.Sprintf("the service behind the gateway failed repeatedly; calls resume in %s", e.RetryAfter.Round(time.Second))
}

// A Code classifies the rejection of a call by the service. Agents see it as error.code.
type Code string

// The codes of a RejectedError.
const (
	InvalidParameter Code = "INVALID_PARAMETER" // 400, 422, and 2xx according to Endpoint.ErrorWhen
	NotFound         Code = "NOT_FOUND"         // 404, 410
	Conflict         Code = "CONFLICT"          // 409, 412
)

// A RejectedError means that the service rejected the request because of its content.
type RejectedError struct {
	Code    Code
	Status  int
	Message string // message of the service for the agent; empty: none
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("the service behind the gateway rejected the call with status %d", e.Status)
}

// A BusyError means that the service responded with status 429.
type BusyError struct {
	RetryAfter time.Duration // 0: the service sent no Retry-After
	Message    string
}

func (e *BusyError) Error() string { return "the service behind the gateway is busy" }

// A StatusError means that the service sent a complete response with a status that is not 2xx and for which there is no other error: 3xx,
// 401, 403, 407, some other 4xx, or 5xx.
type StatusError struct {
	Status  int
	Message string // only for 4xx, and never for 401, 403 and 407, which concern the gateway's credential
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the service behind the gateway responded with status %d", e.Status)
}

// A ResponseError means that the service executed the call (2xx) but its response cannot be used.
type ResponseError struct {
	Status int
	Reason string // does not quote the response
}

func (e *ResponseError) Error() string {
	return "the response of the service behind the gateway cannot be used: " + e.Reason
}

// failure adds a cause from a fixed set of strings to a sentinel error, if one of them applies to err. It drops the message of err, which
// may contain URLs and addresses.
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
		return "its host name cannot be resolved"
	case is[*tls.CertificateVerificationError](err):
		return "its certificate is not trusted"
	case is[tls.RecordHeaderError](err):
		return "it does not use TLS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to host"
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
