package mrp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	apiwire "github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
)

// origin identifies the sender of the message to the host.
func (x *exchange) origin() door.Origin {
	return door.Origin{
		Door: Name, Service: x.a.service, RequestID: x.requestID, Sender: pat.AgentID(x.received.Sender.String()), SenderKey: x.key.Thumbprint(),
		Confidential: true,
	}
}

// refuse returns the reply for an error that the door itself detected.
func (x *exchange) refuse(err error) answer { return x.refused(err, "") }

// failed returns the reply for an error of the host, which has logged the error under the request id.
func (x *exchange) failed(err error) answer { return x.refused(err, x.requestID) }

func (x *exchange) refused(err error, id execute.RequestID) answer {
	f := refusal.For(err)
	envelope := apiwire.Envelope(refusal.InMessage(f), apiwire.About{RequestID: string(id), HelpURL: x.service.HelpURL(f.Reason)})
	details, _ := strictjson.Find(envelope, "/error/details")
	if text, ok := advice[f.Reason]; ok {
		if tree, err := strictjson.DecodeObject(details); err == nil {
			tree["suggestion"] = text
			if advised, err := strictjson.Append(nil, map[string]any(tree)); err == nil {
				details = advised
			}
		}
	}
	w := strictjson.NewWriter(nil)
	w.Text("code", strings.ToLower(textOf(details, "/reason")))
	w.Text("message", textOf(envelope, "/error/message"))
	w.JSON("details", details)
	return response(wire.ResponseError, "error", w)
}

// long returns the reply for a result that is too long for a message. The request has been carried out.
func (x *exchange) long() answer {
	f := reason.ResponseInvalid.Refusal("The result is too long for a message.").With("outcome", "done")
	return x.refuse(f.With("suggestion",
		"The call took effect and may have been charged, so do not repeat it. In later calls, ask for a shorter result, or use HTTP."))
}

// fault returns the reply for an error that the Machine Relay Protocol defines.
func (x *exchange) fault(f wire.Fault) answer {
	w := strictjson.NewWriter(nil)
	w.Text("code", f.Code)
	w.Text("message", f.Message)
	w.Object("details", f.Details)
	return response(wire.ResponseError, "error", w)
}

// result returns the reply for a request that succeeded.
func result(w strictjson.Writer) answer { return response(wire.ResponseOK, "result", w) }

func response(status, member string, content strictjson.Writer) answer {
	inner, err := content.End()
	w := strictjson.NewWriter(nil)
	w.Text("status", status)
	w.JSON(member, inner)
	body, unwritten := w.End()
	if err != nil || unwritten != nil { // cannot happen: the gateway itself has encoded the parts
		return answer{wire.TypeResponse, []byte(`{"status":"error","error":{"code":"internal","message":"The response could not be encoded."}}`)}
	}
	return answer{wire.TypeResponse, body}
}

// textOf returns the string at a JSON pointer, or "" if there is none.
func textOf(document []byte, pointer string) (text string) {
	raw, ok := strictjson.Find(document, pointer)
	if !ok || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// keyOf returns an idempotency key for the message with the given id: the prefix and the id or, if that is not a valid key, the prefix and
// a digest of the id.
func keyOf(prefix, id string) string {
	if key, err := execute.ParseIdempotencyKey(prefix + id); err == nil {
		return string(key)
	}
	sum := sha256.Sum256([]byte(id))
	return prefix + hex.EncodeToString(sum[:])
}
