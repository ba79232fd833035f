package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/agent/aea"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// An aeaAgent is an agent of the AEA framework. It accepts an offer for each intent by signature, and sends requests in envelopes.
type aeaAgent struct {
	t     *tour
	agent *aea.Agent
	pats  map[string]string // by intent
}

func (t *tour) aeaAgent(ctx context.Context) (networkAgent, string, error) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	key, err := identity.NewKey(random)
	if err != nil {
		return nil, "", err
	}
	door := t.doors["aea"]
	agent, err := aea.Dial(ctx, aea.Options{
		Key: key, Gateway: door["address"], TCP: door["tcp"], Now: t.Now, Shown: func(arrow, message string) {
			if !t.quiet {
				t.printf("   %s %s\n", arrow, message)
			}
		},
	})
	if err != nil {
		return nil, "", err
	}
	return &aeaAgent{t, agent, map[string]string{}}, agent.Address(), nil
}

func (g *aeaAgent) agree(context.Context) (string, error) {
	var scopes []string
	for _, uid := range []string{searchUID, detailsUID, orderUID} {
		token, scope, err := g.agent.Negotiate(uid)
		if err != nil {
			return "", fmt.Errorf("%s: %w", uid, err)
		}
		g.pats[uid], scopes = token, append(scopes, scope)
	}
	return strings.Join(scopes, " "), nil
}

// call calls the execute endpoint with an HTTP request in an envelope.
func (g *aeaAgent) call(_ context.Context, uid string, parameters map[string]any) (string, error) {
	body, err := json.Marshal(map[string]any{"intent_uid": uid, "parameters": parameters})
	if err != nil {
		return "", err
	}
	answer, err := g.agent.Request(http.MethodPost, g.t.gateway+"/api/intents/execute", http.Header{
		"Authorization": {"Bearer " + g.pats[uid]}, "Content-Type": {"application/json"},
	}, body)
	if err != nil {
		return "", err
	}
	if answer.Status == http.StatusOK {
		return answer.Header.Get("UIM-Charge"), nil
	}
	tree, err := strictjson.DecodeObject(answer.Body)
	got := tree.Object("error")
	return "", errors.Join(err, &refusal{got.Object("details").Text("reason"), got.Text("message")})
}

func (g *aeaAgent) revoke(ctx context.Context) error {
	for _, token := range g.pats {
		if err := g.t.revokeToken(ctx, token); err != nil {
			return err
		}
	}
	return nil
}

func (g *aeaAgent) close() { _ = g.agent.Close() }
