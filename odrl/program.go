package odrl

import (
	"context"
	"slices"
)

// A program is a published policy, resolved against the world and compiled to rules.
type program struct {
	form       *normalForm
	world      *world
	strategy   strategy
	rules      map[int]*rule
	nodes      map[string]*constraintNode // by id, for telling what was not met
	targets    map[string][]string        // UID → names of the targets that hold it
	agents     map[string][]agentName     // by agent id
	slots      []factSlot
	leaves     []*leaf
	keys       bool     // some duty to sign names a whole key
	currencies []string // of its charges, sorted
	spelling   *aliases
	engine     *engine
}

// An agentName is an IRI by which the policy names an agent.
type agentName struct {
	iri   string
	keyID string // RFC 7638 thumbprint; empty: any key of the agent
}

// A factSlot is a slot that the policy reads, and how.
type factSlot struct {
	slot
	kind  kind
	reads func(any) (any, bool) // of numbers, durations and events
}

// compileProgram reads the document and compiles it; nil, with a problem, where the policy cannot be enforced.
func compileProgram(ctx context.Context, tree map[string]any, w givenWorld, found *findings) *program {
	n := normalize(ctx, tree, w, found)
	if found.failed() {
		return nil
	}
	p := n.program()
	var err error
	if p.engine, err = newEngine(ctx, n.data()); err != nil {
		found.Errorf("engine", "", "the policy engine does not take this policy: %v", err)
		return nil
	}
	return p
}

func (n *normalizer) program() *program {
	p := &program{
		form: n.form, world: n.w, strategy: n.d.strategy(), rules: map[int]*rule{}, nodes: map[string]*constraintNode{},
		targets: n.intentTargets(), agents: map[string][]agentName{}, leaves: n.leaves, spelling: n.spelled(),
	}
	for _, r := range n.rules {
		p.rules[r.n] = r
		for _, d := range r.duties {
			p.keys = p.keys || len(d.keys) > 0
			if !d.charge.IsZero() && !slices.Contains(p.currencies, d.charge.Currency) {
				p.currencies = append(p.currencies, d.charge.Currency)
			}
		}
	}
	slices.Sort(p.currencies)
	for _, l := range n.leaves {
		p.nodes[l.id] = l.source
		if !slices.ContainsFunc(p.slots, func(s factSlot) bool { return s.slot == l.slot }) {
			p.slots = append(p.slots, factSlot{l.slot, operands[l.slot.operand], l.read})
		}
	}
	for _, c := range n.compounds {
		p.nodes[c.id] = c.source
	}
	for _, iri := range n.boundParties() {
		party := n.w.Parties[iri]
		p.agents[party.AgentID] = append(p.agents[party.AgentID], agentName{iri, party.KeyID})
	}
	return p
}

// intentTargets lists for each intent the targets of the policy that hold it.
func (n *normalizer) intentTargets() map[string][]string {
	lists := make([][]string, len(n.w.Intents))
	for _, name := range sortedKeys(n.used) {
		for _, i := range n.used[name].members {
			lists[i] = append(lists[i], name)
		}
	}
	m := make(map[string][]string, len(lists))
	for i, list := range lists {
		if len(list) > 0 {
			m[n.w.Intents[i].UID] = list
		}
	}
	return m
}
