package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/agent/via"
	agentfetch "github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/pat"
)

// agreeInEnvelopes makes the agents agree to the policy over the uAgents protocol as well.
func agreeInEnvelopes(ctx context.Context, agents []agent, gate addresses) error {
	policy, err := fetch(ctx, http.MethodGet, gate.Gateway+"/api/policy", nil)
	if err != nil {
		return err
	}
	digest, err := pat.PolicyDigest(policy)
	if err != nil {
		return err
	}
	for i := range agents {
		key, err := identity.FromSeed(fmt.Sprintf("the seed of agent %d", i), 0)
		if err != nil {
			return err
		}
		door := via.UAgents{URL: gate.Gateway + "/submit", Service: identity.Address(gate.UAgent), Key: key, Now: time.Now}
		id := uuid.NewString()
		m, err := door.Agreement(id, digest, issuer, "", nil)
		if err != nil {
			return err
		}
		text, err := submit(ctx, m)
		if err != nil {
			return err
		}
		answer, err := door.Read(id, agentfetch.Answer{Status: http.StatusOK, Body: text})
		if err != nil {
			return err
		}
		tree, err := strictjson.DecodeObject(answer.Body)
		if err != nil || tree.Text("uim-pat") == "" {
			return fmt.Errorf("agreeing in an envelope: %.300s", answer.Body)
		}
		agents[i].envelopes, agents[i].envelopesToken = door, tree.Text("uim-pat")
	}
	return nil
}

func submit(ctx context.Context, m via.Message) ([]byte, error) {
	return fetchWith(ctx, http.MethodPost, m.URL, m.Header, m.Body)
}

// inEnvelopes is the way for calls over the uAgents protocol.
func inEnvelopes(ctx context.Context, a *agent, t target, client *http.Client) (send func() error, stop func(), err error) {
	call, err := strictjson.DecodeObject([]byte(t.body))
	return func() error { return a.submits(ctx, client, t.uid, call.Object("parameters")) }, func() {}, err
}

func (a *agent) submits(ctx context.Context, client *http.Client, uid string, parameters map[string]any) error {
	m, err := a.envelopes.Message(via.Call{
		ID: uuid.NewString(), UID: uid, Parameters: parameters,
		Header: http.Header{"Authorization": {"Bearer " + a.envelopesToken}},
	})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, strings.NewReader(string(m.Body)))
	if err != nil {
		return err
	}
	r.Header = m.Header
	return done(client.Do(r))
}

// curve returns the CPU time that a gateway spends on the elliptic curve per envelope, in seconds per 1,000 envelopes: it verifies one
// envelope, and signs the response. The result is the minimum of several rounds.
func curve() (float64, error) {
	key, err := identity.FromSeed("the seed of an agent", 0)
	if err != nil {
		return 0, err
	}
	e := envelope.Envelope{Target: key.Address(), Session: envelope.NewSession(), Payload: envelope.Pack([]byte("{}"))}.Sign(key)
	const rounds, each = 10, 200
	least := 0.0
	for range rounds {
		before := currentUsage().CPU
		for range each {
			if err := e.Verify(); err != nil {
				return 0, err
			}
			e = e.Sign(key)
		}
		if spent := (currentUsage().CPU - before).Seconds() * 1000 / each; least == 0 || spent < least {
			least = spent
		}
	}
	return least, nil
}
