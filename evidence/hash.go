package evidence

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// A Hash is a SHA-256 hash in a chain or a log. The zero Hash means that there is no hash.
type Hash [HashSize]byte

// HashSize is the size of a Hash in bytes.
const HashSize = sha256.Size

// HashOf returns a hash that was stored as bytes. For no bytes, it returns the zero Hash.
func HashOf(b []byte) (h Hash) {
	copy(h[:], b)
	return h
}

var (
	errHash   = errors.New("want 43 characters of base64url")
	errDigest = errors.New("want sha-256: and 43 characters of base64url")
)

// LeafHash returns the hash of an entry as a leaf of a Merkle tree: SHA-256(0x00 ‖ entry). See RFC 6962, section 2.1.
func LeafHash(entry []byte) Hash {
	h := sha256.New()
	h.Write([]byte{0})
	h.Write(entry)
	var out Hash
	h.Sum(out[:0])
	return out
}

// IsZero reports whether h is the zero Hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// String returns the hash as 43 characters of base64url.
func (h Hash) String() string { return base64.RawURLEncoding.EncodeToString(h[:]) }

// MarshalText returns the result of String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText parses the result of String.
func (h *Hash) UnmarshalText(text []byte) error {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(text))
	if err != nil || len(raw) != len(h) || strings.ContainsAny(string(text), "\r\n") {
		return errHash
	}
	copy(h[:], raw)
	return nil
}

const digestPrefix = "sha-256:"

// Digest returns the digest of data in the form of entries: sha-256: and base64url without padding.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	out := append(make([]byte, 0, 2*HashSize), digestPrefix...)
	return string(base64.RawURLEncoding.AppendEncode(out, sum[:]))
}

// PrefixedDigest returns a digest of package pat, which has no prefix, in the form of entries. It returns an empty string for an empty
// digest.
func PrefixedDigest(digest string) string {
	if digest == "" {
		return ""
	}
	return digestPrefix + digest
}

// validDigest reports whether s has the form of Digest.
func validDigest(s string) bool {
	rest, ok := strings.CutPrefix(s, digestPrefix)
	return ok && new(Hash).UnmarshalText([]byte(rest)) == nil
}
