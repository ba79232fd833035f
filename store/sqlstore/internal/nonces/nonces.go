// Package nonces keeps used nonces in memory, for a database that only one process uses. The table of nonces then serves only to rebuild
// the set in memory.
package nonces

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// Size is the length of a digest in bytes.
const Size = 16

// A Digest identifies one nonce of one key at one service.
type Digest [Size]byte

// Of returns the digest of a nonce: the first 16 bytes of the SHA-256 hash of its three parts, where each of the first two is preceded by
// its length. Digests are stored, so this must never change.
func Of(service, keyID, id string) Digest {
	b := make([]byte, 0, 192) // enough for most nonces
	for _, part := range [...]string{service, keyID} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(append(b, id...))
	return Digest(sum[:Size])
}

// ErrRow means that a stored row is not a sequence of digests.
var ErrRow = errors.New("a record of used nonces is damaged")

// Each calls add with every digest of a row, in order. If the length of the row is not a positive multiple of Size, Each returns ErrRow and
// does not call add.
func Each(row []byte, add func(Digest)) error {
	if len(row) == 0 || len(row)%Size != 0 {
		return ErrRow
	}
	for ; len(row) > 0; row = row[Size:] {
		add(Digest(row[:Size]))
	}
	return nil
}
