package execute

import (
	"cmp"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/internal/trace"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// A Call is one call of an agent, whatever way it came in.
type Call struct {
	Door string // the protocol it came by, such as mcp; empty: that of UIM over HTTP
	// Service returns the service that is called as it is served at the moment, or nil where there is none any more. It is
	// asked when the call begins, when it has been read, and before the first byte of each attempt; it must be quick.
	Service func() *service.Service
	Token   string // the PAT, without a scheme; empty if none was sent
	// Sender is who sent the call, where the protocol says that beside the PAT: one of another agent is refused. Empty: it does not.
	Sender pat.AgentID
	// SenderKey says the same by the key that the sender is: it decides in place of Sender. Empty: the protocol does not say it.
	SenderKey      pat.KeyID
	IdempotencyKey IdempotencyKey
	Proof          string // compact JWS of typ uim-proof+jwt; empty: none
	// Proved is a proof of key in place of Proof: the message that brought the call is signed, over intent, parameters, service
	// and something that is used once. It proves nothing where its key is not that of the agreement. nil: it is not signed.
	Proved      *pat.Proof
	RequestID   RequestID // for correlation only
	Traceparent Traceparent
	ContextID   string         // of the conversation that the call is a part of; empty: the protocol has none. See Executor.Record
	Caller      service.Caller // who calls, as far as the transport can see
	Observe     func(*Event)   // called with what became of the call; may be nil
	// HandedOn: the output is sent as it is. Of a long answer to an intent without outputs, only the beginning is then held to
	// be JSON; else all of it is.
	HandedOn bool
	// Read reads what is asked. It is called once, after the PAT was accepted, so that nobody unknown makes the gateway
	// read a body.
	Read func() (Request, error)

	began    func(Reference) // called once the record of the call is durable, before the call is sent; may be nil
	identity *identity       // found by Identify; nil: Execute verifies the PAT
}

// An identity holds the claims of a token that Identify verified at a time.
type identity struct {
	service *service.Service
	token   string
	claims  *pat.Claims
	at      time.Time
}

// ofAnother reports whether a PAT is another agent's than the one that sent the call.
func (c *Call) ofAnother(claims *pat.Claims) bool {
	if c.SenderKey != "" {
		return claims.KeyID != c.SenderKey
	}
	return c.Sender != "" && claims.Subject != c.Sender
}

// A Request is what an agent asks for.
type Request struct {
	IntentUID  string
	Parameters strictjson.Object // as sent
	At         string            // JSON pointer to Parameters in the body they came in, for refusals; empty: /parameters
	Proof      string            // proof of key that came in the body; Call.Proof wins
}

// Pointer is At with its default.
func (r Request) Pointer() string { return cmp.Or(r.At, "/parameters") }

// An IdempotencyKey makes repeating a call harmless: 1 to 128 visible ASCII characters, chosen by the agent. Empty: none.
type IdempotencyKey string

// maxIdempotencyKey bounds a key, in bytes.
const maxIdempotencyKey = 128

// ParseIdempotencyKey reads a key as it was sent. The error is a *reason.Refusal.
func ParseIdempotencyKey(s string) (IdempotencyKey, error) {
	if s == "" || len(s) > maxIdempotencyKey || strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return "", reason.MalformedRequest.Refusal("The Idempotency-Key must be 1 to 128 visible ASCII characters.")
	}
	return IdempotencyKey(s), nil
}

// A RequestID finds a call in logs and does nothing else: 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-'.
type RequestID string

// maxRequestID bounds an id that was sent, in bytes.
const maxRequestID = 64

// RequestIDFrom is the id that was sent where it can be used, else a new one.
func RequestIDFrom(sent string) RequestID {
	if sent != "" && len(sent) <= maxRequestID && !strings.ContainsFunc(sent, notOfRequestID) {
		return RequestID(sent)
	}
	return newRequestID()
}

func notOfRequestID(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
}

// A Traceparent is the span under which a call is made. W3C Trace Context, section 3.2. Empty: none.
type Traceparent = trace.Parent

// ContinueTrace goes on with the trace of the sender under a span of our own, or starts one where what was sent is no
// traceparent.
func ContinueTrace(sent string) Traceparent { return trace.Continue(sent) }
