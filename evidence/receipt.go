package evidence

import (
	"crypto"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"

	"github.com/uimgate/uimgate/pat/keys"
)

// TypeReceipt is the typ of a receipt.
const TypeReceipt = "uim-receipt+jwt"

// MediaTypeReceipt is the media type of a receipt.
const MediaTypeReceipt = "application/" + TypeReceipt

// The errors of receipts.
var (
	// ErrReceipt means that the input is not a receipt.
	ErrReceipt = errors.New("not a receipt")
	// ErrSignature means that the key does not verify a signature.
	ErrSignature = errors.New("the signature does not verify")
	// ErrKey means that a document names an unknown key, or a key for a different type of document.
	ErrKey = errors.New("the key is unknown, or not for this purpose")
)

// A Receipt is an entry with the signature of the gateway.
type Receipt struct {
	Entry Entry
	Leaf  Hash // the leaf hash of the entry
	Text  string
	KeyID keys.ID
	jws   keys.JWS
}

// SignReceipt signs the bytes of an entry, as a compact JWS with an Ed25519 key. See RFC 7515, section 3.1; RFC 8037, section 3.1.
func SignReceipt(signer crypto.Signer, kid keys.ID, entry []byte) (string, error) {
	return signCompact(signer, TypeReceipt, kid, entry)
}

// signCompact signs a payload with an Ed25519 key.
func signCompact(signer crypto.Signer, typ string, kid keys.ID, payload []byte) (string, error) {
	kept, ok := compact.Get().(*[]byte)
	if !ok {
		kept = new([]byte)
	}
	b64 := base64.RawURLEncoding
	out := append(b64.AppendEncode((*kept)[:0], []byte(`{"alg":"EdDSA","kid":"`+string(kid)+`","typ":"`+typ+`"}`)), '.')
	out = b64.AppendEncode(out, payload)
	signature, err := signer.Sign(nil, out, crypto.Hash(0))
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	out = b64.AppendEncode(append(out, '.'), signature)
	text := string(out)
	if cap(out) <= MaxReceipt {
		*kept = out
		compact.Put(kept)
	}
	return text, nil
}

// compact has *[]byte for signCompact.
var compact sync.Pool

// ParseReceipt parses a receipt without verifying its signature. It accepts at most MaxReceipt bytes. The error wraps ErrReceipt.
func ParseReceipt(text string) (Receipt, error) {
	j, err := keys.ParseJWS(text, MaxReceipt)
	if err != nil {
		return Receipt{}, fmt.Errorf("%w: %w", ErrReceipt, err)
	}
	if j.Typ != TypeReceipt || j.KeyID == "" {
		return Receipt{}, fmt.Errorf("%w: want typ %s and a kid", ErrReceipt, TypeReceipt)
	}
	e, err := ParseEntry(j.Payload)
	if err != nil {
		return Receipt{}, fmt.Errorf("%w: %w", ErrReceipt, err)
	}
	return Receipt{Entry: e, Leaf: LeafHash(j.Payload), Text: text, KeyID: keys.ID(j.KeyID), jws: j}, nil
}

// Verify verifies the signature with the keys of a service that sign receipts. The error is ErrKey or ErrSignature.
func (r *Receipt) Verify(set KeySet) error { return r.VerifyFor(set, PurposeReceipt) }

// VerifyFor is like Verify with the keys of another purpose: PurposeLog for entries of KindRestored, and Entry.Key.Purpose, the purpose of
// the introduced key, for entries of KindKey.
func (r *Receipt) VerifyFor(set KeySet, purpose string) error {
	key, ok := set.Key(purpose, r.KeyID)
	switch {
	case !ok:
		return ErrKey
	case key.Algorithm() != keys.EdDSA || !r.jws.SignedBy(key):
		return ErrSignature
	}
	return nil
}
