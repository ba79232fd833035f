package uagents

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// A fault is an error that the response reports as plain JSON, not in an envelope.
type fault struct {
	refusal *reason.Refusal // for the status and the listener's log
	text    string          // the member error, which other agents use to distinguish faults; may be empty
	detail  string          // the member detail, which may suggest a remedy; may be empty
}

func malformed(text, detail string) *fault {
	return &fault{reason.MalformedRequest.Refusal(text), text, detail}
}

// fail responds with a fault: an object with the member error, and possibly detail.
func (x *submission) fail(f *fault) {
	x.Refusal = f.refusal
	status := f.refusal.Status()
	switch f.refusal.Reason {
	case reason.BadSignature: // the protocol uses this status for all faults in envelopes
		status = http.StatusBadRequest
	default:
		if f.refusal.RetryAfter > 0 {
			x.header.Set("Retry-After", strconv.FormatInt(f.refusal.RetrySeconds(), 10))
		}
	}
	w := strictjson.NewWriter(nil)
	w.Optional("error", f.text)
	w.Optional("detail", f.detail)
	body, _ := w.End() // our own strings can always be encoded
	x.write(status, body)
}

func unwritable(err error) *fault {
	return &fault{reason.Internal.Refusal("The reply could not be encoded.").Because(err), "internal error", ""}
}

// holds reserves memory for a response until the response is written. It waits for the memory only if the response cannot be produced
// again, and returns an error if there is not enough memory.
func (x *submission) holds(body []byte) error {
	return wire.Holds(x.r.Context(), body, x.Event != nil || x.Agreement != nil)
}

func (x *submission) write(status int, body []byte) {
	x.header.Set("Content-Type", jsonType)
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) //nolint:gosec // the body is JSON, and its type is set
}

// goodFor is how long a response is valid after it was signed.
const goodFor = 30 * time.Second

// reply returns a message of a standard model in an envelope that is signed with the service's key and belongs to the session of the
// request.
func (x *exchange) reply(model string, of envelope.ProtocolDigest, message []byte) envelope.Envelope {
	until := uint64(x.d.now().Add(x.goodFor).Unix())
	return envelope.Envelope{
		Target: x.Sender, Session: x.Session, SchemaDigest: protocol.Standard(model).Digest, ProtocolDigest: of,
		Payload: envelope.Pack(message), Expires: &until,
	}.Sign(x.settings().key)
}

// respond replies with a message of UIMProtocol.
func (x *exchange) respond(model string, message any) (envelope.Envelope, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return envelope.Envelope{}, reason.Internal.Refusal("The reply could not be encoded.").Because(err)
	}
	return x.reply(model, protocol.UIM().Digest, text), nil
}

// refused records and returns the refusal for an error. If the refusal has no suggestion, refused adds the one in advice.
func (x *exchange) refused(err error, advice map[reason.Reason]string) *reason.Refusal {
	f := refusal.For(err)
	if text, ok := advice[f.Reason]; ok && f.Details["suggestion"] == nil {
		f.With("suggestion", text)
	}
	x.Refusal = f
	wire.WriteTaken(x.header, f)
	return f
}

// refuse replies with UIMFault. This model has the members of refusals in all doors: code, reason, message and details.
func (x *exchange) refuse(err error) (envelope.Envelope, error) {
	f := x.refused(err, advice)
	got, err := strictjson.DecodeObject(wire.Envelope(f, x.About(f)))
	w := strictjson.NewWriter(nil)
	w.Text("code", string(f.Code))
	w.Text("reason", string(f.Reason))
	w.Text("message", refusal.InMessage(f).Message)
	w.Object("details", got.Object("error").Object("details"))
	message, unwritten := w.End()
	if err != nil || unwritten != nil {
		return envelope.Envelope{}, errors.Join(err, unwritten)
	}
	return x.reply("UIMFault", protocol.UIM().Digest, message), nil
}

// explain replies with ErrorMessage, which every agent of the protocol accepts. This model means that the service does not handle the
// request.
func (x *exchange) explain(f *reason.Refusal, text string) (envelope.Envelope, error) {
	x.Refusal = f
	w := strictjson.NewWriter(nil)
	w.Text("error", text)
	message, err := w.End()
	if err != nil {
		return envelope.Envelope{}, err
	}
	return x.reply("ErrorMessage", "", message), nil
}
