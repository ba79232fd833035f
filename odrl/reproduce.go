package odrl

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A Reproduction is a Request to a published policy, written so that the policy's document alone decides it: for Load and Evaluate, and
// so for uimgate policy decide and plain OPA, which do not have the gateway's intents, hosts and agents. Its JSON is a line of policy
// decide --batch without its policy.
type Reproduction struct {
	Question Question
	World    WorldState
	// DutyMode is DutiesNotViolated: the gateway fulfils the duties of a call as it makes it. What only the agent can do, sign, is
	// required in either mode.
	DutyMode DutyMode
}

// Reproduce returns the request of a Decide, in the names of the policy. facts are those of the Decision, which the policy read; they are
// not modified, but may be a part of the result.
func (p *Policy) Reproduce(r Request, facts map[string]any) Reproduction {
	out := Reproduction{
		Question: Question{Party: r.AgentID, Action: "execute", Target: r.Intent, Context: contextOf(r, facts)},
		World:    WorldState{Now: r.Now, PartOf: p.wholesOf(r.Intent)}, DutyMode: DutiesNotViolated,
	}
	for _, iri := range p.program.Spelling.Names(r.AgentID, r.KeyID) {
		out.World.PartOf = append(out.World.PartOf, Membership{r.AgentID, iri})
	}
	return out
}

// wholesOf returns what an intent is part of; the result is read-only.
func (p *Policy) wholesOf(intent string) []Membership {
	if known, ok := p.wholes.Load(intent); ok {
		list, _ := known.([]Membership)
		return list
	}
	iris, known := p.program.Spelling.Wholes(intent)
	var list []Membership
	for _, iri := range iris {
		list = append(list, Membership{intent, iri})
	}
	list = slices.Clip(list)
	if known { // nothing is cached for names that unauthenticated clients invent
		p.wholes.Store(intent, list)
	}
	return list
}

// contextOf returns the facts of a question without the time, which is the world's, and with the key of a proof.
func contextOf(r Request, facts map[string]any) map[string]any {
	const moment, key = "dateTime", "publicKey"
	if _, timed := facts[moment]; !timed && len(r.ProofKey) == 0 {
		return facts
	}
	context := make(map[string]any, len(facts)+1)
	maps.Copy(context, facts)
	delete(context, moment)
	if len(r.ProofKey) > 0 {
		context[key] = rules.KeyText(r.ProofKey)
	}
	return context
}

// MarshalJSON writes request, world and dutyMode as ParseQuestion and ParseWorldState read them.
func (r Reproduction) MarshalJSON() ([]byte, error) {
	return r.AppendJSON(nil)
}

// AppendJSON appends what MarshalJSON writes.
func (r *Reproduction) AppendJSON(out []byte) ([]byte, error) {
	w := strictjson.NewWriter(out)
	w.Append("request", func(out []byte) ([]byte, error) {
		w := strictjson.NewWriter(out)
		w.Text("party", r.Question.Party)
		w.Text("action", r.Question.Action)
		w.Text("target", r.Question.Target)
		w.Object("context", r.Question.Context)
		return w.End()
	})
	w.Append("world", func(out []byte) ([]byte, error) {
		w := strictjson.NewWriter(out)
		w.Time("currentTime", r.World.Now.UTC())
		if len(r.World.PartOf) > 0 {
			w.Append("partOf", r.World.appendMemberships)
		}
		return w.End()
	})
	w.Text("dutyMode", string(r.DutyMode))
	return w.End()
}

func (s *WorldState) appendMemberships(out []byte) ([]byte, error) {
	for i, m := range s.PartOf {
		w := strictjson.NewWriter(append(out, "[,"[min(i, 1)]))
		w.Text("member", m.Member)
		w.Text("collection", m.Collection)
		var err error
		if out, err = w.End(); err != nil {
			return out, err
		}
	}
	return append(out, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Reproduction) UnmarshalJSON(data []byte) error {
	var parts struct {
		Request  json.RawMessage `json:"request"`
		World    json.RawMessage `json:"world"`
		DutyMode DutyMode        `json:"dutyMode"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	question, err := ParseQuestion(parts.Request, false)
	if err != nil {
		return err
	}
	world, err := ParseWorldState(parts.World)
	if err != nil {
		return err
	}
	*r = Reproduction{question, world, parts.DutyMode}
	return nil
}
