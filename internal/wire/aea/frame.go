package aea

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A FrameFormat precedes the content with its length in four bytes.
type FrameFormat struct{ order binary.ByteOrder }

// TCP is the framing of the connection fetchai/tcp, in the byte order of the sender's machine: little endian, in practice. ACN is that of
// the network of agents: big endian.
var (
	TCP = FrameFormat{binary.LittleEndian}
	ACN = FrameFormat{binary.BigEndian}
)

// Errors of reading a frame. After ErrEmptyFrame the next frame can be read; after ErrLongFrame, which is a LongFrameError, once that
// many bytes have been read.
var (
	ErrEmptyFrame = errors.New("a frame without content")
	ErrLongFrame  = errors.New("a frame that is longer than frames may be")
)

// A LongFrameError is the announced length of a frame that is too long.
type LongFrameError int64

func (LongFrameError) Error() string { return ErrLongFrame.Error() }

// Unwrap returns ErrLongFrame.
func (LongFrameError) Unwrap() error { return ErrLongFrame }

// Read reads one frame of at most MaxEnvelope bytes. At its end the stream gives io.EOF, and inside a frame io.ErrUnexpectedEOF; other
// errors are those of r. Memory grows with the received bytes, and not with the announced length.
func (f FrameFormat) Read(r io.Reader) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	length := int64(f.order.Uint32(prefix[:]))
	switch {
	case length == 0:
		return nil, ErrEmptyFrame
	case length > MaxEnvelope:
		return nil, LongFrameError(length)
	}
	var frame bytes.Buffer
	if _, err := io.CopyN(&frame, r, length); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return frame.Bytes(), nil
}

// Append appends one frame, 1 to MaxEnvelope bytes long. Write it in one call: agents that read four bytes fail if fewer have arrived.
func (f FrameFormat) Append(out, content []byte) ([]byte, error) {
	if len(content) == 0 || len(content) > MaxEnvelope {
		return nil, fmt.Errorf("%w: frame: empty or too long", ErrUnsendable)
	}
	var prefix [4]byte
	f.order.PutUint32(prefix[:], uint32(len(content)))
	return append(append(out, prefix[:]...), content...), nil
}
