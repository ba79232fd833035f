package odrl

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A Reproduction is a Request to a published policy, rewritten so that the policy's document is enough to decide it. Load and Evaluate, and
// therefore uimgate policy decide and plain OPA, do not have the gateway's intents, hosts and agents. Its JSON form is a line for policy
// decide --batch without the policy.
type Reproduction struct {
	Question Question
	World    WorldState
	// DutyMode is DutiesNotViolated, because the gateway fulfils the duties of a call while it makes the call. A signature, which only the
	// agent can provide, is required in either mode.
	DutyMode DutyMode
}

// Reproduce returns the Reproduction of a Request that Decide decided, in the names that the policy uses. facts are the Facts of that
// Decision. Reproduce does not modify facts, but its result may share them. The policy must be one from Publish.
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

// Request returns the Request that was reproduced, for any published policy. It has no KeyID, and no AgentKey unless the call had a proof.
func (r *Reproduction) Request() Request {
	q := Request{AgentID: r.Question.Party, Intent: r.Question.Target, Now: r.World.Now, Facts: r.Question.Context}
	text, proved := q.Facts[keyFact].(string)
	if !proved {
		return q
	}
	q.Facts = maps.Clone(q.Facts)
	delete(q.Facts, keyFact)
	if key, ok := rules.ParseKey(text); ok {
		q.AgentKey, q.ProofKey = key, key
	}
	return q
}

// keyFact is the fact in which a Question has the key of the proof.
const keyFact = "publicKey"

// wholesOf returns the targets that contain an intent, as memberships. The result must not be modified.
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

// contextOf returns the facts of a question: without the time, which belongs to the WorldState, and with the key of the proof. If there is
// neither, it returns facts itself.
func contextOf(r Request, facts map[string]any) map[string]any {
	const moment, key = "dateTime", keyFact
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

// MarshalJSON encodes the members request, world and dutyMode, in the forms that ParseQuestion and ParseWorldState accept.
func (r Reproduction) MarshalJSON() ([]byte, error) {
	return r.AppendJSON(nil)
}

// AppendJSON appends the encoding of MarshalJSON to out.
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

// UnmarshalJSON decodes the encoding of MarshalJSON.
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
