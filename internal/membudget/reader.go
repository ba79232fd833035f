package membudget

import (
	"errors"
	"io"
)

// step is the number of bytes that are reserved at a time, so that slow senders hold little memory.
const step = 4 << 10

// A Reader reserves memory for the data that it reads: twice its size, because io.ReadAll copies the data whenever its buffer grows.
type Reader struct {
	from    io.Reader
	take    func(n int64) error
	covered int64 // bytes that may still be read before more memory is taken
}

// NewReader returns a Reader that reads from the reader from. It reserves memory with take, which is the method Take or Wait of a Share.
func NewReader(from io.Reader, take func(n int64) error) *Reader {
	return &Reader{from: from, take: take}
}

// Read reads from the underlying reader. If there is no memory for the data, Read discards the data, and the error wraps ErrExhausted.
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
