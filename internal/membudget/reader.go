package membudget

import (
	"errors"
	"io"
)

// step is how many bytes are taken at a time for what is being read, so that who sends slowly holds little.
const step = 4 << 10

// A Reader takes memory for what is read, twice what arrives, for the buffer that grows with it: io.ReadAll copies it.
type Reader struct {
	from    io.Reader
	take    func(n int64) error
	covered int64 // bytes that may still be read before more is taken
}

// NewReader reads from from, and asks take, which is Take or Wait of a Share, for memory.
func NewReader(from io.Reader, take func(n int64) error) *Reader {
	return &Reader{from: from, take: take}
}

// Read reads like the reader beneath. The error is ErrExhausted where there is no memory for what it returned.
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
