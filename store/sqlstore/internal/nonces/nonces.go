// Package nonces keeps used nonces in memory, if one process has the database for itself: the table then serves only to rebuild the set.
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

// Of returns the digest of a nonce: SHA-256 over the three parts, the first two of them with their lengths, cut to its first 16 bytes. It
// is stored, so it must never change.
func Of(service, keyID, id string) Digest {
	b := make([]byte, 0, 192) // most of them fit
	for _, part := range [...]string{service, keyID} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(append(b, id...))
	return Digest(sum[:Size])
}

// ErrRow means that a stored row is not a sequence of digests.
var ErrRow = errors.New("a record of used nonces is damaged")

// Each calls add with every digest of a row, in order. It returns ErrRow if the row has another length, and then adds nothing.
func Each(row []byte, add func(Digest)) error {
	if len(row) == 0 || len(row)%Size != 0 {
		return ErrRow
	}
	for ; len(row) > 0; row = row[Size:] {
		add(Digest(row[:Size]))
	}
	return nil
}
