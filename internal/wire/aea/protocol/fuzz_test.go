package protocol_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// schema is the framework's schema. Other tests compare the contents of byte fields and header lines.
const schema = `
	default = 5|Bytes 6|Empty 7|Error
	http = 5|Request 6|Response
	fipa = 5|Empty 6|Info 7|Custom 8|Empty 9|Empty 10|Info 11|Empty 12|Info 13|Custom
	signing = 5|Code 6|Ask 7|Ask 8|Custom 9|Custom
	state_update = 5|Apply 6|Empty 7|Initialize
	Apply = 1%int64 2%int64
	Initialize = 1%double 2%double 3%int64 4%int64
	oef_search = 5|Code 6|Custom 7|Agents 8|Custom 9|Empty 10|Custom
	oef = 5|Code 6|Custom 7|Custom 8|Agents 9|Custom 10|Custom
	Agents = 1*string
	Empty = 15:bytes
	Bytes = 1:bytes
	Custom = 1:Bytes
	Error = 1:Enum 2:string 3%bytes
	Enum = 1:int32
	Code = 1:Enum
	Info = 1%string
	Ask = 1:Bytes 2:Bytes
	Request = 1:string 2:string 3:string 4:string 5:bytes
	Response = 1:string 2:int64 3:string 4:string 5:bytes
`

// fuzzRoundTrip checks that decoded content decodes to itself after encoding. The official library of Protocol Buffers decodes the same
// content, and encodes it to the same bytes.
func fuzzRoundTrip(f *testing.F, p *protocol.Protocol, more ...protocol.Content) {
	f.Helper()
	for name, row := range contents {
		if row.protocol == p {
			f.Add(content(f, name))
		}
	}
	for _, c := range more {
		f.Add(c.Encode())
	}
	official := aeavectors.NewSchema(f, schema)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := p.Decode(data)
		if err != nil {
			return
		}
		again, err := p.Decode(c.Encode())
		if err != nil || !cmp.Equal(c, again, cmpopts.EquateEmpty(), sameNumbers) {
			t.Errorf("%+v, %v, want %+v", again, err, c)
		}
		official.Writes(t, p.Name, c.Encode())
		same, err := p.Decode(official.Normal(t, p.Name, data))
		if err != nil || !cmp.Equal(c, same, cmpopts.EquateEmpty(), sameNumbers) {
			t.Errorf("%+v, %v, the official library decodes %+v", c, err, same)
		}
	})
}

// sameNumbers compares numbers by their bits, so that NaN equals itself.
var sameNumbers = cmp.Options{
	cmp.Comparer(func(a, b search.Double) bool { return math.Float64bits(float64(a)) == math.Float64bits(float64(b)) }),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
}

func FuzzDecodeDefault(f *testing.F) {
	fuzzRoundTrip(f, &protocol.Default, protocol.DefaultMessage{
		Performative: protocol.DefaultError, Code: protocol.CodeInvalidDialogue, Data: map[string][]byte{"a": nil, "b": []byte("c")},
	})
}

func FuzzDecodeHTTP(f *testing.F) { fuzzRoundTrip(f, &protocol.HTTP) }

func FuzzDecodeFIPA(f *testing.F) {
	fuzzRoundTrip(f, &protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPAInform, Info: map[string]string{"a": "", "": "c"}})
}

func FuzzDecodeSigning(f *testing.F) {
	fuzzRoundTrip(f, &protocol.Signing,
		protocol.SigningMessage{Performative: protocol.SigningSignMessage, Terms: []byte("t"), Payload: []byte("p")},
		protocol.SigningMessage{Performative: protocol.SigningError})
}

func FuzzDecodeStateUpdate(f *testing.F) {
	fuzzRoundTrip(f, &protocol.StateUpdate, protocol.StateUpdateMessage{Performative: protocol.StateUpdateEnd}, protocol.StateUpdateMessage{
		Performative: protocol.StateUpdateApply, Amounts: map[string]int64{"EUR": -25}, Quantities: map[string]int64{"a": 1, "b": 0},
	}, protocol.StateUpdateMessage{
		Performative: protocol.StateUpdateInitialize, Amounts: map[string]int64{"EUR": 100}, Quantities: map[string]int64{"a": 0},
		Exchange: map[string]float64{"EUR": 1}, Utility: map[string]float64{"a": 0.5, "b": 0},
	})
}

func FuzzDecodeOEFSearch(f *testing.F) {
	fuzzRoundTrip(f, &protocol.OEFSearch, oefMessages(false)...)
}

func FuzzDecodeOEF(f *testing.F) {
	fuzzRoundTrip(f, &protocol.OEF, oefMessages(true)...)
}

// oefMessages returns a message of each performative.
func oefMessages(older bool) (all []protocol.Content) {
	for _, m := range []protocol.OEFMessage{
		{
			Performative: protocol.OEFRegisterService,
			Description:  search.Describe("set_service_key", search.KeyValue{Key: "key", Value: search.Text("seller_service")}).Encode(),
		},
		{Performative: protocol.OEFUnregisterService, Description: search.Description{}.Encode()},
		{Performative: protocol.OEFSearchServices, Query: search.Query{Constraints: []search.Expr{
			search.Constraint{Attribute: "location", Test: search.Distance{Center: search.Location{Lon: 1, Lat: 2}, Kilometres: 3}},
		}}.Encode()},
		{Performative: protocol.OEFSearchResult, Agents: []string{"fetch1a", "fetch1b"}},
		{Performative: protocol.OEFError, Operation: protocol.OEFOperationSearch},
	} {
		m.Older = older
		all = append(all, m)
	}
	if older {
		return append(all, protocol.OEFMessage{Performative: protocol.OEFSearchAgents, Older: true, Query: []byte("undecodable")})
	}
	return append(all, protocol.OEFMessage{Performative: protocol.OEFSuccess})
}
