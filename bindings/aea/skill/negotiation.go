package skill

import (
	"context"
	"strconv"

	"github.com/uimgate/uimgate/bindings/aea/agreement"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/pat"
)

// infoDone is the key with which the framework's buyers inform the seller that they have fulfilled their obligations. They sign nothing, so
// they get no PAT, and they do not end the dialogue.
const infoDone = "Done"

// A turn is one message of a negotiation, with the data for the reply.
type turn struct {
	*Skill
	runtime.Message
	of      *service.Service
	message protocol.FIPAMessage
}

// negotiate replies to a message of the fipa protocol, in which the service is the seller. A refusal ends the negotiation; its reason is
// sent as an error of the default protocol.
func (s *Skill) negotiate(ctx context.Context, m runtime.Message) error {
	message, ok := m.Content.(protocol.FIPAMessage)
	if !ok || m.Dialogue == nil {
		return nil
	}
	t := &turn{s, m, s.Serving(), message}
	if t.of == nil {
		return t.refuse(reason.UnknownHost.Refusal(""))
	}
	answer, err := t.answer(ctx)
	switch {
	case err != nil:
		return t.refuse(refusal.For(err))
	case answer.Performative == "":
		return nil
	}
	return m.Reply(answer)
}

// answer returns the reply to the message. If the reply has no performative, it is not sent.
func (t *turn) answer(ctx context.Context) (protocol.FIPAMessage, error) {
	if t.variables.Load().choosesPlan(t.message) {
		return protocol.FIPAMessage{}, noPlan(t.of)
	}
	switch t.message.Performative {
	case protocol.FIPACFP:
		return t.called(ctx)
	case protocol.FIPAPropose:
		return t.countered(ctx)
	case protocol.FIPAAccept:
		return t.signHere(protocol.FIPAMatchAcceptWInform)
	case protocol.FIPAMatchAccept:
		return t.signHere(protocol.FIPAInform)
	case protocol.FIPAAcceptWInform:
		return t.agreed(ctx, protocol.FIPAMatchAcceptWInform)
	case protocol.FIPAMatchAcceptWInform:
		return t.agreed(ctx, protocol.FIPAInform)
	case protocol.FIPAInform:
		if old, renews := t.message.Info["renew"]; renews {
			return t.renewed(ctx, old)
		}
		if _, done := t.message.Info[infoDone]; done && t.message.Info["signature"] == "" {
			t.offers.end(t.Dialogue.Label())
			return protocol.FIPAMessage{Performative: protocol.FIPAEnd}, nil
		}
		return t.agreed(ctx, protocol.FIPAInform)
	default: // decline and end
		t.offers.end(t.Dialogue.Label())
		return protocol.FIPAMessage{}, nil
	}
}

// refuse ends the negotiation and sends the reason. It declines or ends the dialogue only if the protocol permits that after this
// message.
func (t *turn) refuse(f *reason.Refusal) error {
	t.offers.end(t.Dialogue.Label())
	var err error
	for _, p := range []protocol.Performative{protocol.FIPADecline, protocol.FIPAEnd} {
		if protocol.FIPA.Rules.Answers(p, t.message.Performative) {
			err = t.Reply(protocol.FIPAMessage{Performative: p})
			break
		}
	}
	t.Error(protocol.DefaultMessage{
		Code: protocol.CodeInvalidMessage, Text: string(f.Reason) + ": " + f.Message,
		Data: map[string][]byte{"uim_error": t.envelope(t.of, f, ""), "dialogue": []byte(t.Dialogue.Label().StarterRef)},
	})
	return err
}

// envelope encodes a refusal in the form that all doors share. id is the id of the request that the host logged; it is empty if the skill
// itself refuses.
func (s *Skill) envelope(of *service.Service, f *reason.Refusal, id execute.RequestID) []byte {
	about := wire.About{RequestID: string(id)}
	if of != nil {
		about.HelpURL = of.HelpURL(f.Reason)
	}
	return wire.Envelope(refusal.InMessage(f), about)
}

// called replies to a call for proposals with an offer for one intent.
func (t *turn) called(ctx context.Context) (protocol.FIPAMessage, error) {
	if err := t.admitted(); err != nil {
		return protocol.FIPAMessage{}, err
	}
	in, terms, err := t.match(ctx, t.of, t.Sender, t.message.Query)
	if err != nil {
		return protocol.FIPAMessage{}, err
	}
	return t.offered(in.ID, terms, 0), nil
}

func (t *turn) offered(intent string, terms service.Estimate, rounds int) protocol.FIPAMessage {
	policy := t.of.Offer()
	o := t.offers.make(t.Dialogue.Label(), intent, policy.SHA256(), rounds)
	return protocol.FIPAMessage{Performative: protocol.FIPAPropose, Proposal: t.signed(propose(t.of, o, terms))}
}

// admitted counts an offer to the sender, and returns a *reason.Refusal if the sender gets offers too often.
func (t *turn) admitted() error {
	if !t.byAgent.Admit(t.Sender, t.Now()) {
		t.Shed(reason.ShedRequestsAddress)
		return reason.TooManyConnections.Refusal("This agent has sent too many calls for proposals.").After(t.byAgent.Wait()).
			ShedFor(reason.ShedRequestsAddress)
	}
	return nil
}

// countered replies to a counter-offer. A counter-offer that satisfies the terms of the policy is accepted. After any other, the same
// terms are offered again, at most maxRounds times.
func (t *turn) countered(ctx context.Context) (protocol.FIPAMessage, error) {
	o, err := t.open()
	if err != nil {
		return protocol.FIPAMessage{}, err
	}
	if err := t.admitted(); err != nil {
		return protocol.FIPAMessage{}, err
	}
	terms, err := t.of.Estimate(ctx, pat.AgentID(t.Sender), o.intent)
	switch {
	case err != nil:
		return protocol.FIPAMessage{}, err
	case satisfies(unsigned(t.message.Proposal), propose(t.of, o, terms)):
		return protocol.FIPAMessage{Performative: protocol.FIPAAccept}, nil
	case o.rounds >= maxRounds:
		return protocol.FIPAMessage{}, reason.PolicyViolation.Refusal("The terms of the policy are not negotiable.")
	}
	return t.offered(o.intent, terms, o.rounds+1), nil
}

// open returns the open offer of this negotiation. The error is pat.ErrAgreementStale if there is none, and pat.ErrAgreementReplayed if an
// agreement was already made from it.
func (t *turn) open() (offer, error) {
	o, ok := t.offers.find(t.Dialogue.Label())
	switch {
	case !ok:
		return offer{}, pat.ErrAgreementStale
	case o.used:
		return offer{}, pat.ErrAgreementReplayed
	}
	return o, nil
}

// signHere replies to an unsigned acceptance with the text to sign. The error is a *pat.PolicyMismatchError if the policy has changed
// since the offer.
func (t *turn) signHere(by protocol.Performative) (protocol.FIPAMessage, error) {
	o, err := t.open()
	if err != nil {
		return protocol.FIPAMessage{}, err
	}
	policy := t.of.Offer()
	if o.policy != policy.SHA256() {
		return protocol.FIPAMessage{}, &pat.PolicyMismatchError{UID: policy.UID, Digest: policy.Digest}
	}
	sign := identity.Agreement{Gateway: t.Address, Agent: t.Sender, PolicySHA256: policy.SHA256(), Nonce: o.nonce}
	return protocol.FIPAMessage{Performative: by, Info: map[string]string{
		"policy_sha256": sign.PolicySHA256, "tx_nonce": sign.Nonce, "sign": string(sign.Text()),
	}}, nil
}

// agreed replies to a signed acceptance with a PAT, or with the status pending if the operator must approve the agent first.
func (t *turn) agreed(ctx context.Context, by protocol.Performative) (protocol.FIPAMessage, error) {
	if err := t.mayAgree(); err != nil {
		return protocol.FIPAMessage{}, err
	}
	signed, err := t.acceptance()
	if err != nil {
		return protocol.FIPAMessage{}, err
	}
	issued, err := t.Host.Agree(ctx, t.origin(t.Message), signed)
	if err != nil {
		return protocol.FIPAMessage{}, err
	}
	if issued.State == pat.AgreementPending {
		return protocol.FIPAMessage{Performative: by, Info: map[string]string{
			"status": string(issued.State), "agreement_id": string(issued.AgreementID),
		}}, nil
	}
	t.offers.use(t.Dialogue.Label())
	return t.withPAT(by, issued), nil
}

// acceptance returns the signed acceptance as a request for a PAT. The issuer verifies the signature and the key.
func (t *turn) acceptance() (pat.IssueRequest, error) {
	info := t.message.Info
	o, err := t.open()
	switch {
	case err != nil:
		return pat.IssueRequest{}, err
	case info["tx_nonce"] != "" && info["tx_nonce"] != o.nonce:
		return pat.IssueRequest{}, pat.ErrAgreementStale
	}
	signed := agreement.Evidence{
		Agreement: identity.Agreement{Gateway: t.Address, Agent: t.Sender, PolicySHA256: info["policy_sha256"], Nonce: o.nonce},
		Until:     o.until, Ledger: info["ledger_id"], PublicKey: info["public_key"], Signature: info["signature"],
	}
	return pat.IssueRequest{Evidence: signed, Scope: []string{o.intent}}, nil
}

// renewed replies with the successor of one of the sender's PATs.
func (t *turn) renewed(ctx context.Context, old string) (protocol.FIPAMessage, error) {
	issued, err := t.Host.Renew(ctx, t.origin(t.Message), pat.RenewRequest{Token: old})
	if err != nil {
		return protocol.FIPAMessage{}, err
	}
	return t.withPAT(protocol.FIPAInform, issued), nil
}

// withPAT returns a message that contains a PAT.
func (t *turn) withPAT(by protocol.Performative, issued pat.Issuance) protocol.FIPAMessage {
	return protocol.FIPAMessage{Performative: by, Info: map[string]string{
		"pat": issued.Token, "jti": string(issued.Claims.ID), "expires_at": strconv.FormatInt(issued.Claims.ExpiresAt.Unix(), 10),
		"agreement_id": string(issued.AgreementID), "execute_url": t.of.At("/api/intents/execute"),
	}}
}
