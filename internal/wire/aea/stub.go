package aea

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// messageTag begins a message that is a step of a dialogue.
const messageTag = 0x12

// ReadRecord decodes the first record of a file of the connection fetchai/stub, and returns the rest of the file:
//
//	to,sender,specification id,message,
//
// followed by an optional line feed. The message has its own length, so it may hold commas and line feeds. io.ErrUnexpectedEOF means that
// the record is incomplete; after another error no further record can be found in data. Records carry no URI.
func ReadRecord(data []byte) (e Envelope, rest []byte, err error) {
	rest = data
	var head [3]string
	for i, limit := range []int{MaxAddress, MaxAddress, maxPublicID} {
		at := bytes.IndexByte(rest[:min(len(rest), limit+1)], ',')
		switch {
		case at >= 0:
			head[i], rest = string(rest[:at]), rest[at+1:]
		case len(rest) > limit:
			return Envelope{}, nil, fmt.Errorf("%w: record: a name is too long", ErrUndecodable)
		default:
			return Envelope{}, nil, io.ErrUnexpectedEOF
		}
	}
	e = Envelope{To: head[0], Sender: head[1]}
	if e.Protocol, err = ParsePublicID(head[2]); err != nil {
		return Envelope{}, nil, fmt.Errorf("record: protocol: %w", err)
	}
	if why := e.wrong(); why != "" {
		return Envelope{}, nil, fmt.Errorf("%w: record: %s", ErrUndecodable, why)
	}
	size, err := messageSize(rest)
	if err != nil {
		return Envelope{}, nil, err
	}
	if len(rest) <= size {
		return Envelope{}, nil, io.ErrUnexpectedEOF
	}
	if rest[size] != ',' {
		return Envelope{}, nil, fmt.Errorf("%w: record: no comma behind the message", ErrUndecodable)
	}
	e.Message, rest = rest[:size:size], rest[size+1:]
	return e, bytes.TrimPrefix(rest, []byte("\n")), nil
}

// messageSize returns the length of the message at the beginning of data. Some of it may still be missing.
func messageSize(data []byte) (int, error) {
	if len(data) > 0 && data[0] != messageTag {
		return 0, fmt.Errorf("%w: record: no message", ErrUndecodable)
	}
	if len(data) < 2 {
		return 0, io.ErrUnexpectedEOF
	}
	length, n := protowire.ConsumeVarint(data[1:])
	switch {
	case n < 0 && len(data) > 10: // the maximum length of a number
		return 0, fmt.Errorf("%w: record: the length of the message is malformed", ErrUndecodable)
	case n < 0:
		return 0, io.ErrUnexpectedEOF
	case length > MaxEnvelope:
		return 0, fmt.Errorf("%w: record: the message is too long", ErrUndecodable)
	}
	return 1 + n + int(length), nil
}

// AppendRecord appends a record with a line feed. It only accepts an envelope that ReadRecord decodes again: no comma in the names, and
// one message. It also returns ErrUnsendable for the two characters \x in a message, because agents take them for the beginning of an
// escape, and so read another message. An agent that finds two records reads only the first: write a record into an empty file.
func AppendRecord(out []byte, e Envelope) ([]byte, error) {
	protocol := e.Protocol.String()
	_, err := ParsePublicID(protocol)
	size, wrong := messageSize(e.Message)
	switch {
	case err != nil || e.wrong() != "" || strings.ContainsRune(e.To+e.Sender, ','):
		return nil, fmt.Errorf("%w: record: a name that has no place in it", ErrUnsendable)
	case wrong != nil || size != len(e.Message):
		return nil, fmt.Errorf("%w: record: not one message", ErrUnsendable)
	case bytes.Contains(e.Message, []byte(`\x`)):
		return nil, fmt.Errorf("%w: record: the message holds what agents take for an escape", ErrUnsendable)
	}
	for _, name := range []string{e.To, e.Sender, protocol} {
		out = append(append(out, name...), ',')
	}
	return append(append(out, e.Message...), ",\n"...), nil
}
