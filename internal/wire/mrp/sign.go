package mrp

import (
	"crypto/ed25519"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/edkey"
)

// The headers of a signed request.
const (
	HeaderKey       = "X-M2M-Public-Key"
	HeaderTimestamp = "X-M2M-Timestamp"
	HeaderSignature = "X-M2M-Signature"
)

// A Signature is one of Ed25519. It is compared by its bytes, never by its text.
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

// An Auth is the identity that a request, or the first frame of a WebSocket, claims. It proves nothing before Verify.
type Auth struct {
	Key       Key
	Timestamp string // as received
	Time      time.Time
	Signature Signature
}

// NewAuth parses the three texts. The error has the code unauthorized.
func NewAuth(key, timestamp, signature string) (Auth, *Error) {
	if key == "" || timestamp == "" || signature == "" {
		return Auth{}, refuse(Unauthorized, "the request must be signed: "+HeaderKey+", "+HeaderTimestamp+" and "+HeaderSignature)
	}
	a := Auth{Timestamp: timestamp}
	var err error
	if a.Key, err = ParseKey(key); err != nil {
		return Auth{}, refuse(Unauthorized, "the public key: "+err.Error())
	}
	if err := edkey.Check(a.Key.Public()); err != nil { // anyone could sign for it
		return Auth{}, refuse(Unauthorized, "the public key: "+err.Error())
	}
	if a.Time, err = readTime(timestamp); err != nil {
		return Auth{}, refuse(Unauthorized, "the timestamp must be a time of RFC 3339, such as 2026-03-05T12:00:00Z")
	}
	var ok bool
	if a.Signature, ok = parseSignature(signature); !ok {
		return Auth{}, refuse(Unauthorized, "the signature must be 86 characters of base64url without padding, in their only spelling")
	}
	return a, nil
}

// form matches a time, which the library parses less strictly.
var form = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,30})?(Z|[+-]\d{2}:\d{2})$`)

// readTime parses a time by RFC 3339 5.6, with any fraction and offset.
func readTime(text string) (time.Time, error) {
	if !form.MatchString(text) {
		return time.Time{}, errForm
	}
	return time.Parse(time.RFC3339, text)
}

var errForm = errors.New("no time of RFC 3339")

// ReadAuth reads the headers of a request, each of which must occur once. The error has the code unauthorized.
func ReadAuth(h http.Header) (Auth, *Error) {
	for _, name := range []string{HeaderKey, HeaderTimestamp, HeaderSignature} {
		if len(h.Values(name)) > 1 {
			return Auth{}, refuse(Unauthorized, name+" stands more than once")
		}
	}
	return NewAuth(h.Get(HeaderKey), h.Get(HeaderTimestamp), h.Get(HeaderSignature))
}

// InTime returns an error of code timestamp_expired unless the timestamp is at most tolerance from now.
func (a Auth) InTime(now time.Time, tolerance time.Duration) *Error {
	if a.Time.Before(now.Add(-tolerance)) || a.Time.After(now.Add(tolerance)) {
		return refuse(TimestampExpired, "the timestamp is more than "+tolerance.String()+" from the clock of the relay: set the clock by the Date header")
	}
	return nil
}

// Canonical returns the text that the signature of a request covers. The target is the path with its query, exactly as sent.
func Canonical(method, target, timestamp string, body Digest) []byte {
	return []byte(strings.Join([]string{method, target, timestamp, body.String()}, "\n"))
}

// CanonicalSocket returns the text that the first frame of a WebSocket signs.
func CanonicalSocket(timestamp string) []byte { return []byte("WS\n" + timestamp) }

// Verify returns an error of code invalid_signature unless the key signed this request. RFC 8032 5.1.7.
func (a Auth) Verify(method, target string, body Digest) *Error {
	return a.verify(Canonical(method, target, a.Timestamp, body))
}

// VerifySocket is Verify for the first frame of a WebSocket.
func (a Auth) VerifySocket() *Error { return a.verify(CanonicalSocket(a.Timestamp)) }

func (a Auth) verify(signed []byte) *Error {
	if !ed25519.Verify(a.Key.Public(), signed, a.Signature[:]) {
		return refuse(InvalidSignature, "the signature does not verify: it covers METHOD, the target with its query exactly as sent, "+
			"the timestamp and the base64url SHA-256 of the body, joined by line feeds")
	}
	return nil
}

// Timestamp formats a time for signatures: UTC, to the nanosecond, because two equal requests with the same time have one signature, and
// the second is refused as a replay.
func Timestamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// Sign sets the three headers for a request of one body.
func Sign(h http.Header, private ed25519.PrivateKey, at time.Time, method, target string, body Digest) {
	timestamp := Timestamp(at)
	h.Set(HeaderKey, KeyOf(private).String())
	h.Set(HeaderTimestamp, timestamp)
	h.Set(HeaderSignature, strict.EncodeToString(ed25519.Sign(private, Canonical(method, target, timestamp, body))))
}

// SignSocket returns the first frame of a WebSocket.
func SignSocket(private ed25519.PrivateKey, at time.Time) AuthFrame {
	timestamp := Timestamp(at)
	return AuthFrame{
		Type: FrameAuth, PublicKey: KeyOf(private).String(), Timestamp: timestamp,
		Signature: strict.EncodeToString(ed25519.Sign(private, CanonicalSocket(timestamp))),
	}
}
