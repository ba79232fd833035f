// Package envelope holds the message of the uAgents protocol: JSON with sender, target, session, kind of message, expiry and the
// signature of the sender's key. The usual calls:
//
//	e, err := envelope.Parse(body)
//	err = cmp.Or(e.Verify(), e.Timely(now))
//	message, err := e.Message()
//
//	reply := envelope.Envelope{Target: e.Sender, Session: e.Session, SchemaDigest: kind, Payload: envelope.Pack(json), Expires: &until}
//	body, err := json.Marshal(reply.Sign(key))
//
// This package is stricter than other implementations: a number is a JSON number without fraction and exponent, a member occurs once, an
// address has one spelling, and a nonce never comes without expires. The older name protocol for schema_digest is not supported.
package envelope

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// Version is the version of our envelopes.
const Version = 1

// Why an envelope proves nothing, or is not valid any more.
var (
	// ErrUnsigned means that an envelope has no signature of an agent.
	ErrUnsigned = errors.New("the envelope has no signature")
	// ErrAnonymous means that the sender is a user, whether signed or not: a user address is not a key, and anyone may use it.
	ErrAnonymous = errors.New("the sender is a user, whom nothing proves")
	// ErrSignature means that the sender's key did not sign this envelope.
	ErrSignature = errors.New("the sender's key did not sign the envelope")
	// ErrExpired means that an envelope has expired.
	ErrExpired = errors.New("the envelope has expired")
	// ErrTooFar means that an envelope would be valid for longer than MaxAhead.
	ErrTooFar = errors.New("the envelope expires too far ahead")
)

const (
	// MaxAhead is how far ahead an envelope may expire: its digest is remembered that long.
	MaxAhead = 24 * time.Hour
	// Unlimited is how long the digest of an envelope without expiry is remembered.
	Unlimited = 15 * time.Minute
)

// An Envelope is one message, made by Parse, or by hand and signed with Sign. The signature does not cover Version and ProtocolDigest: do
// not rely on them.
type Envelope struct {
	Version        int64
	Sender         identity.Address
	Target         identity.Address
	Session        Session
	SchemaDigest   ModelDigest    // of the type of the message in Payload
	ProtocolDigest ProtocolDigest // empty: none
	Payload        string         // base64 as received; empty: none
	Expires        *uint64        // seconds since 1970; nil: never
	Nonce          *uint64        // nil: none
	Signature      identity.Signature
}

// Digest returns the signed digest: SHA-256 over sender, target, session, schema digest, the text of the payload, and, if present,
// expires and nonce with 8 bytes each. It also identifies an envelope: see identity.Signature.
//
// There is no separator between the parts. Two envelopes that Parse accepts and that differ in a part nevertheless have different
// digests: the parts before the payload have a fixed length, expires begins with a zero byte, which no payload has, and a nonce only
// follows expires.
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

// Sign returns the envelope sent and signed by the key, in our version.
func (e Envelope) Sign(key identity.Key) Envelope {
	e.Version, e.Sender = Version, key.Address()
	e.Signature = key.Sign(e.Digest())
	return e
}

// Signed reports whether there is a signature, valid or not.
func (e Envelope) Signed() bool { return e.Signature != identity.Signature{} }

// Verify returns nil if the sender's key signed the envelope, and ErrAnonymous, ErrUnsigned or ErrSignature otherwise. It does not check
// the time, nor whether the envelope has come before.
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

// Timely returns nil if the envelope is valid at now; one without expiry is. Otherwise it returns ErrExpired, from the second that
// expires names, or ErrTooFar.
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

// Until returns how long a timely envelope that arrives at now must be remembered: until it has expired, or for the time of Unlimited.
func (e Envelope) Until(now time.Time) time.Time {
	if e.Expires == nil {
		return now.Add(Unlimited)
	}
	return seconds(*e.Expires)
}

func seconds(s uint64) time.Time { return time.Unix(int64(min(s, maxExpires)), 0) }
