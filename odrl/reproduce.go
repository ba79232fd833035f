package odrl

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Reproduction is a Request to a published policy, said so that the policy's document alone answers it: to Load and
// Evaluate, and so to uimgate policy decide and to plain OPA, of which none knows the gateway's intents, hosts and
// agents. As JSON it is a line of policy decide --batch without its policy.
type Reproduction struct {
	Question Question
	World    WorldState
	// DutyMode is DutiesNotViolated: the gateway sees to what is owed for a call as it makes it. What only the agent can
	// do, sign, is asked for in either mode.
	DutyMode DutyMode
}

// Reproduce says what Decide was asked, in the words of the policy. facts are those of the Decision, which the policy
// read; they are not changed.
func (p *Policy) Reproduce(r Request, facts map[string]any) Reproduction {
	context := make(map[string]any, len(facts)+1)
	maps.Copy(context, facts)
	delete(context, "dateTime") // it is the world's
	if len(r.ProofKey) > 0 {
		context["publicKey"] = keyText(r.ProofKey)
	}
	out := Reproduction{
		Question: Question{Party: r.AgentID, Action: "execute", Target: r.Intent, Context: context},
		World:    WorldState{Now: r.Now}, DutyMode: DutiesNotViolated,
	}
	for _, iri := range p.spelling.wholes(p.form.w, r.Intent) {
		out.World.PartOf = append(out.World.PartOf, Membership{r.Intent, iri})
	}
	for _, iri := range p.spelling.names(r) {
		out.World.PartOf = append(out.World.PartOf, Membership{r.AgentID, iri})
	}
	return out
}

// MarshalJSON writes request, world and dutyMode as ParseQuestion and ParseWorldState read them.
func (r Reproduction) MarshalJSON() ([]byte, error) {
	type request struct {
		Party   string         `json:"party"`
		Action  string         `json:"action"`
		Target  string         `json:"target"`
		Context map[string]any `json:"context,omitempty"`
	}
	type world struct {
		Now    time.Time    `json:"currentTime"`
		PartOf []Membership `json:"partOf,omitempty"`
	}
	return json.Marshal(struct {
		Request  request  `json:"request"`
		World    world    `json:"world"`
		DutyMode DutyMode `json:"dutyMode"`
	}{request{r.Question.Party, r.Question.Action, r.Question.Target, r.Question.Context}, world{r.World.Now.UTC(), r.World.PartOf}, r.DutyMode})
}

// aliases are how a policy spells what its names refer to.
type aliases struct {
	targets []spelledTarget // but for UIDs, sorted
	parties []spelledParty  // sorted
	intents sync.Map        // UID → []string, looked up once
}

type spelledTarget struct {
	iri     string
	members []int // indexes into World.Intents, ascending
}

type spelledParty struct {
	iri    string
	anyone bool // the operator reads it so
	agents []Party
}

// spelled notes how the policy spells the targets and assignees that were looked up.
func (n *normalizer) spelled() *aliases {
	s := &aliases{}
	for _, iri := range sortedKeys(n.w.cache) {
		known := n.w.cache[iri]
		if known.err == nil && (len(known.target.members) != 1 || n.w.Intents[known.target.members[0]].UID != iri) {
			s.targets = append(s.targets, spelledTarget{iri, known.target.members})
		}
	}
	for _, iri := range sortedKeys(n.parties) {
		p := spelledParty{iri: iri, anyone: len(n.parties[iri]) == 0}
		for _, agent := range n.parties[iri] {
			p.agents = append(p.agents, n.w.Parties[agent])
		}
		s.parties = append(s.parties, p)
	}
	return s
}

// wholes are the spellings of what holds the intent.
func (s *aliases) wholes(w *world, uid string) []string {
	if known, ok := s.intents.Load(uid); ok {
		list, _ := known.([]string)
		return list
	}
	at := slices.IndexFunc(w.Intents, func(a Asset) bool { return a.UID == uid })
	if at < 0 {
		return nil // and nothing is remembered of names that strangers make up
	}
	var list []string
	for _, t := range s.targets {
		if _, holds := slices.BinarySearch(t.members, at); holds {
			list = append(list, t.iri)
		}
	}
	s.intents.Store(uid, list)
	return list
}

// names are the spellings of the agent.
func (s *aliases) names(r Request) []string {
	var list []string
	for _, p := range s.parties {
		if p.anyone || slices.ContainsFunc(p.agents, func(a Party) bool { return a.AgentID == r.AgentID && (a.KeyID == "" || a.KeyID == r.KeyID) }) {
			list = append(list, p.iri)
		}
	}
	return list
}
