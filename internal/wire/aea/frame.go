package aea

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A FrameFormat is a way to frame content: the length of the content in four bytes, and then the content.
type FrameFormat struct{ order binary.ByteOrder }

// TCP is the format of the connection fetchai/tcp. It uses the byte order of the sender's machine, in practice little endian. ACN is the
// format of the agent communication network, in big endian.
var (
	TCP = FrameFormat{binary.LittleEndian}
	ACN = FrameFormat{binary.BigEndian}
)

// Errors of Read. After ErrEmptyFrame, the next frame can be read. ErrLongFrame is wrapped by a LongFrameError; the next frame can be read
// after the caller has skipped the number of bytes that the LongFrameError states.
var (
	ErrEmptyFrame = errors.New("the frame is empty")
	ErrLongFrame  = errors.New("the frame is too long")
)

// A LongFrameError is the announced length of the content of a frame that is too long.
type LongFrameError int64

func (LongFrameError) Error() string { return ErrLongFrame.Error() }

// Unwrap returns ErrLongFrame.
func (LongFrameError) Unwrap() error { return ErrLongFrame }

// Read reads one frame with at most MaxEnvelope bytes of content. If the stream ends before the frame, the error is io.EOF; if it ends
// inside the frame, the error is io.ErrUnexpectedEOF. Read also returns the errors of r. It allocates memory for the bytes that it
// receives, not for the announced length.
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

// Append appends one frame with 1 to MaxEnvelope bytes of content; for other content, the error wraps ErrUnsendable. Send a frame in a
// single write: agents fail if only a part of the four bytes of the length has arrived.
func (f FrameFormat) Append(out, content []byte) ([]byte, error) {
	if len(content) == 0 || len(content) > MaxEnvelope {
		return nil, fmt.Errorf("%w: frame: the content is empty or too long", ErrUnsendable)
	}
	var prefix [4]byte
	f.order.PutUint32(prefix[:], uint32(len(content)))
	return append(append(out, prefix[:]...), content...), nil
}
