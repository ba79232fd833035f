package uagents

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// An exchange is an accepted envelope, with everything that is needed to reply. It does not depend on how the envelope or the reply is
// transported.
type exchange struct {
	*door.Request
	d      *Door
	r      *http.Request // only for its context and its header
	header http.Header   // accompanies the reply
	raw    []byte        // the envelope as received
	envelope.Envelope
	goodFor time.Duration // how long a reply is valid after it was signed
	// ahead sends an envelope to the sender before the reply; nil: the transport can send only the reply.
	ahead func(envelope.Envelope)
}

// An operation handles one model of message, and returns the reply. An error that it returns is sent as UIMFault.
type operation func(x *exchange, message strictjson.Object) (envelope.Envelope, error)

// operations maps the names of models to the operations that handle them.
var operations = map[string]operation{
	"UIMSearch":        (*exchange).search,
	"UIMPolicyRequest": (*exchange).policy,
	"UIMAgree":         (*exchange).agree,
	"UIMAgreeToPlan":   (*exchange).agree,
	"UIMRenew":         (*exchange).renew,
	"UIMExecute":       (*exchange).execute,
	"ListTools":        (*exchange).listTools,
	"CallTool":         (*exchange).callTool,
	"ChatMessage":      (*exchange).chat,
}

// answered reports whether messages of a model get a reply. Errors and acknowledgements never do; otherwise two agents could reply to each
// other forever.
func answered(kind envelope.ModelDigest) bool {
	name, _ := protocol.NameOf(kind)
	return name != "ErrorMessage" && name != "ChatAcknowledgement"
}

// answer returns the reply to the envelope, which depends on the model of its message.
func (x *exchange) answer() (envelope.Envelope, *fault) {
	name, _ := protocol.NameOf(x.SchemaDigest)
	// An agreement has its own expiry, which agree.Service checks.
	if text := x.untimely(); text != "" && name != "UIMAgree" && name != "UIMAgreeToPlan" {
		return x.written(x.explain(reason.MalformedRequest.Refusal(text), text))
	}
	message, err := x.Message()
	if err != nil {
		return envelope.Envelope{}, malformed("unable to decode payload", err.Error())
	}
	if name == "HealthCheck" {
		return x.written(x.healthy())
	}
	do, known := operations[name]
	if m := x.settings().mapped[x.SchemaDigest]; m != nil {
		do, known = m.answer, true
	}
	if !known {
		return x.written(x.explain(reason.NoSuchPath.Refusal("This type of message is not supported."), unknown))
	}
	answer, err := x.operated(do, message)
	if err != nil {
		return x.written(x.refuse(err))
	}
	return answer, nil
}

// untimely describes what is wrong with the time of the envelope. It returns "" if nothing is wrong.
func (x *exchange) untimely() string {
	switch err := x.Timely(x.d.now()); {
	case err == nil:
		return ""
	case errors.Is(err, envelope.ErrTooFar):
		return "The envelope expires more than " + envelope.MaxAhead.String() + " in the future."
	default:
		return "Query envelope expired"
	}
}

// operated decodes a message, and returns the reply of its operation.
func (x *exchange) operated(do operation, message []byte) (envelope.Envelope, error) {
	if err := wire.Affords(x.r.Context(), message); err != nil {
		return envelope.Envelope{}, err
	}
	tree, err := strictjson.DecodeObjectOf(message, wire.MaxValues)
	if err != nil {
		return envelope.Envelope{}, wire.Malformed(err)
	}
	return do(x, tree)
}

// written returns a reply, or a fault if the reply could not be encoded.
func (x *exchange) written(answer envelope.Envelope, err error) (envelope.Envelope, *fault) {
	if err != nil {
		return envelope.Envelope{}, unwritable(err)
	}
	return answer, nil
}

// unknown is the reply to a type of message that the service does not support.
const unknown = "This type of message is not supported. Send UIMSearch, UIMPolicyRequest, UIMAgree, UIMRenew or UIMExecute of " +
	"UIMProtocol 1.0.0, ListTools or CallTool of the MCP adapter, ChatMessage, or HealthCheck. " +
	"The digest of the schema identifies the type, so the schema must be exactly the same."

// healthy replies that the service is running. It does not check the dependencies of the service.
func (x *exchange) healthy() (envelope.Envelope, error) {
	w := strictjson.NewWriter(nil)
	w.Text("agent_name", x.Service.Issuer)
	w.Text("status", "healthy")
	message, err := w.End()
	if err != nil {
		return envelope.Envelope{}, err
	}
	return x.reply("AgentHealth", protocol.Health().Digest, message), nil
}

// messageKey returns an idempotency key for a message that has none. The same envelope always has the same key, even if it is signed again.
func (x *exchange) messageKey() string {
	digest := x.Digest()
	return strings.Join([]string{Name, hex.EncodeToString(digest[:])}, ":")
}
