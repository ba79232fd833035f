package door

import (
	"context"

	"github.com/uimgate/uimgate/pat"
)

// An Arrival says of a request that it came in a message of another protocol, and not to the public listener. It is answered as
// any other, but by no Door.
type Arrival struct {
	Door    string // its name in logs, metrics and audit records
	Service string // id of the service that the message was for; the request's host has no part in it
	// Sender is who sent the message, as far as the connection proves it: it is what requests are counted under, and PATs of
	// others are refused.
	Sender pat.AgentID
	// SenderKey is the key that the sender is, where the protocol has one: it says whose PATs are taken, in place of Sender. Empty:
	// it has none.
	SenderKey pat.KeyID
	// Proved is a proof of key for a call: the sender signed the message. See execute.Call. nil: nobody did.
	Proved *pat.Proof
	// Confidential reports whether only the sender can read the answer. PATs are told in no other.
	Confidential bool
}

type arrivalKey struct{}

// In returns a context that carries the arrival.
func (a *Arrival) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, arrivalKey{}, a)
}

// ArrivalOf returns the arrival of a request; nil: it came to the listener.
func ArrivalOf(ctx context.Context) *Arrival {
	a, _ := ctx.Value(arrivalKey{}).(*Arrival)
	return a
}
