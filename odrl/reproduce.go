package odrl

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A Reproduction is a Request to a published policy, written so that the policy's document alone answers it: to Load and
// Evaluate, and so to uimgate policy decide and to plain OPA, of which none has the gateway's intents, hosts and
// agents. As JSON it is a line of policy decide --batch without its policy.
type Reproduction struct {
	Question Question
	World    WorldState
	// DutyMode is DutiesNotViolated: the gateway sees to what is owed for a call as it makes it. What only the agent can
	// do, sign, is asked for in either mode.
	DutyMode DutyMode
}

// Reproduce returns what Decide was asked, in the names of the policy. facts are those of the Decision, which the policy
// read; they are not changed.
func (p *Policy) Reproduce(r Request, facts map[string]any) Reproduction {
	context := make(map[string]any, len(facts)+1)
	maps.Copy(context, facts)
	delete(context, "dateTime") // it is the world's
	if len(r.ProofKey) > 0 {
		context["publicKey"] = rules.KeyText(r.ProofKey)
	}
	out := Reproduction{
		Question: Question{Party: r.AgentID, Action: "execute", Target: r.Intent, Context: context},
		World:    WorldState{Now: r.Now}, DutyMode: DutiesNotViolated,
	}
	for _, iri := range p.program.Spelling.Wholes(r.Intent) {
		out.World.PartOf = append(out.World.PartOf, Membership{r.Intent, iri})
	}
	for _, iri := range p.program.Spelling.Names(r.AgentID, r.KeyID) {
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
	}{request{r.Question.Party, r.Question.Action, r.Question.Target, r.Question.Context}, world{
		r.World.Now.UTC(),
		r.World.PartOf,
	}, r.DutyMode})
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
