package aea_test

import (
	"context"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// TestOffersAreSigned checks that the offer of a running gateway has a signature of the key of the service over its terms, and that a
// counter-offer may repeat it.
func TestOffersAreSigned(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	at, a := addresses(g), agent(g, "delegate", 2)
	turn, offer := a.Asks(t, gatetest.Ordering)
	key, err := identity.ParsePublicKey(identity.Fetchai, at["node_key"])
	g.Must(err)
	text := skill.OfferText(at["address"], a.Address(), offer)
	if signature := aeatest.TextOf(offer, "offer_signature"); !key.Verify([]byte(text), signature) {
		t.Errorf("the signature %q does not fit %q", signature, text)
	}
	if signature := aeatest.TextOf(offer, "offer_signature"); key.Verify([]byte(strings.Replace(text, "price=25", "price=2", 1)), signature) {
		t.Error("the signature fits another price")
	}
	a.Reply(t, turn, protocol.FIPAMessage{Performative: protocol.FIPAPropose, Proposal: offer})
	a.FIPA(t, protocol.FIPAAccept)
	for _, s := range activity(g).Skills {
		if state, ok := s.State.(runtime.DecisionStatus); ok && state.Signed == 1 && state.Refused == 0 && state.Address == at["address"] {
			return
		}
	}
	t.Errorf("got %+v, want one signature", activity(g).Skills)
}

var (
	signerID = wire.PublicID{Author: "shop", Name: "signer", Version: "1.0.0"}
	decided  = make(chan protocol.SigningMessage, 8)
)

func init() { //nolint:gochecknoinits // as a program of an operator does
	aea.RegisterSkill("signer", func(r *runtime.Runtime) (runtime.Skill, error) {
		propose := func(p protocol.Performative, text string) error {
			_, err := r.Start(signerID, protocol.Signing.Specs[0], runtime.DecisionMakerID.String(),
				protocol.SigningMessage{Performative: p, Payload: []byte(text)})
			return err
		}
		return runtime.Skill{
			ID: signerID,
			Handlers: []runtime.Handler{{Protocol: &protocol.Signing, Handle: func(_ context.Context, m runtime.Message) error {
				if c, ok := m.Content.(protocol.SigningMessage); ok && m.Inside() {
					decided <- c
				}
				return nil
			}}},
			Behaviours: []runtime.Behaviour{{Name: "propose", Once: true, Act: func(context.Context) error {
				if err := propose(protocol.SigningSignMessage, signerID.String()+"\nhello"); err != nil {
					return err
				}
				if err := propose(protocol.SigningSignMessage, "uim-aea-1\nan agreement"); err != nil {
					return err
				}
				return propose(protocol.SigningSignTransaction, signerID.String()+"\ntransfer")
			}}},
		}, nil
	})
}

// TestDecisionMaker checks that the decision maker of a running gateway signs the messages that a skill may send, refuses an agreement and
// a transaction, routes its answers to the handler of the skill, and rejects messages of other agents.
func TestDecisionMaker(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {skills: {own: [signer]}, ", 1))
	key, err := identity.ParsePublicKey(identity.Fetchai, addresses(g)["node_key"])
	g.Must(err)
	got := map[protocol.Performative]int{}
	codes := map[protocol.SigningErrorCode]int{}
	for range 3 {
		m := <-decided
		got[m.Performative]++
		switch m.Performative {
		case protocol.SigningError:
			codes[m.Code]++
		default:
			if !key.Verify([]byte(signerID.String()+"\nhello"), string(m.Payload)) {
				t.Errorf("got %+v", m)
			}
		}
	}
	if got[protocol.SigningSignedMessage] != 1 || codes[protocol.UnsuccessfulMessageSigning] != 1 ||
		codes[protocol.UnsuccessfulTransactionSigning] != 1 {
		t.Errorf("got %v, %v", got, codes)
	}
	a := agent(g, "delegate", 2)
	a.Start(t, &protocol.Signing, protocol.SigningMessage{Performative: protocol.SigningSignMessage, Payload: []byte("x")})
	if m, _ := a.Next(t).Content.(protocol.DefaultMessage); m.Code != protocol.CodeInvalidMessage {
		t.Errorf("got %+v, want the code %d", m, protocol.CodeInvalidMessage)
	}
}
