package aea_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// build makes a message of fields: text and bytes by their length, integers as varints.
func build(fields ...any) []byte {
	var out []byte
	for i := 0; i < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case string:
			out = protowire.AppendString(protowire.AppendTag(out, number, protowire.BytesType), v)
		case []byte:
			out = protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), v)
		case int:
			out = protowire.AppendVarint(protowire.AppendTag(out, number, protowire.VarintType), uint64(int64(v)))
		}
	}
	return out
}

func TestDecodeEnvelopeErrors(t *testing.T) {
	long := strings.Repeat("a", wire.MaxAddress+1)
	for name, data := range map[string][]byte{
		"empty":                        {},
		"protocol without author":      build(1, "gw", 2, "me", 3, "x", 4, "m"),
		"no protocol":                  build(1, "gw", 2, "me", 4, "m"),
		"no receiver":                  build(2, "me", 3, "a/b:1.0.0", 4, "m"),
		"no sender":                    build(1, "gw", 3, "a/b:1.0.0", 4, "m"),
		"from a component to an agent": build(1, "gw", 2, "a/skill:1.0.0", 3, "a/b:1.0.0", 4, "m"),
		"from an agent to a component": build(1, "a/skill", 2, "me", 3, "a/b:1.0.0", 4, "m"),
		"uri between components":       build(1, "a/skill", 2, "a/skill", 3, "a/b:1.0.0", 4, "m", 5, "http://x/y"),
		"line feed in an address":      build(1, "g\nw", 2, "me", 3, "a/b:1.0.0", 4, "m"),
		"escape in an address":         build(1, "gw", 2, "me\x1b[1m", 3, "a/b:1.0.0", 4, "m"),
		"address is not UTF-8":         build(1, "g\xff", 2, "me", 3, "a/b:1.0.0", 4, "m"),
		"long address":                 build(1, long, 2, "me", 3, "a/b:1.0.0", 4, "m"),
		"long uri":                     build(1, "gw", 2, "me", 3, "a/b:1.0.0", 4, "m", 5, strings.Repeat("u", wire.MaxURI+1)),
		"long protocol":                build(1, "gw", 2, "me", 3, "a/b:1.0.0-"+strings.Repeat("0a", 400), 4, "m"),
		"integer as text":              build(1, 7, 2, "me", 3, "a/b:1.0.0", 4, "m"),
		"receiver twice":               build(1, "gw", 1, "other", 2, "me", 3, "a/b:1.0.0", 4, "m"),
		"cut off in a length":          append(build(1, "gw", 2, "me", 3, "a/b:1.0.0"), 0x22, 0xff),
		"cut off in a value":           append(build(1, "gw", 2, "me", 3, "a/b:1.0.0"), 0x22, 0x05, 'm'),
		"number of a field 0":          append(build(1, "gw", 2, "me", 3, "a/b:1.0.0"), 0x02, 0x00),
		"number of a field too large":  append(build(1, "gw", 2, "me", 3, "a/b:1.0.0"), 0x98, 0x98, 0x98, 0x98, 0x30, 0x30),
		"too long":                     build(1, "gw", 2, "me", 3, "a/b:1.0.0", 4, make([]byte, wire.MaxEnvelope)),
		"groups in groups, not ended":  append(build(1, "gw", 2, "me", 3, "a/b:1.0.0"), []byte(strings.Repeat("\x7b", 1<<20))...),
		"groups in groups, all ended":  append(build(1, "gw", 2, "me", 3, "a/b:1.0.0"), []byte(strings.Repeat("\x7b", 1<<20)+strings.Repeat("\x7c", 1<<20))...),
	} {
		t.Run(name, func(t *testing.T) {
			e, err := wire.DecodeEnvelope(data)
			if !errors.Is(err, wire.ErrUndecodable) {
				t.Fatalf("%+v, %v, want %v", e, err, wire.ErrUndecodable)
			}
			if e.To != "" || e.Sender != "" || e.Message != nil {
				t.Errorf("an error with %+v; want To empty, Sender empty and Message nil", e)
			}
		})
	}
}

func TestDecodeEnvelope(t *testing.T) {
	for name, data := range map[string][]byte{
		"unknown fields":     append(build(1, "gw", 9, "later", 2, "me", 3, "a/b:1.0.0", 4, "m", 9, 1, 200, "later"), 0x7b, 0x08, 0x01, 0x7c),
		"decentralized id":   build(1, "did:web:gw", 2, "me@example.com x", 3, "a/b", 4, "m"),
		"of any order":       build(4, "m", 3, "a/b:any", 2, "me", 1, "gw"),
		"no message":         build(1, "gw", 2, "me", 3, "a/b:1.0.0"),
		"between two skills": build(1, "a/skill:1.0.0", 2, "a/other:0.1.0", 3, "a/b:1.0.0", 4, "m"),
	} {
		e, err := wire.DecodeEnvelope(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.ToComponent() != strings.HasPrefix(name, "between") {
			t.Errorf("%s: to a component: %v", name, e.ToComponent())
		}
	}
}

func TestEncodeEnvelopeErrors(t *testing.T) {
	good := wire.Envelope{To: "gw", Sender: "me", Protocol: defaultID, Message: []byte("m")}
	for name, change := range map[string]func(*wire.Envelope){
		"empty address":    func(e *wire.Envelope) { e.To = "" },
		"mixed":            func(e *wire.Envelope) { e.To = "a/b" },
		"no protocol":      func(e *wire.Envelope) { e.Protocol = wire.PublicID{} },
		"not UTF-8":        func(e *wire.Envelope) { e.Sender = "\xff" },
		"uri is not UTF-8": func(e *wire.Envelope) { e.URI = "\xff" },
		"too long":         func(e *wire.Envelope) { e.Message = make([]byte, wire.MaxEnvelope) },
	} {
		e := good
		change(&e)
		if out, err := e.Encode(); !errors.Is(err, wire.ErrUnsendable) || out != nil {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
	if _, err := good.Encode(); err != nil {
		t.Error(err)
	}
}

func TestPublicID(t *testing.T) {
	long := strings.Repeat("n", 128)
	for s, want := range map[string]string{
		"fetchai/default:1.0.0": "fetchai/default:1.0.0", "valory/http:1.0.0": "valory/http:1.0.0", "open_aea/signing:1.0.0": "open_aea/signing:1.0.0",
		"a/b": "a/b:latest", "a/b:latest": "a/b:latest", "a/b:any": "a/b:any", "_a/b9:1.2.3-rc.1+build.7": "_a/b9:1.2.3-rc.1+build.7",
		long + "/" + long: long + "/" + long + ":latest",
		"":                "", "a": "", "a/": "", "/b": "", "a/b:": "", "a/b:1": "", "a/b:1.0": "", "a/b:01.0.0": "", "a/b:v1.0.0": "", "a/b:1.0.0\n": "",
		"9a/b": "", "a-b/c": "", "a/b/c": "", "a/b:1.0.0:bafy": "", "a b/c": "", "é/b": "", long + "n/b": "", "a/b:1.0.0-01": "",
	} {
		id, err := wire.ParsePublicID(s)
		if want == "" {
			if !errors.Is(err, wire.ErrUndecodable) || id != (wire.PublicID{}) {
				t.Errorf("%q: got %v, %v; want %v and %+v", s, id, err, wire.ErrUndecodable, wire.PublicID{})
			}
			continue
		}
		if err != nil || id.String() != want {
			t.Errorf("%q: %v, %v", s, id, err)
		}
		if !wire.IsComponent(s) {
			t.Errorf("%q is not a component", s)
		}
	}
	for _, s := range []string{"gw", "example.com", "did:web:gw", "fetch1x9v67", "0x23377282AC9D363BD4D2aa89dE200B2040da5FDb", "a b"} {
		if wire.IsComponent(s) || !wire.IsAgent(s) {
			t.Errorf("%q is a component", s)
		}
	}
	for _, s := range []string{"", "a/b", "a\nb", "\xff", strings.Repeat("a", wire.MaxAddress+1)} {
		if wire.IsAgent(s) {
			t.Errorf("%q is an agent", s)
		}
	}
}
