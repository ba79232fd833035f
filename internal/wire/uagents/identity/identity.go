// Package identity implements the identities of the uAgents protocol. The address of an agent encodes a public key on secp256k1, so a
// signature with that key proves the address without a lookup.
//
// All strings are in classic bech32 (BIP 173), without its limit of 90 characters: agent1… is the address of an agent, user1… the address
// of a user, and sig1… a signature. The address of a user contains no key and proves nothing. Because the string itself is signed, only one
// of the spellings that decode to the same bytes is accepted, the lowercase one. The usual calls:
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

// The errors for an invalid address or signature wrap one of these two. They never quote the input.
var (
	// ErrBech32 means that a string is not lowercase bech32, or not the canonical spelling of its bytes.
	ErrBech32 = errors.New("not a bech32 string in its canonical spelling")
	// ErrPrefix means that a bech32 string is of the wrong kind: its prefix or its length is wrong, or its bytes are not a key or a signature.
	ErrPrefix = errors.New("wrong kind of bech32 string")
)

// decode returns the bytes that a bech32 string encodes. The string must have the given prefix and encode size bytes.
func decode(prefix, text string, size int) ([]byte, error) {
	if len(text) > maxBech32 {
		return nil, fmt.Errorf("%w: it is longer than an address or a signature", ErrBech32)
	}
	found, bytes, err := bech32.DecodeNoLimit(text)
	if err != nil {
		return nil, ErrBech32 // the library's error quotes a part of the input
	}
	if bytes, err = bech32.ConvertBits(bytes, 5, 8, false); err != nil {
		return nil, fmt.Errorf("%w: it does not encode whole bytes", ErrBech32)
	}
	if encode(found, bytes) != text { // uppercase letters, or the checksum of bech32m
		return nil, fmt.Errorf("%w: want lowercase letters and the checksum of bech32", ErrBech32)
	}
	if found != prefix || len(bytes) != size {
		return nil, fmt.Errorf("%w: want %s1… of %d bytes", ErrPrefix, prefix, size)
	}
	return bytes, nil
}

// maxBech32 limits the length of a string. The longest valid string is a signature.
const maxBech32 = 128

// encode is the inverse of decode.
func encode(prefix string, bytes []byte) string {
	text, err := bech32.EncodeFromBase256(prefix, bytes)
	if err != nil {
		return "" // cannot occur: the prefix is a constant, or the library has parsed it
	}
	return text
}
