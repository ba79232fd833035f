package mrp

import (
	"fmt"
	"net/http"
	"time"
)

// A Code identifies a kind of error. Other relays may send codes that are not defined here.
type Code string

// The error codes of the protocol.
const (
	BadRequest      Code = "bad_request"
	Unauthorized    Code = "unauthorized"
	Forbidden       Code = "forbidden"
	AgentSuspended  Code = "agent_suspended"
	ACLDenied       Code = "acl_denied"
	NotFound        Code = "not_found"
	AgentNotFound   Code = "agent_not_found"
	MessageNotFound Code = "message_not_found"
	BlobNotFound    Code = "blob_not_found"
	ReplayDetected  Code = "replay_detected"
	BlobReferenced  Code = "blob_referenced"
	TooLarge        Code = "payload_too_large"
	Unprocessable   Code = "unprocessable_entity"
	RateLimited     Code = "rate_limit_exceeded"
	Internal        Code = "internal_error"
	NoRoom          Code = "insufficient_storage"

	InvalidSignature Code = "invalid_signature"
	TimestampExpired Code = "timestamp_expired"
)

var statuses = map[Code]int{
	BadRequest: http.StatusBadRequest, Unauthorized: http.StatusUnauthorized, InvalidSignature: http.StatusUnauthorized,
	TimestampExpired: http.StatusUnauthorized, Forbidden: http.StatusForbidden, AgentSuspended: http.StatusForbidden,
	ACLDenied: http.StatusForbidden, NotFound: http.StatusNotFound, AgentNotFound: http.StatusNotFound,
	MessageNotFound: http.StatusNotFound, BlobNotFound: http.StatusNotFound, ReplayDetected: http.StatusConflict,
	BlobReferenced: http.StatusConflict, TooLarge: http.StatusRequestEntityTooLarge, Unprocessable: http.StatusUnprocessableEntity,
	RateLimited: http.StatusTooManyRequests, Internal: http.StatusInternalServerError, NoRoom: http.StatusInsufficientStorage,
}

// An Error is the error with which a relay refuses a request.
type Error struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
	// RequestID identifies the request to the operator of the relay.
	RequestID string `json:"request_id,omitempty"`

	// Status is the HTTP status; 0 means the status that belongs to Code.
	Status int `json:"-"`
	// RetryAfter is the time to wait before the same request can succeed; 0 means unknown.
	RetryAfter time.Duration `json:"-"`
}

// Error returns the code and the message.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// HTTPStatus returns the HTTP status of the response. If Status is 0, this is the status that belongs to the code, or 500 if the code is
// unknown.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	if s, ok := statuses[e.Code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// An ErrorAnswer is the body of every error response.
type ErrorAnswer struct {
	Error *Error `json:"error"`
}

// Refuse returns an Error with the given code and message. The message must not quote anything from the request.
func Refuse(code Code, message string) *Error { return refuse(code, message) }

func refuse(code Code, message string) *Error { return &Error{Code: code, Message: message} }
