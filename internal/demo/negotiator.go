package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/dialogue"
	"github.com/uimgate/uimgate/bindings/aea/identity"
	"github.com/uimgate/uimgate/bindings/aea/protocol"
	"github.com/uimgate/uimgate/bindings/aea/search"
	"github.com/uimgate/uimgate/bindings/aea/wire"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A negotiator is a guest of the AEA framework: it asks for proposals, accepts one by signature, and sends requests in envelopes.
type negotiator struct {
	t         *tour
	key       identity.Key
	gateway   string // its address
	conn      net.Conn
	dialogues *dialogue.Dialogues
	pats      map[string]string // by intent
}

const answersWithin = 20 * time.Second

func (t *tour) negotiator(ctx context.Context) (guest, string, error) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	key, err := identity.NewKey(random)
	if err != nil {
		return nil, "", err
	}
	address, door := key.Public(identity.Fetchai).Address(), t.doors["aea"]
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", door["tcp"])
	if err != nil {
		return nil, "", err
	}
	n := &negotiator{t: t, key: key, gateway: door["address"], conn: conn, pats: map[string]string{}}
	n.dialogues = dialogue.New(address, dialogue.DefaultLimits, t.Now)
	return n, address, n.frame([]byte(address)) // who it is, before any envelope
}

func (n *negotiator) frame(content []byte) error {
	frame, err := wire.TCP.Append(nil, content)
	if err == nil {
		err = n.conn.SetDeadline(n.t.Now().Add(answersWithin))
	}
	if err == nil {
		_, err = n.conn.Write(frame)
	}
	return err
}

func (n *negotiator) send(e wire.Envelope, err error) error {
	if err != nil {
		return err
	}
	data, err := e.Encode()
	if err != nil {
		return err
	}
	return n.frame(data)
}

// next is the next message that comes to the agent.
func (n *negotiator) next() (dialogue.Turn, error) {
	frame, err := wire.TCP.Read(n.conn)
	if err != nil {
		return dialogue.Turn{}, err
	}
	e, err := wire.DecodeEnvelope(frame)
	if err != nil {
		return dialogue.Turn{}, err
	}
	return n.dialogues.Receive(e)
}

// fipa sends a message of a negotiation, and returns the next one of it.
func (n *negotiator) fipa(to *dialogue.Turn, m protocol.FIPAMessage) (dialogue.Turn, protocol.FIPAMessage, error) {
	var e wire.Envelope
	var err error
	if to == nil {
		_, e, err = n.dialogues.Start(protocol.FIPA.Specs[0], n.gateway, m)
	} else {
		e, err = to.Dialogue.Reply(to.Message.ID, m)
	}
	n.t.printf("   > fipa %s\n", m.Performative)
	if err = n.send(e, err); err != nil || m.Performative == protocol.FIPAEnd {
		return dialogue.Turn{}, protocol.FIPAMessage{}, err
	}
	turn, err := n.next()
	if err != nil {
		return dialogue.Turn{}, protocol.FIPAMessage{}, err
	}
	answer, ok := turn.Content.(protocol.FIPAMessage)
	n.t.printf("   < fipa %s\n", answer.Performative)
	return turn, answer, expect(ok, "an answer in the negotiation")
}

func (n *negotiator) agree(context.Context) (string, error) {
	var scopes []string
	for _, uid := range []string{searchUID, detailsUID, orderUID} {
		scope, err := n.negotiate(uid)
		if err != nil {
			return "", fmt.Errorf("%s: %w", uid, err)
		}
		scopes = append(scopes, scope)
	}
	return strings.Join(scopes, " "), nil
}

// negotiate agrees to the offer for one intent.
func (n *negotiator) negotiate(uid string) (scope string, err error) {
	wanted := search.Query{Constraints: []search.Expr{
		search.Constraint{Attribute: "intent_uid", Test: search.Relation{Value: search.Text(uid)}},
	}}
	turn, offer, err := n.fipa(nil, protocol.FIPAMessage{Performative: protocol.FIPACFP, Query: wanted})
	if err != nil || offer.Performative != protocol.FIPAPropose {
		return "", errors.Join(err, errors.New("expected a proposal"))
	}
	told := func(name string) string { text, _ := offer.Proposal.Value(name).(search.Text); return string(text) }
	agreement := identity.Agreement{
		Gateway: n.gateway, Agent: n.key.Public(identity.Fetchai).Address(), PolicySHA256: told("policy_sha256"), Nonce: told("tx_nonce"),
	}
	turn, match, err := n.fipa(&turn, protocol.FIPAMessage{Performative: protocol.FIPAAcceptWInform, Info: map[string]string{
		"public_key": n.key.Public(identity.Fetchai).String(), "signature": n.key.Sign(identity.Fetchai, agreement.Text()),
		"policy_sha256": agreement.PolicySHA256, "tx_nonce": agreement.Nonce,
	}})
	if err != nil || match.Info["pat"] == "" {
		return "", errors.Join(err, errors.New("expected a PAT"))
	}
	n.pats[uid] = match.Info["pat"]
	_, _, err = n.fipa(&turn, protocol.FIPAMessage{Performative: protocol.FIPAEnd})
	return told("scope"), err
}

// call sends a request as HTTP has it, in an envelope.
func (n *negotiator) call(_ context.Context, uid string, parameters map[string]any) (string, error) {
	body, err := json.Marshal(map[string]any{"intent_uid": uid, "parameters": parameters})
	if err != nil {
		return "", err
	}
	_, e, err := n.dialogues.Start(protocol.HTTP.Specs[0], n.gateway, protocol.HTTPMessage{
		Performative: protocol.HTTPRequest, Method: http.MethodPost, URL: n.t.gateway + "/api/intents/execute", Body: body,
		Header: http.Header{"Authorization": {"Bearer " + n.pats[uid]}, "Content-Type": {"application/json"}},
	})
	if err = n.send(e, err); err != nil {
		return "", err
	}
	turn, err := n.next()
	if err != nil {
		return "", err
	}
	if !n.t.quiet {
		n.t.printf("   > http request\n   < http response\n")
	}
	answer, ok := turn.Content.(protocol.HTTPMessage)
	if !ok {
		return "", errors.New("expected an answer to the request")
	}
	if answer.Status == http.StatusOK {
		return answer.Header.Get("UIM-Charge"), nil
	}
	tree, err := strictjson.DecodeObject(answer.Body)
	told := tree.Object("error")
	return "", errors.Join(err, &refused{told.Object("details").Text("reason"), told.Text("message")})
}

func (n *negotiator) revoke(ctx context.Context) error {
	for _, token := range n.pats {
		if err := n.t.revokeToken(ctx, token); err != nil {
			return err
		}
	}
	return nil
}

func (n *negotiator) close() { _ = n.conn.Close() }
