package protocol

import (
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// The performatives of fipa.
const (
	FIPAAccept             Performative = "accept"
	FIPAAcceptWInform      Performative = "accept_w_inform"
	FIPACFP                Performative = "cfp"
	FIPADecline            Performative = "decline"
	FIPAEnd                Performative = "end"
	FIPAInform             Performative = "inform"
	FIPAMatchAccept        Performative = "match_accept"
	FIPAMatchAcceptWInform Performative = "match_accept_w_inform"
	FIPAPropose            Performative = "propose"
)

var fipaTable = table{
	FIPAAccept, FIPAAcceptWInform, FIPACFP, FIPADecline, FIPAEnd, FIPAInform, FIPAMatchAccept, FIPAMatchAcceptWInform, FIPAPropose,
}

// FIPA is the fipa protocol, a negotiation: a buyer calls for proposals, a seller proposes, and both accept. An inform cannot reply to
// accept_w_inform, because agents would reject it.
var FIPA = Protocol{
	Name: "fipa", Specs: []wire.PublicID{spec("fetchai", "fipa")}, Parse: decodeFIPA,
	Rules: Rules{
		Starter: "buyer", Responder: "seller",
		Initial: []Performative{FIPACFP},
		Replies: map[Performative][]Performative{
			FIPACFP:                {FIPAPropose, FIPADecline},
			FIPAPropose:            {FIPAAccept, FIPAAcceptWInform, FIPADecline, FIPAPropose},
			FIPAAccept:             {FIPADecline, FIPAMatchAccept, FIPAMatchAcceptWInform},
			FIPAAcceptWInform:      {FIPADecline, FIPAMatchAccept, FIPAMatchAcceptWInform},
			FIPAMatchAccept:        {FIPAInform, FIPAEnd},
			FIPAMatchAcceptWInform: {FIPAInform, FIPAEnd},
			FIPAInform:             {FIPAInform, FIPAEnd},
		},
		Ends: map[Performative]EndState{FIPAEnd: Successful},
		EndsBy: map[[2]Performative]EndState{
			{FIPADecline, FIPACFP}:           DeclinedCFP,
			{FIPADecline, FIPAPropose}:       DeclinedPropose,
			{FIPADecline, FIPAAccept}:        DeclinedAccept,
			{FIPADecline, FIPAAcceptWInform}: DeclinedAccept,
		},
		KeepsEnded: true,
	},
}

// A FIPAMessage is a message of fipa.
type FIPAMessage struct {
	Performative Performative
	Query        search.Query       // for FIPACFP
	Proposal     search.Description // for FIPAPropose
	Info         map[string]string  // for FIPAInform and the performatives that end in WInform; may be nil
}

// info limits the info of a message. A PAT has at most a few kilobytes.
var info = field.MapLimits{Entries: 64, Key: 128, Value: 64 << 10}

// Kind returns the performative.
func (m FIPAMessage) Kind() Performative { return m.Performative }

func decodeFIPA(content []byte) (Content, error) {
	var m FIPAMessage
	err := fipaTable.decode(content, &m.Performative, m.fields)
	return m, err
}

func (m *FIPAMessage) fields() []field.Field {
	switch m.Performative {
	case FIPACFP:
		query := field.DecodedOf(1, &m.Query, wire.MaxEnvelope, search.DecodeQuery, func(out []byte) []byte {
			return field.AppendBytes(out, 1, m.Query.Encode())
		})
		return []field.Field{field.MessageOf(1, wire.MaxEnvelope, query)}
	case FIPAPropose:
		proposal := field.DecodedOf(1, &m.Proposal, wire.MaxEnvelope, search.DecodeDescription, func(out []byte) []byte {
			return field.AppendBytes(out, 1, m.Proposal.Encode())
		})
		return []field.Field{field.MessageOf(1, wire.MaxEnvelope, proposal)}
	case FIPAAcceptWInform, FIPAInform, FIPAMatchAcceptWInform:
		return []field.Field{field.MapOf(1, &m.Info, info)}
	default: // the others have no fields
		return nil
	}
}

// Encode returns the content of a wire.Message.
func (m FIPAMessage) Encode() []byte { return fipaTable.encode(m.Performative, m.fields()) }
