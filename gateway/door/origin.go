package door

import (
	"context"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// An Origin identifies the door and the sender of a request that came in a message.
type Origin struct {
	Door    string // name of the door in logs, metrics and audit records
	Service string // id of the service that the message is for
	// RequestID identifies the request in logs and refusals.
	RequestID execute.RequestID
	// Sender is the sender's address, as far as the connection authenticates it. Limits count the requests of each Sender, and PATs of other
	// agents are refused.
	Sender pat.AgentID
	// SenderKey is the sender's key, in protocols that identify senders by keys. If it is set, PATs of other keys are refused, and Sender
	// does not decide which PATs are accepted. Empty: the protocol has no keys.
	SenderKey keys.ID
	// Proved is the proof of key that the signature of the message provides. See execute.Call. nil: the message is not signed.
	Proved *pat.Proof
	// Confidential reports whether only the sender can read the reply. PATs are sent only in confidential replies.
	Confidential bool
}

type originKey struct{}

// In returns a context that carries the origin. Doors use it when they pass a request from a message to the handler of the listener.
func (o *Origin) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin of a request, or nil for a request over HTTP.
func OriginOf(ctx context.Context) *Origin {
	o, _ := ctx.Value(originKey{}).(*Origin)
	return o
}
