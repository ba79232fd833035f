package e2e

import (
	"crypto/ed25519"
	"crypto/rand"

	"golang.org/x/crypto/chacha20poly1305"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Overhead is the number of bytes that encryption adds to a blob: the nonce at its beginning and the tag at its end.
const Overhead = chacha20poly1305.NonceSize + chacha20poly1305.Overhead

// A DataKey encrypts one blob. Each recipient receives the key in a separate attachment.
type DataKey [chacha20poly1305.KeySize]byte

// SealBlob encrypts a blob with a new key. stored consists of the nonce, the ciphertext of ChaCha20-Poly1305 (RFC 8439) and its tag. The
// error is ErrSize if a relay would not accept the blob.
func SealBlob(plaintext []byte) (stored []byte, key DataKey, err error) {
	if len(plaintext) > wire.MaxBlob-Overhead {
		return nil, DataKey{}, ErrSize
	}
	_, _ = rand.Read(key[:]) // never fails
	aead, err := chacha20poly1305.New(key[:])
	if err != nil {
		return nil, DataKey{}, err
	}
	stored = make([]byte, chacha20poly1305.NonceSize, len(plaintext)+Overhead)
	_, _ = rand.Read(stored)
	return aead.Seal(stored, stored, plaintext, nil), key, nil
}

// Attach adds the key, encrypted for one recipient, to an attachment of the encrypted blob. The error wraps ErrKey.
func (k DataKey) Attach(private ed25519.PrivateKey, to wire.Key, a wire.Attachment) (wire.Attachment, error) {
	enc, ct, err := seal(private, to, k[:])
	if err != nil {
		return wire.Attachment{}, err
	}
	a.Encrypted, a.DEKEnc, a.DEKCT = true, write(enc), write(ct)
	return a, nil
}

// OpenBlob decrypts a blob that is attached to a message from the given sender. The result reuses the memory of stored. The error is
// ErrBody, ErrKey, ErrOpen or ErrSize.
func OpenBlob(private ed25519.PrivateKey, from wire.Key, a wire.Attachment, stored []byte) ([]byte, error) {
	if len(stored) > wire.MaxBlob {
		return nil, ErrSize
	}
	enc, good := read(a.DEKEnc)
	ct, whole := read(a.DEKCT)
	if !a.Encrypted || !good || !whole || len(enc) != encSize || len(ct) != chacha20poly1305.KeySize+tagSize || len(stored) < Overhead {
		return nil, ErrBody
	}
	key, err := open(private, from, enc, ct)
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, ErrOpen
	}
	nonce, sealed := stored[:chacha20poly1305.NonceSize], stored[chacha20poly1305.NonceSize:]
	plaintext, err := aead.Open(sealed[:0], nonce, sealed, nil)
	if err != nil {
		return nil, ErrOpen
	}
	return plaintext, nil
}
