package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// A UAgent configures a client that is an agent of the uAgents protocol: the client agrees, renews and executes with signed
// envelopes, and its address is its id. It still fetches documents, such as agents.json and the policy, over HTTP.
type UAgent struct {
	Key identity.Key
	// Service is the address of the service, agent1…. If it is empty, the client uses the address in the service's agents.json. If
	// both exist, they must be equal.
	Service string
	// Endpoint is the URL to which the client sends envelopes for the service. If it is empty, the client uses an endpoint from
	// Almanac or, without Almanac, the one in agents.json.
	Endpoint string
	// Almanac is the base URL of a registry that the client queries for the endpoint; empty means none.
	Almanac string
}

// uagents returns the door to the service in the uAgents protocol. It queries the Almanac for the endpoint if the Options name an Almanac
// and no endpoint; it sends no secret. If the service has no such door, the error wraps ErrNoDoor.
func (s *Service) uagents(ctx context.Context) (via.UAgents, error) {
	o, e := s.client.o.UAgent, s.Endpoints()
	named := o.Service
	switch {
	case named == "" && e.UAgentsAddress == "":
		return via.UAgents{}, fmt.Errorf("%w: its agents.json has no uim-uagents", ErrNoDoor)
	case named == "":
		named = e.UAgentsAddress
	case e.UAgentsAddress != "" && e.UAgentsAddress != named:
		return via.UAgents{}, fmt.Errorf("%w: uim-uagents in its agents.json differs from the configured address", ErrNoDoor)
	}
	address, err := identity.ParseAddress(named)
	if err != nil || !address.Agent() {
		return via.UAgents{}, fmt.Errorf("%w: the address of the service is not an agent address, agent1…", ErrNoDoor)
	}
	endpoint := o.Endpoint
	if endpoint == "" && o.Almanac != "" {
		if endpoint, err = s.almanac(ctx, o.Almanac, address); err != nil {
			return via.UAgents{}, err
		}
	}
	if endpoint == "" {
		endpoint = e.UAgents
	}
	if endpoint == "" {
		return via.UAgents{}, fmt.Errorf("%w: the URL for envelopes to the service is unknown", ErrNoDoor)
	}
	return via.UAgents{URL: endpoint, Service: address, Key: o.Key, Now: s.client.o.Now}, nil
}

// almanac queries a registry for the endpoints of an agent, and returns one of them, chosen at random by weight.
func (s *Service) almanac(ctx context.Context, base string, address identity.Address) (string, error) {
	const most = 64 << 10
	answer, err := s.client.fetch.Do(ctx, fetch.Request{
		Method: http.MethodGet, URL: strings.TrimRight(base, "/") + "/v1/almanac/agents/" + string(address),
		Header: http.Header{"Accept": {"application/json"}}, Max: most,
	})
	if err != nil {
		return "", fmt.Errorf("querying the Almanac: %w", err)
	}
	if answer.Status == http.StatusNotFound {
		return "", fmt.Errorf("%w: the Almanac does not list the address", ErrNoDoor)
	}
	tree, err := strictjson.DecodeObject(answer.Body)
	if answer.Status != http.StatusOK || err != nil || tree.Text("address") != string(address) {
		return "", fmt.Errorf("%w: the Almanac responded with %d and did not return the agent", ErrNoDoor, answer.Status)
	}
	type place struct {
		url    string
		weight int64
	}
	var places []place
	var sum int64
	for _, v := range tree.List("endpoints") {
		one, _ := strictjson.AsObject(v)
		weight, err := one.Number("weight").Int64()
		if err != nil || weight < 1 || weight > 1<<20 {
			weight = 1
		}
		if url := one.Text("url"); url != "" {
			places, sum = append(places, place{url, weight}), sum+weight
		}
	}
	if len(places) == 0 || tree.Text("expiry") == "" {
		return "", fmt.Errorf("%w: the Almanac has no endpoint for the address", ErrNoDoor)
	}
	at := rand.Int64N(sum) //nolint:gosec // only spreads load
	chosen := slices.IndexFunc(places, func(p place) bool { at -= p.weight; return at < 0 })
	return places[chosen].url, nil
}

// signEnvelope agrees to a policy in an envelope.
func (s *Service) signEnvelope(ctx context.Context, session Session, policy Policy) (Agreement, error) {
	session.Form, session.PolicyUID, session.PolicyDigest, session.Document = FormEnvelope, policy.UID, policy.Digest, policy.Raw
	var sent []byte
	answer, err := s.sendEnvelope(ctx, issueOp, func(door via.UAgents, id string) (via.Message, error) {
		m, err := door.Agreement(id, policy.Digest, session.Issuer, session.Declared.Plan(), session.Requested)
		sent = m.Body
		return m, err
	})
	if err != nil {
		return Agreement{}, policyChange(err, policy.Digest)
	}
	agreement, err := s.issued(session, answer, []byte(FormEnvelope)) // pending agreements are sent again in a new envelope
	if err == nil {
		s.keepEnvelope(session, agreement.ID, sent)
	}
	return agreement, err
}

// renewEnvelope requests a new PAT in an envelope. The signature of the envelope serves as the proof of key.
func (s *Service) renewEnvelope(ctx context.Context, session Session) (fetch.Answer, error) {
	return s.sendEnvelope(ctx, renewOp, func(door via.UAgents, id string) (via.Message, error) {
		return door.Renewal(id, session.kept.Token.reveal())
	})
}

// sendEnvelope sends one envelope and converts the response to that of a UIM endpoint.
func (s *Service) sendEnvelope(
	ctx context.Context, op operation, write func(door via.UAgents, id string) (via.Message, error),
) (fetch.Answer, error) {
	door, err := s.uagents(ctx)
	if err != nil {
		return fetch.Answer{}, err
	}
	id := uuid.NewString()
	m, err := write(door, id)
	if err != nil {
		return fetch.Answer{}, fmt.Errorf("%s: creating the envelope: %w", op.name, err)
	}
	op.read = func(a fetch.Answer) (fetch.Answer, error) {
		out, err := door.Read(id, a)
		if err != nil {
			return fetch.Answer{}, fmt.Errorf("%w: %w", ErrAnswer, err)
		}
		return out, nil
	}
	return s.post(ctx, op, []string{m.URL}, m.Header, m.Body)
}
