package mrp

import (
	"crypto/ed25519"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/edkey"
	"github.com/uimgate/uimgate/internal/regex"
)

// The headers of a signed request.
const (
	HeaderKey       = "X-M2M-Public-Key"
	HeaderTimestamp = "X-M2M-Timestamp"
	HeaderSignature = "X-M2M-Signature"
)

// A Signature is an Ed25519 signature. Signatures are compared by their bytes, never by their text.
type Signature [ed25519.SignatureSize]byte

// String returns the text form of the signature.
func (s Signature) String() string { return strict.EncodeToString(s[:]) }

func parseSignature(text string) (s Signature, ok bool) {
	if len(text) != strict.EncodedLen(len(s)) {
		return Signature{}, false
	}
	n, err := strict.Decode(s[:], []byte(text))
	return s, err == nil && n == len(s)
}

// An Auth is the identity that a request, or the first frame of a WebSocket, claims to have. Verify or VerifySocket proves the claim.
type Auth struct {
	Key       Key
	Timestamp string // as received
	Time      time.Time
	Signature Signature
}

// NewAuth parses the key, the timestamp and the signature of a request. The error has the code unauthorized.
func NewAuth(key, timestamp, signature string) (Auth, *Error) {
	if key == "" || timestamp == "" || signature == "" {
		return Auth{}, refuse(Unauthorized, "the request must be signed, with "+HeaderKey+", "+HeaderTimestamp+" and "+HeaderSignature)
	}
	a := Auth{Timestamp: timestamp}
	var err error
	if a.Key, err = ParseKey(key); err != nil {
		return Auth{}, refuse(Unauthorized, "the public key is invalid: "+err.Error())
	}
	if err := edkey.Check(a.Key.Public()); err != nil { // anyone could sign for such a key
		return Auth{}, refuse(Unauthorized, "the public key is invalid: "+err.Error())
	}
	if a.Time, err = readTime(timestamp); err != nil {
		return Auth{}, refuse(Unauthorized, "the timestamp must be a time in the format of RFC 3339, such as 2026-03-05T12:00:00Z")
	}
	var ok bool
	if a.Signature, ok = parseSignature(signature); !ok {
		return Auth{}, refuse(Unauthorized, "the signature must be 86 characters of canonical base64url without padding")
	}
	return a, nil
}

// form matches a timestamp. The time package parses timestamps less strictly.
var form = regex.Lazy(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,30})?(Z|[+-]\d{2}:\d{2})$`)

// readTime parses a time in the format of RFC 3339 5.6, with any offset and a fraction of at most 30 digits.
func readTime(text string) (time.Time, error) {
	if !form().MatchString(text) {
		return time.Time{}, errForm
	}
	return time.Parse(time.RFC3339, text)
}

var errForm = errors.New("not a time in the format of RFC 3339")

// ReadAuth reads the headers of a signed request. Each header must occur exactly once. The error has the code unauthorized.
func ReadAuth(h http.Header) (Auth, *Error) {
	for _, name := range []string{HeaderKey, HeaderTimestamp, HeaderSignature} {
		if len(h.Values(name)) > 1 {
			return Auth{}, refuse(Unauthorized, "the "+name+" header occurs more than once")
		}
	}
	return NewAuth(h.Get(HeaderKey), h.Get(HeaderTimestamp), h.Get(HeaderSignature))
}

// InTime returns an error with the code timestamp_expired unless the timestamp differs from now by at most tolerance.
func (a Auth) InTime(now time.Time, tolerance time.Duration) *Error {
	if a.Time.Before(now.Add(-tolerance)) || a.Time.After(now.Add(tolerance)) {
		return refuse(TimestampExpired, "the timestamp differs from the relay's clock by more than "+tolerance.String()+
			": set your clock by the Date header")
	}
	return nil
}

// Canonical returns the text that the signature of a request covers. The target is the path with its query, exactly as sent.
func Canonical(method, target, timestamp string, body Digest) []byte {
	return []byte(strings.Join([]string{method, target, timestamp, body.String()}, "\n"))
}

// CanonicalSocket returns the text that the signature in the first frame of a WebSocket covers.
func CanonicalSocket(timestamp string) []byte { return []byte("WS\n" + timestamp) }

// Verify returns an error with the code invalid_signature unless the key signed this request. See RFC 8032, section 5.1.7.
func (a Auth) Verify(method, target string, body Digest) *Error {
	return a.verify(Canonical(method, target, a.Timestamp, body))
}

// VerifySocket is like Verify, but for the first frame of a WebSocket.
func (a Auth) VerifySocket() *Error { return a.verify(CanonicalSocket(a.Timestamp)) }

func (a Auth) verify(signed []byte) *Error {
	if !ed25519.Verify(a.Key.Public(), signed, a.Signature[:]) {
		return refuse(InvalidSignature, "the signature does not verify: it must cover the method, the target with its query exactly as sent, "+
			"the timestamp and the base64url SHA-256 of the body, joined by line feeds")
	}
	return nil
}

// Timestamp formats a time for signatures, in UTC and to the nanosecond. If two equal requests had the same timestamp, they would have the
// same signature, and the relay would refuse the second request as a replay.
func Timestamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// Sign sets the three headers that sign a request with the given body.
func Sign(h http.Header, private ed25519.PrivateKey, at time.Time, method, target string, body Digest) {
	timestamp := Timestamp(at)
	h.Set(HeaderKey, KeyOf(private).String())
	h.Set(HeaderTimestamp, timestamp)
	h.Set(HeaderSignature, strict.EncodeToString(ed25519.Sign(private, Canonical(method, target, timestamp, body))))
}

// SignSocket returns the signed first frame of a WebSocket.
func SignSocket(private ed25519.PrivateKey, at time.Time) AuthFrame {
	timestamp := Timestamp(at)
	return AuthFrame{
		Type: FrameAuth, PublicKey: KeyOf(private).String(), Timestamp: timestamp,
		Signature: strict.EncodeToString(ed25519.Sign(private, CanonicalSocket(timestamp))),
	}
}
