package odrl

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"sync"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

const (
	// maxForeseen bounds how many Terms a policy caches; beyond it the cache is cleared.
	maxForeseen = 1 << 16
	// maxPrepared bounds how many Terms Prepare evaluates: each takes about 0.1 ms, more under large policies.
	maxPrepared = 1 << 12
)

// A foreseenKey holds everything in a request that its Terms depend on. Agents that the policy does not distinguish have equal keys.
type foreseenKey struct {
	targets string // names of the targets that hold the intent
	version string // of the intent, if the policy depends on it
	parties string // IRIs of the agent, among those that rules of these targets name
	key     string // of the agent, if the policy names keys
}

// foreseen caches the Terms of a policy.
type foreseen struct {
	mu    sync.RWMutex
	known map[foreseenKey]Terms
}

func (f *foreseen) get(k foreseenKey) (Terms, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	t, ok := f.known[k]
	return t, ok
}

func (f *foreseen) put(k foreseenKey, t Terms) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxForeseen {
		f.known = map[foreseenKey]Terms{}
	}
	f.known[k] = t
}

// foreseenBy returns what the Terms of a request depend on; false if that cannot be cached.
func (p *Policy) foreseenBy(r *Request) (foreseenKey, bool) {
	targets := p.program.Targets[r.Intent]
	k := foreseenKey{targets: p.targetNames[r.Intent], parties: p.partiesWithin(r.AgentID, r.KeyID, targets)}
	for _, s := range p.program.Slots {
		switch {
		case s.Operand == "version":
			k.version = model.VersionOf(r.Intent)
		case s.Operand == "dateTime": // left open
		case r.Facts[s.Operand] != nil:
			return foreseenKey{}, false
		}
	}
	if p.program.Keys {
		k.key = p.keyNamed(r.AgentKey)
	}
	return k, true
}

// partiesWithin returns the IRIs of an agent, among those that rules of some targets name.
func (p *Policy) partiesWithin(agent, key string, targets []string) string {
	names := p.program.Agents[agent]
	if len(names) == 0 {
		return ""
	}
	var list []string
	for _, name := range names {
		if name.KeyID != "" && name.KeyID != key || slices.Contains(list, name.IRI) {
			continue
		}
		if slices.ContainsFunc(targets, func(t string) bool { return p.program.Assignees[t][name.IRI] }) {
			list = append(list, name.IRI)
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\x00")
}

// keyNamed returns the policy's name of a key: all other keys are equal for it.
func (p *Policy) keyNamed(der []byte) string {
	const none, another = "", "another"
	if len(der) == 0 {
		return none
	}
	text := base64.StdEncoding.EncodeToString(der)
	for _, r := range p.program.Rules {
		for _, d := range r.Duties {
			if slices.Contains(d.Keys, text) {
				return text
			}
		}
	}
	return another
}

// Prepare evaluates the Terms of all agents that the policy distinguishes, and of the others together, so that Terms need not evaluate
// the policy for each agent. Terms beyond its bound are evaluated at their first use.
func (p *Policy) Prepare(ctx context.Context) error {
	left := maxPrepared
	ask := func(r Request) error {
		k, ok := p.foreseenBy(&r)
		if _, known := p.foreseen.get(k); known || !ok || left == 0 {
			return nil
		}
		left--
		_, err := p.Terms(ctx, r)
		return err
	}
	intents := model.SortedKeys(p.program.Targets)
	for _, intent := range intents {
		if err := ask(Request{Intent: intent, AgentKey: []byte{0}}); err != nil { // a key that no policy names
			return err
		}
	}
	for _, agent := range model.SortedKeys(p.program.Agents) {
		for _, name := range p.program.Agents[agent] {
			for _, intent := range intents {
				if err := ask(Request{Intent: intent, AgentID: agent, KeyID: name.KeyID, AgentKey: []byte{0}}); err != nil || left == 0 {
					return err
				}
			}
		}
	}
	return nil
}
