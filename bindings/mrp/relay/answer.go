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
	{mail.ErrReplayed, wire.ReplayDetected, "this signature was used before: sign each request anew, with a timestamp of its own"},
	{mail.ErrSuspended, wire.AgentSuspended, "the operator of this relay has suspended the agent"},
	{mail.ErrDenied, wire.ACLDenied, "the recipient does not take messages of this sender"},
	{mail.ErrForbidden, wire.Forbidden, "this is another agent's"},
	{mail.ErrFull, wire.NoRoom, "the relay is full: try again later"},
	{mail.ErrQueueFull, wire.NoRoom, "too many messages wait for the recipient: send again when it has taken some"},
	{mail.ErrOverQuota, wire.NoRoom, "the agent has as much as it may"},
	{mail.ErrReferenced, wire.BlobReferenced, "a message that has not expired has the blob attached"},
	{mail.ErrKeyReused, wire.BadRequest, "idempotency_key was used for another message"},
	{mail.ErrNoBlob, wire.Unprocessable, "an attachment is not a blob that the sender can read"},
}

// refusal returns the error for an agent for an error of the store; missing is the code if there is no such record.
func (r *Relay) refusal(err error, missing wire.Code) *wire.Error {
	if err == nil {
		return nil
	}
	if errors.Is(err, mail.ErrNotFound) {
		return wire.Refuse(missing, "there is none")
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
	r.log.Warn("the state of the relay cannot be used", zap.Error(err))
	return unavailable("the relay cannot do this at present: try again in some seconds")
}

// unavailable returns an error for a request that may succeed a moment later.
func unavailable(message string) *wire.Error {
	e := wire.Refuse(wire.Internal, message)
	e.Status, e.RetryAfter = http.StatusServiceUnavailable, time.Second
	return e
}

// refuse responds with an error.
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
		r.log.Error("an answer could not be written", zap.Error(err))
		text, status = []byte(`{"error":{"code":"internal_error","message":"the answer could not be written"}}`), http.StatusInternalServerError
	}
	_ = r.text(w, status, text)
}

// large responds with a body that may take much memory until it is written. The error is a refusal if no memory is left, or that of the
// connection. One client has a bounded part of the memory, and so have all slow readers.
func (r *Relay) large(w http.ResponseWriter, c *call, text []byte) error {
	client, n := r.options.Client(c.Request), int64(len(text))
	if !r.answers.add(client, n) {
		return unavailable("too much is being read at once: ask for less, or try again in some seconds")
	}
	defer r.answers.add(client, -n)
	if c.share.Take(n) != nil {
		return unavailable("the relay has no memory left for this: ask for less, or try again in some seconds")
	}
	if err := r.text(w, http.StatusOK, text); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// refusedIn returns the refusal in an error of large, if it is one.
func refusedIn(err error) *wire.Error {
	refused, _ := errors.AsType[*wire.Error](err)
	return refused
}

// nothing responds with success.
func (r *Relay) nothing(w http.ResponseWriter) {
	hurry(w, r.times.write)
	w.WriteHeader(http.StatusNoContent)
}

// hurry bounds how long sending a response may take from now on. Some writers have no deadlines.
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
