package log

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"

	"github.com/uimgate/uimgate/pat/keys"
)

// The types of keys in C2SP signed-note.
const (
	typeEd25519     = 0x01
	typeCosignature = 0x04 // C2SP tlog-cosignature v1
)

// ErrVerifier means that the input is not a verifier key.
var ErrVerifier = errors.New("not a verifier key: want name+id+key")

// keyID returns the id of a key: the first four bytes of a hash over its name, type and key.
func keyID(name string, kind byte, public ed25519.PublicKey) uint32 {
	h := sha256.Sum256(append([]byte(name+"\n"+string(rune(kind))), public...))
	return binary.BigEndian.Uint32(h[:])
}

// validName reports whether a name may be that of a key.
func validName(name string) bool {
	return name != "" && len(name) <= maxOrigin && utf8.ValidString(name) && !strings.Contains(name, "+") &&
		strings.IndexFunc(name, unicode.IsSpace) < 0
}

// VerifierKey returns the public key of a log in the form of C2SP signed-note: name+id+key.
func VerifierKey(name string, public ed25519.PublicKey) string {
	return verifierKey(name, typeEd25519, public)
}

func verifierKey(name string, kind byte, public ed25519.PublicKey) string {
	return fmt.Sprintf("%s+%08x+%s", name, keyID(name, kind, public), base64.StdEncoding.EncodeToString(append([]byte{kind}, public...)))
}

// parseVerifier parses a verifier key of one type.
func parseVerifier(text string, kind byte) (name string, public ed25519.PublicKey, err error) {
	name, rest, _ := strings.Cut(text, "+")
	id, key, _ := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.Strict().DecodeString(key)
	if err != nil || len(text) > 2*maxOrigin || !validName(name) || len(raw) != 1+ed25519.PublicKeySize || raw[0] != kind {
		return "", nil, ErrVerifier
	}
	public = ed25519.PublicKey(raw[1:])
	if n, err := strconv.ParseUint(id, 16, 32); err != nil || len(id) != 8 || uint32(n) != keyID(name, kind, public) {
		return "", nil, ErrVerifier
	}
	return name, public, nil
}

// A signer signs checkpoints with an Ed25519 key.
type signer struct {
	name    string
	id      uint32
	private crypto.Signer
}

// NewSigner returns a note.Signer that signs with an Ed25519 key. name is the origin of the checkpoints.
func NewSigner(name string, private crypto.Signer) (note.Signer, error) {
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok || !validName(name) {
		return nil, errors.New("signing checkpoints: want an Ed25519 key, and a name without spaces and plus signs")
	}
	return &signer{name, keyID(name, typeEd25519, public), private}, nil
}

func (s *signer) Name() string    { return s.name }
func (s *signer) KeyHash() uint32 { return s.id }

func (s *signer) Sign(message []byte) ([]byte, error) {
	return s.private.Sign(nil, message, crypto.Hash(0))
}

// A verifier verifies signatures of one key.
type verifier struct {
	name   string
	id     uint32
	verify func(message, signature []byte) bool
}

func (v *verifier) Name() string    { return v.name }
func (v *verifier) KeyHash() uint32 { return v.id }

func (v *verifier) Verify(message, signature []byte) bool { return v.verify(message, signature) }

// NewVerifier returns a note.Verifier for the public key of a log. name is its origin.
func NewVerifier(name string, public ed25519.PublicKey) (note.Verifier, error) {
	if len(public) != ed25519.PublicKeySize || !validName(name) {
		return nil, ErrVerifier
	}
	return &verifier{name, keyID(name, typeEd25519, public), func(message, signature []byte) bool {
		return ed25519.Verify(public, message, signature)
	}}, nil
}

// KeyVerifier is NewVerifier for a key of any type. The error is ErrVerifier if the key is not an Ed25519 key.
func KeyVerifier(name string, key keys.Key) (note.Verifier, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, ErrVerifier
	}
	return NewVerifier(name, public)
}

// ParseVerifier parses the verifier key of a log, as VerifierKey returns it. The error is ErrVerifier.
func ParseVerifier(text string) (note.Verifier, error) {
	name, public, err := parseVerifier(text, typeEd25519)
	if err != nil {
		return nil, err
	}
	return NewVerifier(name, public)
}
