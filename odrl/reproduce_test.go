package odrl_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
)

// The document of a policy alone reproduces the decisions of the gateway, because the question contains the names in the gateway's world.
func TestReproduceDecisions(t *testing.T) {
	seeds := richPolicies(t)
	der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		t.Fatal(err)
	}
	w := world()
	w.AnyAssignee = true
	w.Hosts = append(w.Hosts, "127.0.0.1:4000")
	times := odrl.ReproducedPolicies
	published, permits := 0, 0
	for seed := range times {
		r := rand.New(rand.NewPCG(12, uint64(seed)))
		tree, err := strictjson.Decode([]byte(seeds[seed%len(seeds)]))
		if err != nil {
			t.Fatal(err)
		}
		for range r.IntN(4) {
			tree = mutate(r, tree)
		}
		doc, err := strictjson.Canonical(tree)
		if err != nil {
			continue
		}
		p, _ := odrl.Publish(t.Context(), doc, w)
		if p == nil {
			continue
		}
		published++
		for range 4 {
			req := odrl.Request{
				AgentID: "agent-1", AgentKey: der, Intent: w.Intents[r.IntN(len(w.Intents))].UID,
				Now: time.Date(2026, 6, 15, r.IntN(24), 0, 0, 0, time.UTC), Facts: map[string]any{},
			}
			for name, values := range map[string]list{
				"purpose": {"a", "b", list{"a", "b"}, 1, nil}, "spatial": {"US-CA", "DE", "EU", true}, "industry": {"bank", "shop"}, "recipient": {"a"},
			} {
				if v := values[r.IntN(len(values))]; r.IntN(3) > 0 && v != nil {
					req.Facts[name] = v
				}
			}
			if r.IntN(2) == 0 {
				req.ProofKey = der
			}
			d, err := p.Decide(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			e := again(t, doc, p.Reproduce(req, d.Facts))
			if e.Permit != d.Permit || e.Reason != d.Reason || e.Rule != d.Rule {
				message, _ := json.Marshal(p.Reproduce(req, d.Facts))
				t.Fatalf("%s\n%s\ndecide %v %s %s\nagain %v %s %s", doc, message, d.Permit, d.Reason, d.Rule, e.Permit, e.Reason, e.Rule)
			}
			if d.Permit {
				permits++
			}
		}
	}
	if published < times/10 || permits < times/10 {
		t.Errorf("only %d of %d published, %d permits", published, times, permits)
	}
}

// again evaluates a recorded question as uimgate policy decide does.
func again(t *testing.T, doc []byte, message odrl.Reproduction) odrl.Evaluation {
	t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	var parts struct {
		Request, World json.RawMessage
		DutyMode       odrl.DutyMode
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		t.Fatal(err)
	}
	q, err := odrl.ParseQuestion(parts.Request, false)
	if err != nil {
		t.Fatal(err)
	}
	w, err := odrl.ParseWorldState(parts.World)
	if err != nil {
		t.Fatal(err)
	}
	p, problems := odrl.Load(t.Context(), doc, odrl.LoadOptions{Lenient: true})
	if p == nil {
		t.Fatalf("%s: %v", doc, problems)
	}
	e, err := p.Evaluate(t.Context(), q, w, odrl.EvaluateOptions{DutyMode: parts.DutyMode})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
