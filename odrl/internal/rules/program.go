package rules

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A Program is a published policy, resolved against the World and compiled into rules.
type Program struct {
	Form       *model.NormalForm
	World      *Catalog
	Strategy   model.Strategy
	Rules      map[int]*Rule
	Nodes      map[string]*model.Constraint // by id, to report unmet conditions
	Targets    map[string][]string          // UID of an intent → names of the targets that contain it
	Agents     map[string][]AgentName       // by agent id
	Assignees  map[string]map[string]bool   // name of a target → assignees of its rules
	Slots      []FactSlot
	Leaves     []*Leaf
	Keys       bool     // some duty to sign refers to a complete key
	Currencies []string // the currencies of its charges, sorted
	Plans      []string // the plans of its permissions, in document order
	limited    map[string][]*Rule
	Spelling   *aliases
	Engine     *engine
}

// An AgentName is an IRI that the policy uses for an agent.
type AgentName struct {
	IRI   string
	KeyID string // RFC 7638 thumbprint; empty means any key of the agent
}

// A FactSlot is a slot whose facts the policy reads, and how it reads them.
type FactSlot struct {
	Slot
	Kind  model.Kind
	Left  *model.Operand        // the slot's left operand, from the table of operands
	Reads func(any) (any, bool) // converts a fact; set for numbers, durations and events
}

// Compile reads the document and compiles it. If the policy cannot be enforced, Compile reports a problem and returns nil.
func Compile(ctx context.Context, tree map[string]any, w World, found *model.Findings) *Program {
	n := normalize(ctx, tree, w, found)
	if found.Failed() {
		return nil
	}
	p := n.program()
	var err error
	if p.Engine, err = newEngine(ctx, n.data()); err != nil {
		found.Errorf("engine", "", "the policy engine rejects this policy: %v", err)
		return nil
	}
	return p
}

func (n *normalizer) program() *Program {
	p := &Program{
		Form: n.form, World: n.w, Strategy: n.d.Strategy(), Rules: map[int]*Rule{}, Nodes: map[string]*model.Constraint{},
		Targets: n.intentTargets(), Agents: map[string][]AgentName{}, Assignees: map[string]map[string]bool{},
		Leaves: n.Leaves, Spelling: n.spelled(), limited: n.limited(),
	}
	for _, r := range n.rules {
		p.Rules[r.N] = r
		if r.Assignee != "" {
			if p.Assignees[r.Target.Name] == nil {
				p.Assignees[r.Target.Name] = map[string]bool{}
			}
			p.Assignees[r.Target.Name][r.Assignee] = true
		}
		for _, plan := range r.Plans {
			if !slices.Contains(p.Plans, plan) {
				p.Plans = append(p.Plans, plan)
			}
		}
		for _, d := range r.Duties {
			p.Keys = p.Keys || len(d.Keys) > 0
			if !d.Charge.IsZero() && !slices.Contains(p.Currencies, d.Charge.Currency) {
				p.Currencies = append(p.Currencies, d.Charge.Currency)
			}
		}
	}
	slices.Sort(p.Currencies)
	for _, l := range n.Leaves {
		p.Nodes[l.ID] = l.Source
		if !slices.ContainsFunc(p.Slots, func(s FactSlot) bool { return s.Slot == l.Slot }) {
			left := l.Source.Left()
			p.Slots = append(p.Slots, FactSlot{l.Slot, left.Kind, left, l.read})
		}
	}
	for _, c := range n.compounds {
		p.Nodes[c.id] = c.source
	}
	for _, iri := range n.boundParties() {
		party := n.w.Parties[iri]
		p.Agents[party.AgentID] = append(p.Agents[party.AgentID], AgentName{iri, party.KeyID})
	}
	return p
}

// intentTargets maps the UID of each intent to the targets of the policy that contain the intent.
func (n *normalizer) intentTargets() map[string][]string {
	lists := make([][]string, len(n.w.Intents))
	for _, name := range model.SortedKeys(n.used) {
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
