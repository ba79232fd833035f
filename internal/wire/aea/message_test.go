package aea_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

func TestDecodeMessageErrors(t *testing.T) {
	good := build(1, 1, 2, "a1", 5, "c")
	for name, data := range map[string][]byte{
		"legacy body":             build(1, "struct"),
		"body and dialogue":       build(1, "struct", 2, good),
		"two dialogue messages":   build(2, good, 2, good),
		"only unknown fields":     build(3, "later"),
		"dialogue as integer":     build(2, 1),
		"no content":              build(2, build(1, 1, 2, "a1")),
		"empty content":           build(2, build(1, 1, 2, "a1", 5, "")),
		"content twice":           build(2, build(1, 1, 5, "c", 5, "d")),
		"id beyond 32 bits":       build(2, build(1, math.MaxInt32+1, 5, "c")),
		"id below 32 bits":        build(2, build(1, math.MinInt32-1, 5, "c")),
		"target of 32 bits alone": build(2, build(1, 1, 4, math.MaxUint32, 5, "c")),
		"id as text":              build(2, build(1, "1", 5, "c")),
		"long reference":          build(2, build(1, 1, 2, strings.Repeat("a", wire.MaxReference+1), 5, "c")),
		"reference is not UTF-8":  build(2, build(1, 1, 3, "\xc3\x28", 5, "c")),
		"id without end":          build(2, append([]byte{0x08}, bytes.Repeat([]byte{0xff}, 10)...)),
		"id of eleven bytes":      build(2, append(append([]byte{0x08}, bytes.Repeat([]byte{0x80}, 10)...), 0x01)),
	} {
		if m, err := wire.DecodeMessage(data); !errors.Is(err, wire.ErrUndecodable) || m.ID != 0 || m.Content != nil {
			t.Errorf("%s: got %+v, %v; want %v, ID 0 and Content nil", name, m, err, wire.ErrUndecodable)
		}
	}
}

func TestUnknownMessageFields(t *testing.T) {
	m, err := wire.DecodeMessage(build(7, 1, 2, build(1, math.MinInt32, 4, math.MaxInt32, 5, "c", 9, "later")))
	if err != nil || m.ID != math.MinInt32 || m.Target != math.MaxInt32 || string(m.Content) != "c" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestEncodeMessageErrors(t *testing.T) {
	for name, m := range map[string]wire.Message{
		"no content":       {ID: 1, StarterRef: "a1"},
		"long reference":   {ID: 1, StarterRef: strings.Repeat("a", wire.MaxReference+1), Content: []byte("c")},
		"reference of FF":  {ID: 1, ResponderRef: "\xff", Content: []byte("c")},
		"content too long": {ID: 1, Content: make([]byte, wire.MaxEnvelope+1)},
	} {
		if out, err := m.Encode(); !errors.Is(err, wire.ErrUnsendable) || out != nil {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
}
