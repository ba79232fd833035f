// Package envelope implements the envelope of the uAgents protocol. It is a JSON object with the sender, the target, the session, the type
// of the message, the message itself, the expiry, and a signature with the sender's key. The usual calls:
//
//	e, err := envelope.Parse(body)
//	err = cmp.Or(e.Verify(), e.Timely(now))
//	message, err := e.Message()
//
//	reply := envelope.Envelope{Target: e.Sender, Session: e.Session, SchemaDigest: kind, Payload: envelope.Pack(json), Expires: &until}
//	body, err := json.Marshal(reply.Sign(key))
//
// This package is stricter than other implementations: a number is a JSON number without a fraction or an exponent, a member occurs only
// once, an address has only one spelling, and a nonce requires expires. The older name of schema_digest, protocol, is not supported.
package envelope

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// Version is the version of the envelopes that Sign returns.
const Version = 1

// The errors of Verify and Timely.
var (
	// ErrUnsigned means that an envelope from an agent has no signature.
	ErrUnsigned = errors.New("the envelope has no signature")
	// ErrAnonymous means that the sender is a user. The address of a user contains no key, so anyone can use it, even in a signed envelope.
	ErrAnonymous = errors.New("the sender is a user, whose address proves nothing")
	// ErrSignature means that the sender's key did not sign this envelope.
	ErrSignature = errors.New("the sender's key did not sign the envelope")
	// ErrExpired means that an envelope has expired.
	ErrExpired = errors.New("the envelope has expired")
	// ErrTooFar means that an envelope would be valid for longer than MaxAhead.
	ErrTooFar = errors.New("the envelope expires too far in the future")
)

const (
	// MaxAhead is how far in the future an envelope may expire. Its digest is remembered until then.
	MaxAhead = 24 * time.Hour
	// Unlimited is how long the digest of an envelope without expiry is remembered.
	Unlimited = 15 * time.Minute
)

// An Envelope is one message. It is returned by Parse, or created by the caller and signed with Sign. The signature does not cover Version
// and ProtocolDigest, so do not rely on them.
type Envelope struct {
	Version        int64
	Sender         identity.Address
	Target         identity.Address
	Session        Session
	SchemaDigest   ModelDigest    // the digest of the type of the message in Payload
	ProtocolDigest ProtocolDigest // empty means none
	Payload        string         // base64 as received; empty means none
	Expires        *uint64        // in seconds since 1970; nil means never
	Nonce          *uint64        // nil means none
	Signature      identity.Signature
}

// Digest returns the digest that the signature covers: the SHA-256 of the sender, the target, the session, the schema digest, the text of
// the payload and, if present, expires and nonce in 8 bytes each. The digest also identifies the envelope. A signature does not: see
// identity.Signature.
//
// The parts have no separator between them. Nevertheless, two envelopes that Parse accepts and that differ in a part have different
// digests. The parts before the payload have a fixed length, and a nonce always follows expires. expires begins with a zero byte, which
// strict JSON does not allow in a payload.
func (e Envelope) Digest() [32]byte {
	h := sha256.New()
	for _, part := range []string{string(e.Sender), string(e.Target), string(e.Session), string(e.SchemaDigest), e.Payload} {
		h.Write([]byte(part))
	}
	for _, number := range []*uint64{e.Expires, e.Nonce} {
		if number != nil {
			h.Write(binary.BigEndian.AppendUint64(nil, *number))
		}
	}
	return [32]byte(h.Sum(nil))
}

// Sign returns the envelope with the key's address as its sender, signed by the key.
func (e Envelope) Sign(key identity.Key) Envelope {
	e.Version, e.Sender = Version, key.Address()
	e.Signature = key.Sign(e.Digest())
	return e
}

// Signed reports whether the envelope has a signature, valid or not.
func (e Envelope) Signed() bool { return e.Signature != identity.Signature{} }

// Verify returns nil if the sender's key signed the envelope, and otherwise ErrAnonymous, ErrUnsigned or ErrSignature. It does not check
// the expiry, nor whether the same envelope was received before.
func (e Envelope) Verify() error {
	switch {
	case !e.Sender.Agent():
		return ErrAnonymous
	case !e.Signed():
		return ErrUnsigned
	case !e.Sender.Verify(e.Digest(), e.Signature):
		return ErrSignature
	}
	return nil
}

// Timely returns nil if the envelope is valid at now. An envelope without expiry is always valid. From the second in Expires on, the error
// is ErrExpired. If the envelope expires more than MaxAhead after now, the error wraps ErrTooFar.
func (e Envelope) Timely(now time.Time) error {
	if e.Expires == nil {
		return nil
	}
	switch until := seconds(*e.Expires); {
	case !now.Before(until):
		return ErrExpired
	case until.Sub(now) > MaxAhead:
		return fmt.Errorf("%w: want at most %s", ErrTooFar, MaxAhead)
	}
	return nil
}

// Until returns the time until which a timely envelope that arrives at now must be remembered: its expiry or, if it has none, Unlimited
// after now.
func (e Envelope) Until(now time.Time) time.Time {
	if e.Expires == nil {
		return now.Add(Unlimited)
	}
	return seconds(*e.Expires)
}

func seconds(s uint64) time.Time { return time.Unix(int64(min(s, maxExpires)), 0) }
