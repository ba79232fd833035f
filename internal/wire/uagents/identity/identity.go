// Package identity has the identities of the uAgents protocol: an address encodes a public key on secp256k1, and a signature made with
// the key proves the address, without a lookup.
//
// All texts are in classic bech32 (BIP 173, without its limit of 90 characters): agent1… is the address of an agent, user1… that of a
// user, which is not a key and proves nothing, sig1… a signature. Of the spellings that decode to the same bytes only the lowercase one
// is accepted, because the text is signed. The usual calls:
//
//	key, err := identity.FromSeed(seed, 0)
//	signature := key.Sign(digest)
//	from, err := identity.ParseAddress("agent1…")
//	if from.Verify(digest, signature) { … }
//
// Addresses of the ledger (fetch1…) and uncompressed keys are not supported.
package identity

import (
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/btcutil/bech32"
)

// The errors of a text in bech32. The errors of this package wrap one of these two, and never quote the text.
var (
	// ErrBech32 means that a text is not lowercase bech32, or not the canonical spelling of its bytes.
	ErrBech32 = errors.New("no bech32 text in its one spelling")
	// ErrPrefix means that bech32 has another purpose: another prefix, another length, bytes that are not a key or a signature.
	ErrPrefix = errors.New("bech32 text of something else")
)

// decode returns the bytes of a text of that prefix and that size.
func decode(prefix, text string, size int) ([]byte, error) {
	if len(text) > maxBech32 {
		return nil, fmt.Errorf("%w: longer than any that is used here", ErrBech32)
	}
	found, bytes, err := bech32.DecodeNoLimit(text)
	if err != nil {
		return nil, ErrBech32 // the library's own text holds a part of the input
	}
	if bytes, err = bech32.ConvertBits(bytes, 5, 8, false); err != nil {
		return nil, fmt.Errorf("%w: it does not hold whole bytes", ErrBech32)
	}
	if encode(found, bytes) != text { // uppercase, and the checksum of bech32m
		return nil, fmt.Errorf("%w: want lower case and the checksum of bech32", ErrBech32)
	}
	if found != prefix || len(bytes) != size {
		return nil, fmt.Errorf("%w: want %s1… of %d bytes", ErrPrefix, prefix, size)
	}
	return bytes, nil
}

// maxBech32 is longer than a signature, the longest text.
const maxBech32 = 128

// encode reverses decode.
func encode(prefix string, bytes []byte) string {
	text, err := bech32.EncodeFromBase256(prefix, bytes)
	if err != nil {
		return "" // the prefixes are our own, or were parsed by the library
	}
	return text
}
