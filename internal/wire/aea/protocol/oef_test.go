package protocol_test

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// TestOEFWire compares messages with bytes that follow the framework's oef_search.proto field by field.
func TestOEFWire(t *testing.T) {
	query := search.Query{Constraints: []search.Expr{
		search.Constraint{Attribute: "a", Test: search.Relation{Value: search.Text("b")}},
	}}
	for name, row := range map[string]struct {
		protocol *protocol.Protocol
		message  protocol.OEFMessage
		hex      string
	}{
		"search_services":             {&protocol.OEFSearch, protocol.OEFMessage{Performative: protocol.OEFSearchServices, Query: query.Encode()}, "42120a100a0e0a0c220a0a0161220512030a0162"},
		"search_result":               {&protocol.OEFSearch, protocol.OEFMessage{Performative: protocol.OEFSearchResult, Agents: []string{"x"}}, "3a030a0178"},
		"search_result without agent": {&protocol.OEFSearch, protocol.OEFMessage{Performative: protocol.OEFSearchResult}, "3a00"},
		"success":                     {&protocol.OEFSearch, protocol.OEFMessage{Performative: protocol.OEFSuccess}, "4a00"},
		"oef_error":                   {&protocol.OEFSearch, protocol.OEFMessage{Performative: protocol.OEFError, Operation: 2}, "2a040a020802"},
		"search_agents of oef":        {&protocol.OEF, protocol.OEFMessage{Performative: protocol.OEFSearchAgents, Older: true}, "3a020a00"},
		"search_result of oef":        {&protocol.OEF, protocol.OEFMessage{Performative: protocol.OEFSearchResult, Older: true, Agents: []string{"x"}}, "42030a0178"},
	} {
		if got := hex.EncodeToString(row.message.Encode()); got != row.hex {
			t.Errorf("%s: %s, want %s", name, got, row.hex)
		}
		data, err := hex.DecodeString(row.hex)
		if err != nil {
			t.Fatal(err)
		}
		c, err := row.protocol.Decode(data)
		if diff := cmp.Diff(protocol.Content(row.message), c); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestOEFRejectsBadInput(t *testing.T) {
	many := protocol.OEFMessage{Performative: protocol.OEFSearchResult, Agents: make([]string, protocol.MaxAgents+1)}
	for name, data := range map[string][]byte{
		"an unknown operation": {0x2a, 4, 0x0a, 2, 8, 4},
		"too many agents":      many.Encode(),
		"no performative":      {},
		"two performatives":    {0x4a, 0, 0x3a, 0},
	} {
		if _, err := protocol.OEFSearch.Decode(data); !errors.Is(err, wire.ErrUndecodable) {
			t.Errorf("%s: %v, want %v", name, err, wire.ErrUndecodable)
		}
	}
}
