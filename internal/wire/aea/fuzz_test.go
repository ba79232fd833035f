package aea_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// seeds adds vectors to a corpus.
func seeds(f *testing.F, prefix string) {
	f.Helper()
	for _, data := range aeavectors.Vectors(f, vectors, prefix) {
		f.Add(data)
	}
}

// schema is the message definition of the framework.
const schema = `
	Envelope = 1:string 2:string 3:string 4:bytes 5:string
	Message = 2|DialogueMessage
	DialogueMessage = 1:int32 2:string 3:string 4:int32 5:bytes
`

// FuzzDecodeEnvelope checks that a decoded envelope decodes to itself after encoding. The official library of Protocol Buffers decodes the
// same envelope, and encodes it to the same bytes.
func FuzzDecodeEnvelope(f *testing.F) {
	seeds(f, "envelope/")
	official := aeavectors.NewSchema(f, schema)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := wire.DecodeEnvelope(data)
		if err != nil {
			return
		}
		out, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := wire.DecodeEnvelope(out)
		if err != nil || !cmp.Equal(e, again, sameBytes) {
			t.Errorf("%+v, %v, want %+v", again, err, e)
		}
		official.Writes(t, "Envelope", out)
		if same, err := wire.DecodeEnvelope(official.Normal(t, "Envelope", data)); err != nil || !cmp.Equal(e, same, sameBytes) {
			t.Errorf("%+v, %v, the official library reads %+v", e, err, same)
		}
	})
}

// FuzzDecodeMessage is FuzzDecodeEnvelope for messages.
func FuzzDecodeMessage(f *testing.F) {
	seeds(f, "message/")
	seeds(f, "undecodable-message/")
	official := aeavectors.NewSchema(f, schema)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire.DecodeMessage(data)
		if err != nil {
			return
		}
		out, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := wire.DecodeMessage(out); err != nil || !cmp.Equal(m, again) {
			t.Errorf("%+v, %v, want %+v", again, err, m)
		}
		official.Writes(t, "Message", out)
		if same, err := wire.DecodeMessage(official.Normal(t, "Message", data)); err != nil || !cmp.Equal(m, same) {
			t.Errorf("%+v, %v, the official library reads %+v", m, err, same)
		}
	})
}

// FuzzReadRecord checks that a record decodes to itself after encoding, and that the bytes after it stay unread.
func FuzzReadRecord(f *testing.F) {
	seeds(f, "stub/")
	f.Fuzz(func(t *testing.T, data []byte) {
		e, rest, err := wire.ReadRecord(data)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(data, rest) || len(rest) >= len(data) {
			t.Fatalf("%q is not the end of %q", rest, data)
		}
		out, err := wire.AppendRecord(nil, e)
		if err != nil {
			return // an escape
		}
		if again, left, err := wire.ReadRecord(out); err != nil || len(left) != 0 || !cmp.Equal(e, again) {
			t.Errorf("%+v, %q, %v, want %+v", again, left, err, e)
		}
	})
}

// FuzzParsePublicID checks that the text of an id parses to the id.
func FuzzParsePublicID(f *testing.F) {
	f.Add("fetchai/fipa:1.0.0")
	f.Add("a/b")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := wire.ParsePublicID(s)
		if err != nil {
			return
		}
		if again, err := wire.ParsePublicID(id.String()); err != nil || again != id {
			t.Errorf("%v, %v, want %v", again, err, id)
		}
	})
}

// FuzzReadFrame checks that a frame is written with the bytes that it was read from.
func FuzzReadFrame(f *testing.F) {
	seeds(f, "tcp/")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		frame, err := wire.TCP.Read(r)
		if err != nil {
			return
		}
		if out, err := wire.TCP.Append(nil, frame); err != nil || !bytes.Equal(out, data[:len(data)-r.Len()]) {
			t.Errorf("got %q, %v", out, err)
		}
	})
}

// sameBytes compares byte slices. A nil slice equals an empty one.
var sameBytes = cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })
