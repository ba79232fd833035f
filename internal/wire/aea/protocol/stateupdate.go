package protocol

import (
	"fmt"
	"math"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// The performatives of state_update.
const (
	StateUpdateApply      Performative = "apply"
	StateUpdateEnd        Performative = "end"
	StateUpdateInitialize Performative = "initialize"
)

var stateUpdateTable = table{StateUpdateApply, StateUpdateEnd, StateUpdateInitialize}

// StateUpdate is the protocol with which a skill proposes what it owns and prefers to the decision maker of its agent. Agents do not send
// it to each other. Numbers have the types of open-aea, double and int64; agents-aea uses float under the same specification id.
var StateUpdate = Protocol{
	Name: "state_update", Specs: []wire.PublicID{spec("fetchai", "state_update")}, Parse: decodeStateUpdate,
	Rules: Rules{
		Starter: "skill", Responder: "decision_maker",
		Initial: []Performative{StateUpdateInitialize},
		Replies: map[Performative][]Performative{
			StateUpdateInitialize: {StateUpdateApply},
			StateUpdateApply:      {StateUpdateApply, StateUpdateEnd},
		},
		Ends: map[Performative]EndState{StateUpdateEnd: Successful},
	},
}

// The limits of the maps of a StateUpdateMessage.
const (
	maxHoldings    = 256  // entries
	maxHoldingName = 1024 // bytes
)

// A StateUpdateMessage is a message of state_update.
type StateUpdateMessage struct {
	Performative Performative
	// Amounts has whole minor units by currency, and Quantities has numbers by good. For StateUpdateApply, both are changes.
	Amounts, Quantities map[string]int64
	// Exchange has the value of one minor unit by currency, and Utility has the weight of each good, for StateUpdateInitialize. Both are
	// finite.
	Exchange, Utility map[string]float64
}

// Kind returns the performative.
func (m StateUpdateMessage) Kind() Performative { return m.Performative }

func decodeStateUpdate(content []byte) (Content, error) {
	var m StateUpdateMessage
	if err := stateUpdateTable.decode(content, &m.Performative, m.fields); err != nil {
		return nil, err
	}
	for _, numbers := range []map[string]float64{m.Exchange, m.Utility} {
		for _, v := range numbers {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%w: a number is not finite", wire.ErrUndecodable)
			}
		}
	}
	return m, nil
}

func (m *StateUpdateMessage) fields() []field.Field {
	limits := field.MapLimits{Entries: maxHoldings, Key: maxHoldingName}
	switch m.Performative {
	case StateUpdateInitialize:
		return []field.Field{
			field.MapOf(1, &m.Exchange, limits), field.MapOf(2, &m.Utility, limits), field.MapOf(3, &m.Amounts, limits),
			field.MapOf(4, &m.Quantities, limits),
		}
	case StateUpdateApply:
		return []field.Field{field.MapOf(1, &m.Amounts, limits), field.MapOf(2, &m.Quantities, limits)}
	default: // end has no fields
		return nil
	}
}

// Encode returns the content of a wire.Message.
func (m StateUpdateMessage) Encode() []byte {
	return stateUpdateTable.encode(m.Performative, m.fields())
}
