package envelope

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

const (
	// MaxBytes limits the size of the JSON of an envelope.
	MaxBytes = 2 << 20
	// maxExpires is the end of the year 9999. Envelope.Digest relies on its highest byte, which is zero.
	maxExpires = 253402300799
)

// The errors of Parse.
var (
	// ErrJSON means that a body is not strict JSON, or is longer than MaxBytes.
	ErrJSON = errors.New("not valid JSON")
	// ErrEnvelope means that JSON is not an envelope. The error may also be a *MemberError.
	ErrEnvelope = errors.New("not an envelope")
)

// A MemberError names the missing or invalid member of an envelope. It wraps ErrEnvelope, and never quotes the value.
type MemberError struct {
	Member  string
	Problem error
}

func (e *MemberError) Error() string {
	return "the envelope's member " + e.Member + ": " + e.Problem.Error()
}

// Unwrap returns ErrEnvelope and the problem. For an address or a signature, the problem wraps identity.ErrBech32 or identity.ErrPrefix.
func (e *MemberError) Unwrap() []error { return []error{ErrEnvelope, e.Problem} }

// Parse parses the JSON of an envelope strictly and checks the limits of each member. It ignores unknown members and does not verify the
// signature. The error wraps ErrJSON or ErrEnvelope.
func Parse(raw []byte) (Envelope, error) {
	if len(raw) > MaxBytes {
		return Envelope{}, fmt.Errorf("%w: more than %d bytes", ErrJSON, MaxBytes)
	}
	tree, err := read(raw)
	if err != nil {
		return Envelope{}, err
	}
	m := members{tree: tree}
	e := Envelope{
		Version:        m.integer("version"),
		Sender:         required(&m, "sender", identity.ParseAddress),
		Target:         required(&m, "target", identity.ParseAddress),
		Session:        required(&m, "session", ParseSession),
		SchemaDigest:   required(&m, "schema_digest", ParseModelDigest),
		ProtocolDigest: optional(&m, "protocol_digest", ParseProtocolDigest),
		Payload:        optional(&m, "payload", func(text string) (string, error) { return text, nil }),
		Expires:        m.unsigned("expires", maxExpires),
		Nonce:          m.unsigned("nonce", 1<<64-1),
		Signature:      optional(&m, "signature", identity.ParseSignature),
	}
	if e.Nonce != nil && e.Expires == nil {
		m.fault("nonce", errors.New("want expires as well: the signature does not distinguish a nonce from an expiry"))
	}
	if m.err != nil {
		return Envelope{}, m.err
	}
	return e, nil
}

// read returns the known members of an envelope. It skips all other members and keeps no part of them.
func read(raw []byte) (strictjson.Object, error) {
	c := strictjson.Begin(raw)
	defer c.End()
	tree := strictjson.Object{}
	object := c.Next() == '{'
	if !object {
		c.Skip()
	} else {
		for c.Open('{'); c.Member(); {
			name := string(c.Name())
			kind, value := c.Next(), c.Value()
			switch {
			case value == nil || !slices.Contains(known, name):
			case kind == '{' || kind == '[':
				tree[name] = []any{} // every known member is a scalar, so this value is invalid
			default:
				tree[name] = strictjson.Scalar(value)
			}
		}
	}
	switch {
	case !c.Complete():
		return nil, ErrJSON
	case !object:
		return nil, fmt.Errorf("%w: want a JSON object", ErrEnvelope)
	}
	return tree, nil
}

var known = []string{
	"version", "sender", "target", "session", "schema_digest", "protocol_digest", "payload", "expires", "nonce", "signature",
}

// members reads the members of an envelope, and records the first error.
type members struct {
	tree strictjson.Object
	err  error
}

var (
	errMissing = errors.New("missing")
	errText    = errors.New("want a string")
	errInteger = errors.New("want an integer")
)

func (m *members) fault(name string, problem error) {
	if m.err == nil {
		m.err = &MemberError{name, problem}
	}
}

// required reads a required string member.
func required[T any](m *members, name string, parse func(string) (T, error)) T {
	if m.tree[name] == nil {
		m.fault(name, errMissing)
	}
	return optional(m, name, parse)
}

// optional reads a string member. It returns the zero value if the member is missing or null.
func optional[T any](m *members, name string, parse func(string) (T, error)) T {
	var none T
	v := m.tree[name]
	if v == nil {
		return none
	}
	text, ok := v.(string)
	if !ok {
		m.fault(name, errText)
		return none
	}
	parsed, err := parse(text)
	if err != nil {
		m.fault(name, err)
		return none
	}
	return parsed
}

func (m *members) integer(name string) int64 {
	if m.tree[name] == nil {
		m.fault(name, errMissing)
		return 0
	}
	n, _ := m.tree[name].(json.Number)
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil {
		m.fault(name, errInteger)
	}
	return i
}

func (m *members) unsigned(name string, most uint64) *uint64 {
	if m.tree[name] == nil {
		return nil
	}
	n, _ := m.tree[name].(json.Number)
	u, err := strconv.ParseUint(string(n), 10, 64)
	if err != nil || u > most {
		m.fault(name, fmt.Errorf("want an integer from 0 to %d", most))
		return nil
	}
	return &u
}

// MarshalJSON encodes the envelope in the same way as all implementations: the members are in this order, and missing members are null.
// Parse accepts the result.
func (e Envelope) MarshalJSON() ([]byte, error) {
	var signature string
	if e.Signed() {
		signature = e.Signature.String()
	}
	return json.Marshal(struct {
		Version        int64            `json:"version"`
		Sender         identity.Address `json:"sender"`
		Target         identity.Address `json:"target"`
		Session        Session          `json:"session"`
		SchemaDigest   ModelDigest      `json:"schema_digest"`
		ProtocolDigest *ProtocolDigest  `json:"protocol_digest"`
		Payload        *string          `json:"payload"`
		Expires        *uint64          `json:"expires"`
		Nonce          *uint64          `json:"nonce"`
		Signature      *string          `json:"signature"`
	}{
		e.Version, e.Sender, e.Target, e.Session, e.SchemaDigest, orNull(e.ProtocolDigest), orNull(e.Payload), e.Expires, e.Nonce,
		orNull(signature),
	})
}

func orNull[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}
