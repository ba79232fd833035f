package rules

import (
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// aliases are the names that the policy uses for intents and agents.
type aliases struct {
	catalog []Asset
	targets []spelledTarget // targets other than UIDs, sorted
	parties []spelledParty  // sorted
}

type spelledTarget struct {
	iri     string
	members []int // indexes into World.Intents, ascending
}

type spelledParty struct {
	iri    string
	anyone bool // read as anyone, because of the operator's configuration
	agents []Party
}

// spelled returns the names that the policy uses for its targets and assignees.
func (n *normalizer) spelled() *aliases {
	s := &aliases{catalog: n.w.Intents}
	for _, iri := range model.SortedKeys(n.w.cache) {
		known := n.w.cache[iri]
		if known.err == nil && (len(known.target.members) != 1 || n.w.Intents[known.target.members[0]].UID != iri) {
			s.targets = append(s.targets, spelledTarget{iri, known.target.members})
		}
	}
	for _, iri := range model.SortedKeys(n.parties) {
		p := spelledParty{iri: iri, anyone: len(n.parties[iri]) == 0}
		for _, agent := range n.parties[iri] {
			p.agents = append(p.agents, n.w.Parties[agent])
		}
		s.parties = append(s.parties, p)
	}
	return s
}

// Wholes returns the names of the targets that contain the intent. known is false if the catalogue does not contain the intent.
func (s *aliases) Wholes(uid string) (list []string, known bool) {
	at := slices.IndexFunc(s.catalog, func(a Asset) bool { return a.UID == uid })
	if at < 0 {
		return nil, false
	}
	for _, t := range s.targets {
		if _, holds := slices.BinarySearch(t.members, at); holds {
			list = append(list, t.iri)
		}
	}
	return list, true
}

// Names returns the names that the policy uses for the agent.
func (s *aliases) Names(agentID, keyID string) []string {
	var list []string
	for _, p := range s.parties {
		if p.anyone || slices.ContainsFunc(p.agents, func(a Party) bool { return a.AgentID == agentID && (a.KeyID == "" || a.KeyID == keyID) }) {
			list = append(list, p.iri)
		}
	}
	return list
}
