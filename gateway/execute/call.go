package execute

import (
	"cmp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/payments/x402"
)

// A Call is a request from an agent, through any door, to execute an intent.
type Call struct {
	Door string // name of the protocol, such as mcp; empty: UIM over HTTP
	// Service returns the current configuration of the called service, or nil if the gateway no longer serves it. Execute calls it at the
	// start, after reading the request, and before the first byte of each attempt. It must be fast.
	Service func() *service.Service
	Token   string // the PAT, without a scheme; empty if none was sent
	// Sender is the agent that sent the call, if the protocol identifies the sender in addition to the PAT; otherwise it is empty. A PAT of
	// another agent is refused.
	Sender pat.AgentID
	// SenderKey is the key of the sender, if the protocol identifies senders by key; otherwise it is empty. It takes precedence over Sender.
	SenderKey      keys.ID
	IdempotencyKey IdempotencyKey
	// Payment is a payment that is made before the call begins, if the call is charged. nil: none.
	Payment *x402.Payload
	Proof   string // compact JWS of typ uim-proof+jwt; empty: none
	// Confirmation is the token that a person received for confirming this call; empty: none. Only calls over UIM need it.
	Confirmation string
	// Proved is an alternative to Proof, for a message that is itself signed over intent, parameters, service and a nonce. If its key is not
	// the key of the agreement, it is ignored. nil: the message is not signed.
	Proved    *pat.Proof
	RequestID RequestID  // for correlation only
	Span      trace.Span // the span of this call; the zero Span: none
	// Operation is the operation of the protocol that makes the call. The call then has a span of its own below the span of its request.
	// nil: the span of the call is that of its request.
	Operation *Operation
	ContextID string         // id of the conversation; empty: the protocol has no conversations. See Executor.Record
	Caller    service.Caller // sender of the call, as far as the transport identifies it
	Observe   func(*Event)   // receives the Event of the call; may be nil
	// HandedOn means that the door sends the output to the agent unchanged. If the intent declares no outputs, Execute then checks only the
	// beginning of a long response for valid JSON; otherwise it checks the complete response.
	HandedOn bool
	// Reencoded means that the door does not send the output as JSON text. The receipt then covers the RFC 8785 form of the output.
	Reencoded bool
	// Stream receives each event of a streamed response, as JSON, when the event arrives: before the end of the call is stored. Execute calls
	// it on its own goroutine and waits for it. Stream must not keep the event. The output of the call contains all events. If Stream is nil,
	// they are only in the output.
	Stream func(event []byte)
	// Progress receives the notifications of an MCP server about the progress of the call, in the same way as Stream. If Progress is nil,
	// Stream receives them, as objects with the members progress and, if the server sent them, total and message.
	Progress func(Progress)
	// Read reads the request. Execute calls it once, after it has accepted the PAT, so that the gateway reads only the bodies of known agents.
	Read func() (Request, error)

	began    func(Reference) // called when the record of the call is durable, before the call is sent; may be nil
	identity *identity       // set by Identify; nil: Execute verifies the PAT
}

// An Operation is the operation of a protocol that makes a call, for the span of the call.
type Operation struct {
	Name       string // such as tools/call
	Target     string // what the operation acts on, as sent, such as the name of a tool; it is exported only if it names an intent
	Attributes []attribute.KeyValue
}

// An identity holds the claims of a token, and the time at which Identify verified the token.
type identity struct {
	service *service.Service
	token   string
	claims  *pat.Claims
	at      time.Time
}

// ofAnother reports whether a PAT belongs to an agent other than the sender of the call.
func (c *Call) ofAnother(claims *pat.Claims) bool {
	if c.SenderKey != "" {
		return claims.KeyID != c.SenderKey
	}
	return c.Sender != "" && claims.Subject != c.Sender
}

// A Request is the content of a Call: an intent and its parameters.
type Request struct {
	IntentUID  string
	Parameters strictjson.Object // as sent
	At         string            // JSON pointer to Parameters in the received body, for refusals; empty: /parameters
	Proof      string            // proof of key in the body; Call.Proof takes precedence
}

// Pointer returns At, or its default if At is empty.
func (r Request) Pointer() string { return cmp.Or(r.At, "/parameters") }

// An IdempotencyKey identifies a call, so that an agent can repeat the call safely. The agent chooses 1 to 128 visible ASCII characters.
// Empty means that there is no key.
type IdempotencyKey string

// maxIdempotencyKey is the maximum length of a key, in bytes.
const maxIdempotencyKey = 128

// ParseIdempotencyKey checks a key that an agent sent. The error is a *reason.Refusal.
func ParseIdempotencyKey(s string) (IdempotencyKey, error) {
	if s == "" || len(s) > maxIdempotencyKey || strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return "", reason.MalformedRequest.Refusal("The Idempotency-Key must be 1 to 128 visible ASCII characters.")
	}
	return IdempotencyKey(s), nil
}

// A RequestID identifies a call in logs, and has no other effect. It consists of 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-'.
type RequestID string

// maxRequestID is the maximum length of an id that a client sends, in bytes.
const maxRequestID = 64

// RequestIDFrom returns the id that the client sent if that is valid, and a new id otherwise.
func RequestIDFrom(sent string) RequestID {
	if sent != "" && len(sent) <= maxRequestID && !strings.ContainsFunc(sent, notOfRequestID) {
		return RequestID(sent)
	}
	return RequestID(uuid.NewString())
}

func notOfRequestID(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
}
