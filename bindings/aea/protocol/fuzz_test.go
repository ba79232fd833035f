package protocol_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/bindings/aea/protocol"
	"github.com/uimgate/uimgate/bindings/aea/search"
)

// comeBack fuzzes a protocol: what is read is read again from what it is written as.
func comeBack(f *testing.F, p *protocol.Protocol, more ...protocol.Content) {
	f.Helper()
	for name, row := range said {
		if row.protocol == p {
			f.Add(content(f, name))
		}
	}
	for _, c := range more {
		f.Add(c.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := p.Decode(data)
		if err != nil {
			return
		}
		again, err := p.Decode(c.Encode())
		if err != nil || !cmp.Equal(c, again, cmpopts.EquateEmpty(), sameNumbers) {
			t.Errorf("%+v, %v, want %+v", again, err, c)
		}
	})
}

// sameNumbers takes what is no number for equal to itself.
var sameNumbers = cmp.Options{
	cmp.Comparer(func(a, b search.Double) bool { return math.Float64bits(float64(a)) == math.Float64bits(float64(b)) }),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
}

func FuzzDecodeDefault(f *testing.F) { comeBack(f, &protocol.Default) }

func FuzzDecodeHTTP(f *testing.F) { comeBack(f, &protocol.HTTP) }

func FuzzDecodeFIPA(f *testing.F) { comeBack(f, &protocol.FIPA) }

func FuzzDecodeSigning(f *testing.F) {
	comeBack(f, &protocol.Signing,
		protocol.SigningMessage{Performative: protocol.SigningSignMessage, Terms: []byte("t"), Payload: []byte("p")},
		protocol.SigningMessage{Performative: protocol.SigningError})
}
