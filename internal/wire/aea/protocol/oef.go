package protocol

import (
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// The performatives of oef_search and oef. Only oef has OEFSearchAgents, and only oef_search has OEFSuccess.
const (
	OEFError             Performative = "oef_error"
	OEFRegisterService   Performative = "register_service"
	OEFSearchAgents      Performative = "search_agents"
	OEFSearchResult      Performative = "search_result"
	OEFSearchServices    Performative = "search_services"
	OEFSuccess           Performative = "success"
	OEFUnregisterService Performative = "unregister_service"
)

var (
	oefSearchTable = table{OEFError, OEFRegisterService, OEFSearchResult, OEFSearchServices, OEFSuccess, OEFUnregisterService}
	oefTable       = table{OEFError, OEFRegisterService, OEFSearchAgents, OEFSearchResult, OEFSearchServices, OEFUnregisterService}
)

// OEFSearch is the oef_search protocol: agents register descriptions of their services with a directory, and search in it.
var OEFSearch = Protocol{
	Name: "oef_search", Specs: []wire.PublicID{spec("fetchai", "oef_search")},
	Parse: func(content []byte) (Content, error) { return decodeOEF(oefSearchTable, content) },
	Rules: Rules{
		Starter: "agent", Responder: "oef_node",
		Initial: []Performative{OEFRegisterService, OEFUnregisterService, OEFSearchServices},
		Replies: map[Performative][]Performative{
			OEFRegisterService:   {OEFSuccess, OEFError},
			OEFUnregisterService: {OEFSuccess, OEFError},
			OEFSearchServices:    {OEFSearchResult, OEFError},
		},
		Ends: map[Performative]EndState{OEFSuccess: Successful, OEFSearchResult: Successful, OEFError: Failed},
	},
}

// OEF is the oef protocol, an older name of oef_search. It has searches for agents, and a successful registration gets no reply. The
// framework no longer has a package for it, so its field numbers follow the rule of the framework: performatives in alphabetical order.
var OEF = Protocol{
	Name: "oef", Specs: []wire.PublicID{spec("fetchai", "oef")},
	Parse: func(content []byte) (Content, error) { return decodeOEF(oefTable, content) },
	Rules: Rules{
		Starter: "agent", Responder: "oef_node",
		Initial: []Performative{OEFRegisterService, OEFUnregisterService, OEFSearchServices, OEFSearchAgents},
		Replies: map[Performative][]Performative{
			OEFRegisterService:   {OEFError},
			OEFUnregisterService: {OEFError},
			OEFSearchServices:    {OEFSearchResult, OEFError},
			OEFSearchAgents:      {OEFSearchResult, OEFError},
		},
		Ends: map[Performative]EndState{OEFSearchResult: Successful, OEFError: Failed},
	},
}

// An OEFOperation is the operation that an OEFError reports.
type OEFOperation int

// The operations of oef_search and oef.
const (
	OEFOperationRegister   OEFOperation = 0
	OEFOperationUnregister OEFOperation = 1
	OEFOperationSearch     OEFOperation = 2
	OEFOperationSend       OEFOperation = 3
)

// MaxAgents limits the agents in a search result.
const MaxAgents = 1024

// An OEFMessage is a message of oef_search or oef. A description and a query stay encoded, so that an invalid one does not make the whole
// message undecodable, and the directory can reply with OEFError.
type OEFMessage struct {
	Performative Performative
	Older        bool         // whether the message belongs to oef
	Description  []byte       // for OEFRegisterService and OEFUnregisterService; search.DecodeDescription decodes it
	Query        []byte       // for OEFSearchServices and OEFSearchAgents; search.DecodeQuery decodes it
	Agents       []string     // for OEFSearchResult; addresses
	Operation    OEFOperation // for OEFError
}

// Kind returns the performative.
func (m OEFMessage) Kind() Performative { return m.Performative }

func decodeOEF(t table, content []byte) (Content, error) {
	m := OEFMessage{Older: t[2] == OEFSearchAgents}
	err := t.decode(content, &m.Performative, m.fields)
	return m, err
}

// fields returns the field 1 of the message. agents_info, which some messages also have, has no meaning here.
func (m *OEFMessage) fields() []field.Field {
	switch m.Performative {
	case OEFError:
		return []field.Field{enum(&m.Operation, OEFOperationSend)}
	case OEFRegisterService, OEFUnregisterService:
		return []field.Field{inner(1, &m.Description)}
	case OEFSearchServices, OEFSearchAgents:
		return []field.Field{inner(1, &m.Query)}
	case OEFSearchResult:
		return []field.Field{field.TextsOf(1, &m.Agents, MaxAgents, wire.MaxAddress)}
	default: // success has no fields
		return nil
	}
}

// Encode returns the content of a wire.Message.
func (m OEFMessage) Encode() []byte {
	if m.Older {
		return oefTable.encode(m.Performative, m.fields())
	}
	return oefSearchTable.encode(m.Performative, m.fields())
}
