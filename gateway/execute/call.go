package execute

import (
	"cmp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Call is one call of an agent, through any door.
type Call struct {
	Door string // the protocol of the call, such as mcp; empty: UIM over HTTP
	// Service returns the called service as served now, or nil if it is no longer served. It is called when the call begins, when it has
	// been read, and before the first byte of each attempt; it must be fast.
	Service func() *service.Service
	Token   string // the PAT, without a scheme; empty if none was sent
	// Sender is the agent that sent the call, if the protocol identifies it in addition to the PAT: a PAT of another agent is refused.
	// Empty: it does not.
	Sender pat.AgentID
	// SenderKey identifies the sender by its key. It takes precedence over Sender. Empty: the protocol does not.
	SenderKey      keys.ID
	IdempotencyKey IdempotencyKey
	Proof          string // compact JWS of typ uim-proof+jwt; empty: none
	// Proved is a proof of key instead of Proof: the message of the call is signed, over intent, parameters, service and a value that is
	// used once. It proves nothing if its key is not that of the agreement. nil: it is not signed.
	Proved    *pat.Proof
	RequestID RequestID      // for correlation only
	Span      trace.Span     // of this call; the zero Span: none
	Operation *Operation     // of the protocol; the call then has a span of its own below that of the request. nil: it has not
	ContextID string         // of the conversation that the call belongs to; empty: the protocol has none. See Executor.Record
	Caller    service.Caller // who calls, as far as the transport identifies it
	Observe   func(*Event)   // called with the Event of the call; may be nil
	// HandedOn: the output is sent without change. If a long answer belongs to an intent without outputs, only its beginning must then be
	// JSON; otherwise all of it must be.
	HandedOn bool
	// Read reads the request. It is called once, after the PAT was accepted, so that only known agents make the gateway read a body.
	Read func() (Request, error)

	began    func(Reference) // called once the record of the call is durable, before the call is sent; may be nil
	identity *identity       // found by Identify; nil: Execute verifies the PAT
}

// An Operation is the operation of a protocol that makes a call, for the span of the call.
type Operation struct {
	Name       string // such as tools/call
	Target     string // what it operates on, such as the name of a tool; as sent: it is exported only if it names an intent
	Attributes []attribute.KeyValue
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

// RequestIDFrom returns the id that was sent if it is valid, and a new one otherwise.
func RequestIDFrom(sent string) RequestID {
	if sent != "" && len(sent) <= maxRequestID && !strings.ContainsFunc(sent, notOfRequestID) {
		return RequestID(sent)
	}
	return newRequestID()
}

func notOfRequestID(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
}
