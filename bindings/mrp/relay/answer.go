package relay

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// refusals maps errors of the store to errors for agents.
var refusals = []struct {
	err     error
	code    wire.Code
	message string
}{
	{mail.ErrReplayed, wire.ReplayDetected, "this signature was already used: sign each request with a new timestamp"},
	{mail.ErrSuspended, wire.AgentSuspended, "the operator of this relay has suspended the agent"},
	{mail.ErrDenied, wire.ACLDenied, "the recipient does not accept messages from this sender"},
	{mail.ErrForbidden, wire.Forbidden, "this belongs to another agent"},
	{mail.ErrFull, wire.NoRoom, "the relay is full: try again later"},
	{mail.ErrQueueFull, wire.NoRoom, "too many messages wait for the recipient: try again later"},
	{mail.ErrOverQuota, wire.NoRoom, "the agent has reached its limit of stored data"},
	{mail.ErrReferenced, wire.BlobReferenced, "the blob is attached to a message that has not expired"},
	{mail.ErrKeyReused, wire.BadRequest, "idempotency_key was already used for a different message"},
	{mail.ErrNoBlob, wire.Unprocessable, "an attachment is not a blob that the sender can read"},
}

// refusal converts an error of the store to an error for the agent. missing is the code for mail.ErrNotFound. refusal returns nil if err is
// nil.
func (r *Relay) refusal(err error, missing wire.Code) *wire.Error {
	if err == nil {
		return nil
	}
	if errors.Is(err, mail.ErrNotFound) {
		return wire.Refuse(missing, "not found")
	}
	for _, known := range refusals {
		if errors.Is(err, known.err) {
			e := wire.Refuse(known.code, known.message)
			if errors.Is(err, mail.ErrKeyReused) {
				e.Status = http.StatusConflict
			}
			return e
		}
	}
	r.log.Warn("the store of the relay is unavailable", zap.Error(err))
	return unavailable("the relay is temporarily unavailable: try again in a few seconds")
}

// unavailable returns an error for a request that may succeed a moment later.
func unavailable(message string) *wire.Error {
	e := wire.Refuse(wire.Internal, message)
	e.Status, e.RetryAfter = http.StatusServiceUnavailable, time.Second
	return e
}

// refuse responds with an error, and counts it.
func (r *Relay) refuse(w http.ResponseWriter, e *wire.Error) {
	shown := *e
	shown.RequestID = w.Header().Get("X-Request-ID")
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	r.meter.refused(e.Code)
	r.json(w, e.HTTPStatus(), wire.ErrorAnswer{Error: &shown})
}

// json responds with a value.
func (r *Relay) json(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		r.log.Error("a response could not be encoded", zap.Error(err))
		text, status = []byte(`{"error":{"code":"internal_error","message":"the response could not be encoded"}}`), http.StatusInternalServerError
	}
	_ = r.text(w, status, text)
}

// large responds with a body that may occupy much memory until the client has read it. The memory for such bodies is limited for each
// client and in total. If no memory is available, large sends nothing and returns a *wire.Error. Every other error is that of the
// connection.
func (r *Relay) large(w http.ResponseWriter, c *call, text []byte) error {
	client, n := r.options.Client(c.Request), int64(len(text))
	if !r.answers.add(client, n) {
		return unavailable("too many large responses are in progress: request less data, or try again in a few seconds")
	}
	defer r.answers.add(client, -n)
	if c.share.Take(n) != nil {
		return unavailable("the relay does not have enough memory for the response: request less data, or try again in a few seconds")
	}
	if err := r.text(w, http.StatusOK, text); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// refusedIn returns the *wire.Error in an error of large, or nil if there is none.
func refusedIn(err error) *wire.Error {
	refused, _ := errors.AsType[*wire.Error](err)
	return refused
}

// nothing responds with status 204, without a body.
func (r *Relay) nothing(w http.ResponseWriter) {
	hurry(w, r.times.write)
	w.WriteHeader(http.StatusNoContent)
}

// hurry sets the deadline for sending a response. It ignores errors, because some writers do not support deadlines.
func hurry(w http.ResponseWriter, within time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(within)) //nolint:forbidigo // a deadline of the network
}

// text responds with JSON. The error is that of the connection.
func (r *Relay) text(w http.ResponseWriter, status int, text []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	hurry(w, r.times.with(r.times.write, int64(len(text))))
	w.WriteHeader(status)
	_, err := w.Write(text)
	return err
}
