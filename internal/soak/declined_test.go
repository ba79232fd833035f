package soak

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// errDeclined means that a gateway has declined a negotiation. The connection still works.
var errDeclined = errors.New("the negotiation was declined")

// negotiates agrees to one intent, and returns the PAT. Its only error is errDeclined; any other failure fails the trial.
func negotiates(t *trial, line *aeatest.Agent, intent string) (string, error) {
	line.Start(t, &protocol.FIPA, aeatest.CFP(intent))
	turn := line.Next(t)
	offer, _ := turn.Content.(protocol.FIPAMessage)
	switch offer.Performative {
	case protocol.FIPADecline:
		return "", errDeclined
	case protocol.FIPAPropose:
	default:
		t.Fatalf("%+v, want a proposal", turn.Content)
	}
	line.Reply(t, turn, protocol.FIPAMessage{Performative: protocol.FIPAAcceptWInform, Info: line.Info(offer.Proposal)})
	turn = line.Next(t)
	match, _ := turn.Content.(protocol.FIPAMessage)
	switch {
	case match.Performative == protocol.FIPADecline:
		return "", errDeclined
	case match.Info["pat"] == "":
		t.Fatalf("%+v, want a PAT", turn.Content)
	}
	line.Reply(t, turn, protocol.FIPAMessage{Performative: protocol.FIPAEnd})
	return match.Info["pat"], nil
}

// A reasonFilter is a Way without the messages that state why a negotiation was declined, because not every refusal has such a message.
type reasonFilter struct {
	aeatest.Way
	why func(reason.Reason)
}

// Next returns the next envelope to an agent that is not such a message.
func (w *reasonFilter) Next(tb testing.TB, agent string) wire.Envelope {
	tb.Helper()
	for {
		e := w.Way.Next(tb, agent)
		why, is := reasonIn(e)
		if !is {
			return e
		}
		w.why(why)
	}
}

// reasonIn returns why a negotiation was declined, if an envelope states that.
func reasonIn(e wire.Envelope) (reason.Reason, bool) {
	m, err := wire.DecodeMessage(e.Message)
	if err != nil || !slices.Contains(protocol.Default.Specs, e.Protocol) {
		return "", false
	}
	content, err := protocol.Default.Decode(m.Content)
	reply, ok := content.(protocol.DefaultMessage)
	if err != nil || !ok || reply.Performative != protocol.DefaultError || len(reply.Data["dialogue"]) == 0 {
		return "", false
	}
	var refused struct {
		Error struct {
			Details struct{ Reason reason.Reason }
		}
	}
	if err := json.Unmarshal(reply.Data["uim_error"], &refused); err != nil {
		return "", false
	}
	return refused.Error.Details.Reason, true
}

// declined records why a negotiation was declined. The agent is never at fault: its messages are valid, and it stays within the limits.
func (a *negotiator) declined(why reason.Reason) {
	if why != reason.StoreUnavailable && why != reason.Overloaded {
		a.w.t.Errorf("%s was declined: %s", a.id, why)
	}
	a.w.declined.Add(1)
}
