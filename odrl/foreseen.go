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
	// maxForeseen is how many Terms a policy caches; when this number is reached, the cache is cleared.
	maxForeseen = 1 << 16
	// maxPrepared is the maximum number of Terms that Prepare evaluates. Each takes about 0.1 ms, and more under a large policy.
	maxPrepared = 1 << 12
)

// A foreseenKey holds everything in a request that its Terms depend on. Agents that the policy does not distinguish have equal keys.
type foreseenKey struct {
	targets string // names of the targets that contain the intent
	version string // the version of the intent, if the policy depends on it
	parties string // IRIs of the agent, among those that rules of these targets name
	key     string // the key of the agent, if the policy names keys
	plan    string // the plan of the agreement, if the policy has plans and the request gives one
}

// foreseenTerms caches the Terms of a policy.
type foreseenTerms struct {
	mu    sync.RWMutex
	known map[foreseenKey]Terms
}

func (f *foreseenTerms) get(k foreseenKey) (Terms, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	t, ok := f.known[k]
	return t, ok
}

func (f *foreseenTerms) put(k foreseenKey, t Terms) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxForeseen {
		f.known = map[foreseenKey]Terms{}
	}
	f.known[k] = t
}

// foreseenBy returns the cache key for the Terms of a request. It returns false if the Terms cannot be cached, because they depend on facts
// of this request.
func (p *Policy) foreseenBy(r *Request) (foreseenKey, bool) {
	targets := p.program.Targets[r.Intent]
	k := foreseenKey{targets: p.targetNames[r.Intent], parties: p.partiesWithin(r.AgentID, r.KeyID, targets)}
	for _, s := range p.program.Slots {
		switch {
		case s.Operand == "version":
			k.version = model.VersionOf(r.Intent)
		case s.Operand == "dateTime": // Terms leave the time open
		case s.Operand == Plan:
			plan := r.Facts[Plan]
			if plan == nil {
				continue
			}
			known, ok := plan.(string)
			if !ok || known != NoPlan && !slices.Contains(p.program.Plans, known) {
				return foreseenKey{}, false
			}
			k.plan = known
		case r.Facts[s.Operand] != nil:
			return foreseenKey{}, false
		}
	}
	if p.program.Keys {
		k.key = p.keyNamed(r.AgentKey)
	}
	return k, true
}

// partiesWithin returns those IRIs of an agent that the rules of the given targets name, sorted and joined.
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

// keyNamed returns the base64 of a key that the policy names, and "" if there is no key. All keys that the policy does not name give the
// same result.
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

// Prepare evaluates in advance the Terms of every agent that the policy distinguishes, and once the Terms of all other agents, so that
// Terms can return them from the cache. The policy must be one from Publish. Prepare evaluates at most 4096 Terms; all others are evaluated
// at their first use.
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
