package aea

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// messageTag is the first byte of a message in a dialogue.
const messageTag = 0x12

// ReadRecord decodes the first record of a file of the connection fetchai/stub, and returns the rest of the file. A record consists of
//
//	to,sender,specification id,message,
//
// and an optional line feed. The message contains its own length, so it may contain commas and line feeds. If the record is incomplete,
// the error is io.ErrUnexpectedEOF. After any other error, no further record can be found in data. A record has no URI.
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
		return Envelope{}, nil, fmt.Errorf("%w: record: want a comma after the message", ErrUndecodable)
	}
	e.Message, rest = rest[:size:size], rest[size+1:]
	return e, bytes.TrimPrefix(rest, []byte("\n")), nil
}

// messageSize returns the length of the message at the beginning of data, even if data does not contain the whole message yet.
func messageSize(data []byte) (int, error) {
	if len(data) > 0 && data[0] != messageTag {
		return 0, fmt.Errorf("%w: record: not a message in a dialogue", ErrUndecodable)
	}
	if len(data) < 2 {
		return 0, io.ErrUnexpectedEOF
	}
	length, n := protowire.ConsumeVarint(data[1:])
	switch {
	case n < 0 && len(data) > 10: // a length has at most 10 bytes
		return 0, fmt.Errorf("%w: record: the length of the message is malformed", ErrUndecodable)
	case n < 0:
		return 0, io.ErrUnexpectedEOF
	case length > MaxEnvelope:
		return 0, fmt.Errorf("%w: record: the message is too long", ErrUndecodable)
	}
	return 1 + n + int(length), nil
}

// AppendRecord appends a record and a line feed. The error wraps ErrUnsendable if ReadRecord could not decode the record: a name must not
// contain a comma, and there must be exactly one message. It also wraps ErrUnsendable if the message contains the two characters \x,
// because agents would decode them as an escape sequence. Agents read only the first record in a file, so write a record into an empty
// file.
func AppendRecord(out []byte, e Envelope) ([]byte, error) {
	protocol := e.Protocol.String()
	_, err := ParsePublicID(protocol)
	size, wrong := messageSize(e.Message)
	switch {
	case err != nil || e.wrong() != "" || strings.ContainsRune(e.To+e.Sender, ','):
		return nil, fmt.Errorf("%w: record: a name is invalid or contains a comma", ErrUnsendable)
	case wrong != nil || size != len(e.Message):
		return nil, fmt.Errorf("%w: record: want exactly one message", ErrUnsendable)
	case bytes.Contains(e.Message, []byte(`\x`)):
		return nil, fmt.Errorf("%w: record: agents would decode a part of the message as an escape sequence", ErrUnsendable)
	}
	for _, name := range []string{e.To, e.Sender, protocol} {
		out = append(append(out, name...), ',')
	}
	return append(append(out, e.Message...), ",\n"...), nil
}
