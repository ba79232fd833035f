package protocol_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

const vectors = "../testdata/vectors.txt"

// content returns the content of a vector.
func content(tb testing.TB, name string) []byte {
	tb.Helper()
	m, err := wire.DecodeMessage(aeavectors.Vector(tb, vectors, "message/"+name))
	if err != nil {
		tb.Fatal(name, err)
	}
	return m.Content
}

// contents has the protocol and the content of each vector.
var contents = map[string]struct {
	protocol *protocol.Protocol
	content  protocol.Content
}{
	"default-bytes": {&protocol.Default, protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte("hello")}},
	"default-error": {&protocol.Default, protocol.DefaultMessage{Performative: protocol.DefaultError, Text: "Unsupported protocol."}},
	"cfp": {&protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPACFP, Query: search.Query{Constraints: []search.Expr{
		search.Constraint{Attribute: "intent_uid", Test: search.Relation{Value: search.Text("example.com:search-products:v1")}},
	}}}},
	"cfp-and-not-range": {&protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPACFP, Query: search.Query{Constraints: []search.Expr{
		search.And{
			search.Constraint{Attribute: "tags", Test: search.Set{Values: []search.Value{search.Text("e-commerce"), search.Text("search")}}},
			search.Not{Expr: search.Constraint{
				Attribute: "price", Test: search.Relation{Operator: search.Greater, Value: search.Double(0.5)},
			}},
		},
		search.Constraint{Attribute: "max_calls", Test: search.Range{First: search.Int(1), Last: search.Int(100)}},
	}}}},
	"propose": {&protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPAPropose, Proposal: search.Describe("uim_offer",
		search.KeyValue{Key: "price", Value: search.Double(0.01)},
		search.KeyValue{Key: "max_calls", Value: search.Int(100)},
		search.KeyValue{Key: "currency_id", Value: search.Text("USD")},
		search.KeyValue{Key: "fixed", Value: search.Bool(true)},
	)}},
	"accept": {&protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPAAccept}},
	"accept-w-inform": {&protocol.FIPA, protocol.FIPAMessage{
		Performative: protocol.FIPAAcceptWInform, Info: map[string]string{"k": "v"},
	}},
	"match-accept": {&protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPAMatchAccept}},
	"match-accept-w-inform": {&protocol.FIPA, protocol.FIPAMessage{
		Performative: protocol.FIPAMatchAcceptWInform, Info: map[string]string{"pat": "x.y.z"},
	}},
	"inform":  {&protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPAInform, Info: map[string]string{"Done": "ok"}}},
	"decline": {&protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPADecline}},
	"end":     {&protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPAEnd}},
	"http-request": {&protocol.HTTP, protocol.HTTPMessage{
		Performative: protocol.HTTPRequest, Method: "POST", URL: "http://gw.test/api/intents/execute",
		Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"intent_uid":"e:x:v1"}`),
	}},
	"http-response": {&protocol.HTTP, protocol.HTTPMessage{
		Performative: protocol.HTTPResponse, Status: 200, StatusText: "OK", Body: []byte("{}"),
	}},
}

func TestContentVectors(t *testing.T) {
	for name := range aeavectors.Vectors(t, vectors, "message/") {
		t.Run(name, func(t *testing.T) {
			row, data := contents[name], content(t, name)
			if row.protocol == nil {
				t.Fatal("the test has no content for the vector")
			}
			c, err := row.protocol.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.content, c); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			if back := row.content.Encode(); !bytes.Equal(back, data) {
				t.Errorf("%x, want %x", back, data)
			}
		})
	}
}

func TestErrorVector(t *testing.T) {
	m := protocol.DefaultMessage{Performative: protocol.DefaultError, Text: "Unsupported protocol."}
	out, err := wire.Message{ID: 1, Content: m.Encode()}.Encode()
	if want := aeavectors.Vector(t, vectors, "message/default-error"); err != nil || !bytes.Equal(out, want) {
		t.Errorf("%x, %v, want %x", out, err, want)
	}
}

// The data of an error equals the data from the error handlers of both frameworks: the specification id and the envelope, encoded like
// Python's base64.b85encode.
func TestErrorData(t *testing.T) {
	message := aeavectors.Vector(t, vectors, "message/default-error")
	for name, c := range map[string]struct {
		protocol wire.PublicID
		message  []byte
		id       string
		envelope string // empty: omitted
	}{
		"an envelope": {
			wire.PublicID{Author: "fetchai", Name: "fipa", Version: "1.0.0"},
			message, "W@U6^XklqDW@&I?Ix#LVE-(",
			"3Ib<$5&~^y8WLt@bYo~?X)k7JaA7(zE-)@IA|VnV2mvY^IvEN85*1Z$b9HcVZ*p{HWFT;IZ**^CZ)`3",
		},
		"a long one": {
			wire.PublicID{Author: "fetchai", Name: "fipa", Version: "1.0.0"}, bytes.Repeat([]byte("x"), 64<<10), "W@U6^XklqDW@&I?Ix#LVE-(", "",
		},
		"of another protocol": {wire.PublicID{Author: "a", Name: "b", Version: "1.0.0"}, []byte("x"), "VJ~7jF)lDJFa", "3Ib<$5&~^y8VO-9VmdJ{FfK460eA"},
	} {
		e := wire.Envelope{To: "gw", Sender: "me", Protocol: c.protocol, Message: c.message}
		content, err := protocol.Default.Decode(protocol.ErrorMessage(protocol.ErrUnsupported, e).Content)
		m, ok := content.(protocol.DefaultMessage)
		if err != nil || !ok || string(m.Data["protocol_id"]) != c.id || string(m.Data["envelope"]) != c.envelope {
			t.Errorf("%s: %q, %v", name, m.Data, err)
		}
	}
}
