package protocol_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

func TestLookup(t *testing.T) {
	for spec, want := range map[string]*protocol.Protocol{
		"fetchai/default:1.0.0": &protocol.Default, "fetchai/http:1.0.0": &protocol.HTTP, "valory/http:1.0.0": &protocol.HTTP,
		"fetchai/fipa:1.0.0": &protocol.FIPA, "fetchai/signing:1.0.0": &protocol.Signing, "open_aea/signing:1.0.0": &protocol.Signing,
		"fetchai/fipa:1.1.7": nil, "fetchai/fipa": nil, "fetchai/fipa:any": nil, "fetchai/fipa:0.1.0": nil, "valory/fipa:1.0.0": nil,
		"fetchai/oef_search:1.0.0": &protocol.OEFSearch, "fetchai/oef:1.0.0": &protocol.OEF, "fetchai/gym:1.0.0": nil, "Fetchai/fipa:1.0.0": nil,
	} {
		id, err := wire.ParsePublicID(spec)
		if err != nil {
			t.Fatal(err)
		}
		got, err := protocol.Lookup(id)
		if got != want || (want == nil) != errors.Is(err, protocol.ErrUnsupported) {
			t.Errorf("%s: %v, %v", spec, got, err)
		}
	}
}

// The replies of each protocol are those in its table, for every pair of performatives.
func TestReplies(t *testing.T) {
	for p, want := range map[*protocol.Protocol]string{
		&protocol.Default: "bytes: bytes end=successful error=failed; first: bytes error",
		&protocol.HTTP:    "request: response=successful; first: request",
		&protocol.FIPA: "accept: decline=declined_accept match_accept match_accept_w_inform; " +
			"accept_w_inform: decline=declined_accept match_accept match_accept_w_inform; cfp: decline=declined_cfp propose; " +
			"inform: end=successful inform; match_accept: end=successful inform; match_accept_w_inform: end=successful inform; " +
			"propose: accept accept_w_inform decline=declined_propose propose; first: cfp",
		&protocol.Signing: "sign_message: error=failed signed_message=successful; " +
			"sign_transaction: error=failed signed_transaction=successful; first: sign_message sign_transaction",
		&protocol.StateUpdate: "apply: apply end=successful; initialize: apply; first: initialize",
		&protocol.OEFSearch: "register_service: oef_error=failed success=successful; search_services: oef_error=failed search_result=successful; " +
			"unregister_service: oef_error=failed success=successful; first: register_service search_services unregister_service",
		&protocol.OEF: "register_service: oef_error=failed; search_agents: oef_error=failed search_result=successful; " +
			"search_services: oef_error=failed search_result=successful; unregister_service: oef_error=failed; " +
			"first: register_service search_agents search_services unregister_service",
	} {
		var lines []string
		for _, target := range slices.Sorted(maps.Keys(p.Rules.Replies)) {
			line := string(target) + ":"
			for _, reply := range slices.Sorted(slices.Values(p.Rules.Replies[target])) {
				line += " " + string(reply)
				if state, ends := p.Rules.End(reply, target); ends {
					line += "=" + string(state)
				}
				if !p.Rules.Answers(reply, target) {
					t.Errorf("%s does not answer %s", reply, target)
				}
			}
			lines = append(lines, line)
		}
		line := "first:"
		for _, first := range slices.Sorted(slices.Values(p.Rules.Initial)) {
			line += " " + string(first)
		}
		if diff := cmp.Diff(want, strings.Join(append(lines, line), "; ")); diff != "" {
			t.Errorf("%s: %s", p.Name, diff)
		}
	}
	if protocol.FIPA.Rules.Answers(protocol.FIPAInform, protocol.FIPAAcceptWInform) {
		t.Error("an inform may answer accept_w_inform, but agents refuse that")
	}
	if protocol.FIPA.Rules.Begins(protocol.FIPAPropose) || !protocol.FIPA.Rules.Begins(protocol.FIPACFP) {
		t.Error("only a call for proposals may begin a negotiation")
	}
}

func TestCodes(t *testing.T) {
	for want, err := range map[protocol.ErrorCode]error{
		protocol.CodeUnsupportedProtocol: protocol.ErrUnsupported,
		protocol.CodeUndecodable:         wire.ErrUndecodable,
		protocol.CodeInvalidMessage:      protocol.ErrMessage,
		protocol.CodeUnsupportedSkill:    protocol.ErrUnhandled,
		protocol.CodeInvalidDialogue:     protocol.ErrDialogue,
	} {
		m := protocol.ErrorMessage(fmt.Errorf("secret: %w", err), wire.Envelope{})
		c, wrong := protocol.Default.Decode(m.Content)
		got, ok := c.(protocol.DefaultMessage)
		if wrong != nil || !ok || got.Code != want || got.Text == "" || strings.Contains(got.Text, "secret") {
			t.Errorf("%v: %+v, %v", err, c, wrong)
		}
		if m.ID != 1 || m.Target != 0 || m.StarterRef != "" || m.ResponderRef != "" {
			t.Errorf("%v: %+v; want ID 1, Target 0, StarterRef empty and ResponderRef empty", err, m)
		}
	}
	if got := protocol.CodeOf(errors.New("another one")); got != protocol.CodeInvalidMessage {
		t.Errorf("got %v, want %v", got, protocol.CodeInvalidMessage)
	}
}

func TestEncodeAndDecode(t *testing.T) {
	for p, contents := range map[*protocol.Protocol][]protocol.Content{
		&protocol.Default: {
			protocol.DefaultMessage{Performative: protocol.DefaultBytes},
			protocol.DefaultMessage{Performative: protocol.DefaultEnd},
			protocol.DefaultMessage{
				Performative: protocol.DefaultError, Code: protocol.CodeInvalidDialogue, Text: "é",
				Data: map[string][]byte{"envelope": []byte("\xff"), "protocol_id": []byte("p")},
			},
		},
		&protocol.FIPA: {
			protocol.FIPAMessage{Performative: protocol.FIPACFP},
			protocol.FIPAMessage{Performative: protocol.FIPAPropose},
			protocol.FIPAMessage{Performative: protocol.FIPAInform},
			protocol.FIPAMessage{Performative: protocol.FIPAInform, Info: map[string]string{"a": "", "b": "2", "": "3"}},
		},
		&protocol.Signing: {
			protocol.SigningMessage{Performative: protocol.SigningError, Code: protocol.UnsuccessfulTransactionSigning},
			protocol.SigningMessage{Performative: protocol.SigningSignMessage, Terms: []byte("t"), Payload: []byte("p")},
			protocol.SigningMessage{Performative: protocol.SigningSignTransaction, Terms: []byte("t"), Payload: []byte("p")},
			protocol.SigningMessage{Performative: protocol.SigningSignedMessage, Payload: []byte("p")},
			protocol.SigningMessage{Performative: protocol.SigningSignedTransaction, Payload: []byte("p")},
		},
	} {
		for _, want := range contents {
			got, err := p.Decode(want.Encode())
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %v %s; want nil, an empty string", p.Name, err, diff)
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	long := strings.Repeat("x", 65<<10)
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint(i)] = "v"
	}
	informs := func(info map[string]string) string {
		return string(protocol.FIPAMessage{Performative: protocol.FIPAInform, Info: info}.Encode())
	}
	for name, row := range map[string]struct {
		protocol *protocol.Protocol
		content  string
	}{
		"nothing":                       {&protocol.Default, ""},
		"only later performatives":      {&protocol.Default, "\x42\x00"},
		"two performatives":             {&protocol.FIPA, "\x42\x00\x4a\x00"},
		"one performative twice":        {&protocol.FIPA, "\x42\x00\x42\x00"},
		"performative as integer":       {&protocol.FIPA, "\x40\x00"},
		"performative of another one":   {&protocol.HTTP, "\x42\x00"},
		"unknown error code":            {&protocol.Default, "\x3a\x04\x0a\x02\x08\x05"},
		"error text is not UTF-8":       {&protocol.Default, "\x3a\x03\x12\x01\xff"},
		"bytes twice":                   {&protocol.Default, "\x2a\x06\x0a\x01a\x0a\x01b"},
		"info with a key twice":         {&protocol.FIPA, "\x52\x10\x0a\x06\x0a\x01k\x12\x01v\x0a\x06\x0a\x01k\x12\x01w"},
		"info with an integer":          {&protocol.FIPA, "\x52\x04\x0a\x02\x08\x01"},
		"info is not UTF-8":             {&protocol.FIPA, informs(map[string]string{"k": "\xff"})},
		"long info":                     {&protocol.FIPA, informs(map[string]string{"k": long})},
		"long key of an info":           {&protocol.FIPA, informs(map[string]string{long: "v"})},
		"much info":                     {&protocol.FIPA, informs(many)},
		"invalid query":                 {&protocol.FIPA, "\x3a\x05\x0a\x03\x0a\x01\x0a"},
		"query as integer":              {&protocol.FIPA, "\x3a\x02\x08\x01"},
		"invalid description":           {&protocol.FIPA, "\x6a\x06\x0a\x04\x0a\x02\x12\x00"},
		"response without status":       {&protocol.HTTP, "\x32\x00"},
		"status below 0":                {&protocol.HTTP, "\x32\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		"status of four digits":         {&protocol.HTTP, "\x32\x03\x10\xe8\x07"},
		"header is not UTF-8":           {&protocol.HTTP, "\x2a\x03\x22\x01\xff"},
		"cut off":                       {&protocol.HTTP, "\x2a\x05\x0a"},
		"long url":                      {&protocol.HTTP, string(protocol.HTTPMessage{Performative: protocol.HTTPRequest, URL: long}.Encode())},
		"unknown signing code":          {&protocol.Signing, "\x2a\x04\x0a\x02\x08\x02"},
		"message to sign as an integer": {&protocol.Signing, "\x32\x02\x10\x01"},
	} {
		if c, err := row.protocol.Decode([]byte(row.content)); !errors.Is(err, wire.ErrUndecodable) || c != nil {
			t.Errorf("%s: %+v, %v; want nil, %v", name, c, err, wire.ErrUndecodable)
		}
	}
}
