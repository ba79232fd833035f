package membudget

import (
	"errors"
	"io"
)

// step is how many bytes are reserved at a time during reading, so that slow senders hold little.
const step = 4 << 10

// A Reader reserves memory for what is read, twice the received bytes, because the buffer grows with it: io.ReadAll copies it.
type Reader struct {
	from    io.Reader
	take    func(n int64) error
	covered int64 // bytes that may still be read before more is taken
}

// NewReader reads from from, and reserves memory with take, which is Take or Wait of a Share.
func NewReader(from io.Reader, take func(n int64) error) *Reader {
	return &Reader{from: from, take: take}
}

// Read reads from the underlying reader. The error is ErrExhausted if there is no memory for what it returned.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	for r.covered < int64(n) {
		if full := r.take(2 * step); full != nil {
			return 0, errors.Join(full, err)
		}
		r.covered += step
	}
	r.covered -= int64(n)
	return n, err
}
