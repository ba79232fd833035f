package acn_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/acn"
)

const vectors = "../testdata/vectors.txt"

func TestMessageVectors(t *testing.T) {
	want := map[string]acn.Message{
		"envelope":             {Kind: acn.Envelope, Envelope: aeavectors.Vector(t, vectors, "envelope/default-bytes")},
		"status-success":       {Kind: acn.Status},
		"status-invalid-proof": {Kind: acn.Status, Code: acn.InvalidProof, Texts: []string{"x"}},
		"register": {Kind: acn.Register, Record: &acn.Record{
			Service: "acn", Ledger: "fetchai", Address: "A", PublicKey: "P", PeerPublicKey: "N", Signature: "S",
		}},
	}
	for name, data := range aeavectors.Vectors(t, vectors, "acn/") {
		m, err := acn.Decode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want[name], m); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if back := m.Encode(); !bytes.Equal(back, data) {
			t.Errorf("%s: %x, want %x", name, back, data)
		}
	}
}

func TestEncodeAndDecode(t *testing.T) {
	record := acn.Record{
		Service: "acn", Ledger: "fetchai", Address: "a", PublicKey: "p", PeerPublicKey: "n", Signature: "s", NotBefore: "1", NotAfter: "2",
	}
	for _, m := range []acn.Message{
		{Kind: acn.Envelope, Envelope: []byte("e"), Record: &record},
		{Kind: acn.LookupRequest, Address: "a"},
		{Kind: acn.LookupResponse, Record: &record},
		{Kind: acn.Register, Record: &acn.Record{}},
		{Kind: acn.Status, Code: acn.AgentNotReady, Texts: []string{"", "b"}},
	} {
		back, err := acn.Decode(m.Encode())
		if diff := cmp.Diff(m, back); diff != "" || err != nil {
			t.Errorf("got %v, %q; want nil, an empty string", err, diff)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	texts := acn.Message{Kind: acn.Status, Texts: make([]string, acn.MaxTexts+1)}
	long := acn.Message{Kind: acn.Register, Record: &acn.Record{Ledger: strings.Repeat("l", acn.MaxText+1)}}
	for name, data := range map[string]string{
		"nothing":                    "",
		"only unknown fields":        "\x08\x01\x7a\x00",
		"two kinds":                  "\x4a\x02\x0a\x00\x4a\x02\x0a\x00",
		"envelope without bytes":     "\x2a\x00",
		"register without record":    "\x42\x00",
		"status without body":        "\x4a\x00",
		"lookup without address":     "\x32\x00",
		"lookup of an empty address": "\x32\x02\x0a\x00",
		"unknown code":               "\x4a\x04\x0a\x02\x08\x16",
		"code below 0":               "\x4a\x0d\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"kind as integer":            "\x48\x01",
		"text is not UTF-8":          "\x4a\x05\x0a\x03\x12\x01\xff",
		"record is not UTF-8":        "\x42\x05\x0a\x03\x1a\x01\xff",
		"cut off":                    "\x4a\x05\x0a",
		"too many texts":             string(texts.Encode()),
		"long text":                  string(long.Encode()),
		"bare envelope":              string(aeavectors.Vector(t, vectors, "envelope/default-bytes")),
	} {
		if m, err := acn.Decode([]byte(data)); !errors.Is(err, wire.ErrUndecodable) || m.Kind != 0 {
			t.Errorf("%s: got %+v, %v; want %v and Kind 0", name, m, err, wire.ErrUndecodable)
		}
	}
}

// schema is the framework's schema.
const schema = `
	AcnMessage = 5|Envelope 6|Lookup 7|Record 8|Record 9|Status
	Envelope = 1:bytes 2:AgentRecord
	Lookup = 1:string
	Record = 1:AgentRecord
	Status = 1:StatusBody
	StatusBody = 1:int32 2*string
	AgentRecord = 1:string 2:string 3:string 4:string 5:string 6:string 7:string 8:string
`

// FuzzDecode checks that a decoded message decodes to itself after encoding. The official library of Protocol Buffers decodes the same
// message, and encodes it to the same bytes.
func FuzzDecode(f *testing.F) {
	official := aeavectors.NewSchema(f, schema)
	for _, data := range aeavectors.Vectors(f, vectors, "acn/") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := acn.Decode(data)
		if err != nil {
			return
		}
		if again, err := acn.Decode(m.Encode()); err != nil || !cmp.Equal(m, again) {
			t.Errorf("%+v, %v, want %+v", again, err, m)
		}
		official.Writes(t, "AcnMessage", m.Encode())
		if same, err := acn.Decode(official.Normal(t, "AcnMessage", data)); err != nil || !cmp.Equal(m, same) {
			t.Errorf("%+v, %v, the official library decodes %+v", m, err, same)
		}
	})
}

// FuzzDecodeRecord is FuzzDecode for records, without the official library.
func FuzzDecodeRecord(f *testing.F) {
	f.Add(acn.Record{Service: "acn", Address: "a"}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := acn.DecodeRecord(data)
		if err != nil {
			return
		}
		if again, err := acn.DecodeRecord(r.Encode()); err != nil || again != r {
			t.Errorf("%+v, %v, want %+v", again, err, r)
		}
	})
}
