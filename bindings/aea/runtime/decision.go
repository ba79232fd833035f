package runtime

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// DecisionMakerID is the id to which skills send messages of the protocol signing.
var DecisionMakerID = wire.PublicID{Author: "uimgate", Name: "decision_maker", Version: "1.0.0"}

// ErrNotSigned means that the decision maker refused to sign.
var ErrNotSigned = errors.New("the decision maker does not sign this")

// A DecisionMaker decides about what the skills of an agent propose, and signs it: only it has the key of the agent. It signs a message of
// a skill only if the first line of the message is the id of the skill, so that the signature can be neither one of a ledger nor an
// agreement. It signs no transactions, because the agent owns nothing on a ledger: the gateway decides about agreements and charges. It is
// safe for concurrent use.
type DecisionMaker struct {
	key     identity.Key
	ledger  identity.Ledger
	log     *zap.Logger
	signed  atomic.Uint64
	refused atomic.Uint64
}

// NewDecisionMaker returns the DecisionMaker of an agent. It logs what it refuses.
func NewDecisionMaker(key identity.Key, ledger identity.Ledger, log *zap.Logger) *DecisionMaker {
	return &DecisionMaker{key: key, ledger: ledger, log: log}
}

// A DecisionStatus counts decisions. It is the state that other skills and operators see.
type DecisionStatus struct {
	Address   string `json:"address"`
	PublicKey string `json:"public_key"` // in the encoding of the ledger
	Signed    uint64 `json:"signed"`
	Refused   uint64 `json:"refused"`
}

// Status returns the counts.
func (d *DecisionMaker) Status() DecisionStatus {
	public := d.key.Public(d.ledger)
	return DecisionStatus{Address: public.Address(), PublicKey: public.String(), Signed: d.signed.Load(), Refused: d.refused.Load()}
}

// Sign decides about a message of a skill, and signs it so that identity.PublicKey.Verify accepts it. The error is ErrNotSigned.
func (d *DecisionMaker) Sign(skill wire.PublicID, message []byte) (signature string, err error) {
	if strings.HasPrefix(string(message), skill.String()+"\n") {
		signature = d.key.Sign(d.ledger, message)
	}
	if signature == "" {
		d.refuse(skill.String(), "message")
		return "", ErrNotSigned
	}
	d.signed.Add(1)
	return signature, nil
}

func (d *DecisionMaker) refuse(skill, what string) {
	d.refused.Add(1)
	d.log.Warn("the decision maker did not sign", zap.String("skill", skill), zap.String("proposal", what))
}

// Skill returns the skill with which the DecisionMaker replies to messages of the protocol signing. The payload of a message is its raw
// bytes. Messages of other agents are rejected.
func (d *DecisionMaker) Skill() Skill {
	return Skill{
		ID: DecisionMakerID, State: func() any { return d.Status() },
		Handlers: []Handler{{Protocol: &protocol.Signing, Handle: d.handle}},
	}
}

func (d *DecisionMaker) handle(_ context.Context, m Message) error {
	proposal, ok := m.Content.(protocol.SigningMessage)
	if !ok || !m.Inside() {
		return protocol.ErrMessage
	}
	answer := protocol.SigningMessage{Performative: protocol.SigningError}
	switch proposal.Performative {
	case protocol.SigningSignMessage:
		answer.Code = protocol.UnsuccessfulMessageSigning
		skill, err := wire.ParsePublicID(m.Sender)
		if err != nil {
			break
		}
		if signature, err := d.Sign(skill, proposal.Payload); err == nil {
			answer = protocol.SigningMessage{Performative: protocol.SigningSignedMessage, Payload: []byte(signature)}
		}
	case protocol.SigningSignTransaction:
		answer.Code = protocol.UnsuccessfulTransactionSigning
		d.refuse(m.Sender, "transaction")
	default: // replies, which are not for the decision maker
		return nil
	}
	return m.Reply(answer)
}
