package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// DecisionMakerID is the id to which skills send messages of the signing protocol.
var DecisionMakerID = wire.PublicID{Author: "uimgate", Name: "decision_maker", Version: "1.0.0"}

// ErrNotSigned means that the decision maker refused to sign.
var ErrNotSigned = errors.New("the decision maker does not sign this")

// A Treasury has the credit of an agent, and decides about the transactions that its skills propose. It is safe for concurrent use.
type Treasury interface {
	// Quote returns what a transaction buys, and the most that it may cost.
	Quote(ctx context.Context, transaction []byte) (Price, error)
	// Transact decides about a transaction and, if the agent may and can pay for it, carries it out. It returns the result, which the
	// DecisionMaker signs. An error means that the transaction was refused or failed. If it may have been charged, the error is of Uncertain.
	Transact(ctx context.Context, transaction []byte) (result []byte, err error)
	// Holdings returns what the agent owns and on which terms it spends, for skills and operators. nil: not known.
	Holdings() any
}

// A DecisionConfig configures a DecisionMaker. Key, Ledger and Log are required.
type DecisionConfig struct {
	Key    identity.Key
	Ledger identity.Ledger
	Log    *zap.Logger // receives refusals
	// Treasury decides about transactions. nil: all are refused.
	Treasury Treasury
	// Record receives each decision about a proposal in the signing protocol. nil: nothing is recorded.
	Record func(Decision)
}

// A Decision is the decision about a proposal of a skill.
type Decision struct {
	Skill  wire.PublicID
	Kind   string            // message, transaction or state_update
	SHA256 [sha256.Size]byte // of the proposal
	Signed bool              // for state_update: accepted
}

// The values of Decision.Kind.
const (
	kindMessage     = "message"
	kindTransaction = "transaction"
	kindStateUpdate = "state_update"
)

// A DecisionMaker decides about the proposals of the skills of an agent, and signs them: only it has the key of the agent. It signs a
// message of a skill only if the first line of the message is the id of the skill. The signature can therefore not be used as one on a
// ledger or as an agreement. The Treasury decides about transactions, and the DecisionMaker signs their results. A skill can state a budget
// and preferences with the protocol state_update; then the DecisionMaker refuses the transactions of this skill that exceed or contradict
// them. It is safe for concurrent use.
type DecisionMaker struct {
	DecisionConfig

	budgets budgets

	signed  atomic.Uint64
	refused atomic.Uint64
}

// NewDecisionMaker returns the DecisionMaker of an agent.
func NewDecisionMaker(c DecisionConfig) *DecisionMaker { return &DecisionMaker{DecisionConfig: c} }

// A DecisionStatus counts decisions. It is the state that other skills and operators see.
type DecisionStatus struct {
	Address   string `json:"address"`
	PublicKey string `json:"public_key"` // in the encoding of the ledger
	Signed    uint64 `json:"signed"`
	Refused   uint64 `json:"refused"`
	Holdings  any    `json:"holdings,omitempty"` // see Treasury
	// Budgets has the budgets of the skills that have stated one, by the ids of the skills.
	Budgets map[string]Budget `json:"budgets,omitempty"`
}

// Status returns the counts and the holdings.
func (d *DecisionMaker) Status() DecisionStatus {
	public := d.Key.Public(d.Ledger)
	s := DecisionStatus{Address: public.Address(), PublicKey: public.String(), Signed: d.signed.Load(), Refused: d.refused.Load()}
	s.Budgets = d.budgets.status()
	if d.Treasury != nil {
		s.Holdings = d.Treasury.Holdings()
	}
	return s
}

// Sign decides about a message of a skill, and signs it so that identity.PublicKey.Verify accepts it. The error is ErrNotSigned.
func (d *DecisionMaker) Sign(skill wire.PublicID, message []byte) (signature string, err error) {
	if strings.HasPrefix(string(message), skill.String()+"\n") {
		signature = d.Key.Sign(d.Ledger, message)
	}
	if signature == "" {
		d.refuse(skill, kindMessage, ErrNotSigned)
		return "", ErrNotSigned
	}
	d.signed.Add(1)
	return signature, nil
}

// transact decides about a transaction of a skill. The first line of what it returns is the signature over the rest: DecisionMakerID, the
// id of the skill, the SHA-256 of the transaction in hexadecimal, and the result, each on a line.
func (d *DecisionMaker) transact(ctx context.Context, skill wire.PublicID, transaction []byte) ([]byte, error) {
	err := ErrNotSigned
	var result []byte
	if d.Treasury != nil {
		result, err = d.within(ctx, skill, transaction)
	}
	if err != nil {
		d.refuse(skill, kindTransaction, err)
		return nil, err
	}
	sum := sha256.Sum256(transaction)
	digest := hex.EncodeToString(sum[:])
	text := strings.Join([]string{DecisionMakerID.String(), skill.String(), digest, string(result)}, "\n")
	d.signed.Add(1)
	return []byte(d.Key.Sign(d.Ledger, []byte(text)) + "\n" + text), nil
}

// within has the Treasury carry out a transaction, within the budget of the skill if it has stated one.
func (d *DecisionMaker) within(ctx context.Context, skill wire.PublicID, transaction []byte) ([]byte, error) {
	if !d.budgets.has(skill) {
		return d.Treasury.Transact(ctx, transaction)
	}
	price, err := d.Treasury.Quote(ctx, transaction)
	if err != nil {
		return nil, err
	}
	back, err := d.budgets.spend(skill, price)
	if err != nil {
		return nil, err
	}
	result, err := d.Treasury.Transact(ctx, transaction)
	if _, may := errors.AsType[uncertain](err); err != nil && !may {
		back()
	}
	return result, err
}

// Forget removes the state of a skill that was removed.
func (d *DecisionMaker) Forget(skill wire.PublicID) { d.budgets.forget(skill) }

func (d *DecisionMaker) refuse(skill wire.PublicID, kind string, why error) {
	d.refused.Add(1)
	d.Log.Warn("the decision maker did not sign", zap.Stringer("skill", skill), zap.String("proposal", kind), zap.Error(why))
}

// Skill returns the skill with which the DecisionMaker replies to messages of the protocols signing and state_update. The payload of a
// message is its raw bytes. Messages of other agents are rejected.
func (d *DecisionMaker) Skill() Skill {
	return Skill{
		ID: DecisionMakerID, Patient: true, State: func() any { return d.Status() },
		Handlers: []Handler{{Protocol: &protocol.Signing, Handle: d.handle}, {Protocol: &protocol.StateUpdate, Handle: d.update}},
	}
}

func (d *DecisionMaker) handle(ctx context.Context, m Message) error {
	proposal, ok := m.Content.(protocol.SigningMessage)
	skill, err := wire.ParsePublicID(m.Sender)
	if !ok || !m.Inside() || err != nil {
		return protocol.ErrMessage
	}
	decision := Decision{Skill: skill, SHA256: sha256.Sum256(proposal.Payload)}
	answer := protocol.SigningMessage{Performative: protocol.SigningError}
	switch proposal.Performative {
	case protocol.SigningSignMessage:
		decision.Kind, answer.Code = kindMessage, protocol.UnsuccessfulMessageSigning
		if signature, err := d.Sign(skill, proposal.Payload); err == nil {
			answer = protocol.SigningMessage{Performative: protocol.SigningSignedMessage, Payload: []byte(signature)}
		}
	case protocol.SigningSignTransaction:
		decision.Kind, answer.Code = kindTransaction, protocol.UnsuccessfulTransactionSigning
		if signed, err := d.transact(ctx, skill, proposal.Payload); err == nil {
			answer = protocol.SigningMessage{Performative: protocol.SigningSignedTransaction, Payload: signed}
		}
	default: // replies, which are not for the decision maker
		return nil
	}
	if d.Record != nil {
		decision.Signed = answer.Performative != protocol.SigningError
		d.Record(decision)
	}
	return m.Reply(answer)
}

// update decides about the state that a skill proposes. It replies with an empty apply if it accepts, and with end if it refuses an apply.
// The protocol has no reply that refuses an initialize.
func (d *DecisionMaker) update(_ context.Context, m Message) error {
	proposal, ok := m.Content.(protocol.StateUpdateMessage)
	skill, err := wire.ParsePublicID(m.Sender)
	if !ok || !m.Inside() || err != nil {
		return protocol.ErrMessage
	}
	if proposal.Performative == protocol.StateUpdateEnd {
		return nil
	}
	err = d.budgets.update(skill, proposal)
	if d.Record != nil {
		d.Record(Decision{Skill: skill, Kind: kindStateUpdate, SHA256: sha256.Sum256(m.Message.Content), Signed: err == nil})
	}
	switch {
	case err == nil:
		return m.Reply(protocol.StateUpdateMessage{Performative: protocol.StateUpdateApply})
	case proposal.Performative == protocol.StateUpdateApply:
		d.refuse(skill, kindStateUpdate, err)
		return m.Reply(protocol.StateUpdateMessage{Performative: protocol.StateUpdateEnd})
	default:
		d.refuse(skill, kindStateUpdate, err)
		return err
	}
}
