package uagents

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/bindings/uagents/envelope"
	"github.com/uimgate/uimgate/bindings/uagents/protocol"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// An operation answers one kind of message of UIMProtocol.
type operation func(x *exchange, message strictjson.Object) error

// operations are those of UIMProtocol that are answered, by the name of the request's model.
var operations = map[string]operation{
	"UIMSearch":        (*exchange).search,
	"UIMPolicyRequest": (*exchange).policy,
	"UIMAgree":         (*exchange).agree,
	"UIMExecute":       (*exchange).execute,
}

// answered reports whether messages of a kind are answered at all: never those that tell of an error or acknowledge, so that
// two agents do not go on about nothing.
func answered(kind envelope.ModelDigest) bool {
	name, _ := protocol.NameOf(kind)
	return name != "ErrorMessage" && name != "ChatAcknowledgement"
}

// dispatch answers an envelope that was accepted, by the kind of its message.
func (x *exchange) dispatch() {
	name, _ := protocol.NameOf(x.SchemaDigest)
	if !answered(x.SchemaDigest) {
		x.write(http.StatusOK, []byte("{}"))
		return
	}
	// An agreement says until when it is good, and the desk judges that.
	if err := x.Timely(x.d.now()); err != nil && name != "UIMAgree" {
		text := "Query envelope expired"
		if errors.Is(err, envelope.ErrTooFar) {
			text = "The envelope expires more than " + envelope.MaxAhead.String() + " ahead."
		}
		x.explain(reason.MalformedRequest.Refusal(text), text)
		return
	}
	message, err := x.Message()
	if err != nil {
		x.fail(malformed("unable to decode payload", err.Error()))
		return
	}
	if name == "HealthCheck" {
		x.healthy()
		return
	}
	do, known := operations[name]
	if !known {
		x.explain(reason.NoSuchPath.Refusal("The type of message is not answered here."), unknown)
		return
	}
	err = wire.Affords(x.r.Context(), message)
	var tree strictjson.Object
	if err == nil {
		if tree, err = strictjson.DecodeObjectOf(message, wire.MaxValues); err != nil {
			err = wire.Malformed(err)
		}
	}
	if err == nil {
		err = do(x, tree)
	}
	if err != nil {
		x.refuse(err)
	}
}

// unknown is what a sender is told of a type of message that is not answered.
const unknown = "This type of message is not answered here. UIMProtocol 1.0.0 is, with UIMSearch, UIMPolicyRequest, UIMAgree and UIMExecute, " +
	"and HealthCheck. Types are told apart by the digest of their schema, which has to be the same to the last letter."

// healthy says that the service is here; what it leans on is not looked at.
func (x *exchange) healthy() {
	w := strictjson.NewWriter(nil)
	w.Text("agent_name", x.Service.Issuer)
	w.Text("status", "healthy")
	message, err := w.End()
	if err != nil {
		x.fail(unwritable(err))
		return
	}
	x.reply("AgentHealth", protocol.Health().Digest, message)
}

// key is the idempotency key of a message that brings none: the same envelope is the same key, whichever signature it has.
func (x *exchange) key() string {
	digest := x.Digest()
	return strings.Join([]string{Name, hex.EncodeToString(digest[:])}, ":")
}
