package plan

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// The keys of the input document.
var (
	KeyTargets = ast.InternedTerm("targets")
	KeyParties = ast.InternedTerm("parties")
	KeyFacts   = ast.InternedTerm("facts")
	KeyProof   = ast.InternedTerm("proof")
	KeyAgent   = ast.InternedTerm("agent")

	keyEveryone = ast.StringTerm(rules.Everyone)
)

// A Request is a request to a policy, with the fields of odrl.Request.
type Request struct {
	AgentID  string
	KeyID    string
	AgentKey []byte
	ProofKey []byte
	Intent   string
	Now      time.Time
	Facts    map[string]any
}

// Inputs converts requests to one policy into the values that its rules read.
type Inputs struct {
	targets map[string]*ast.Term // UID of an intent → names of the targets that contain it
	agents  map[string][]agentTerm
	Slots   []PolicySlot
}

type agentTerm struct {
	rules.AgentName
	term *ast.Term
}

// NewInputs prepares the terms of a program once for all requests.
func NewInputs(p *rules.Program) *Inputs {
	in := &Inputs{targets: make(map[string]*ast.Term, len(p.Targets)), agents: make(map[string][]agentTerm, len(p.Agents))}
	terms := map[string]*ast.Term{}
	for uid, names := range p.Targets {
		list := make([]*ast.Term, len(names))
		for i, name := range names {
			if terms[name] == nil {
				terms[name] = ast.StringTerm(name)
			}
			list[i] = terms[name]
		}
		in.targets[uid] = ast.ArrayTerm(list...)
	}
	for agent, names := range p.Agents {
		for _, name := range names {
			in.agents[agent] = append(in.agents[agent], agentTerm{name, ast.StringTerm(name.IRI)})
		}
	}
	for _, s := range p.Slots {
		in.Slots = append(in.Slots, PolicySlot{s, ast.StringTerm(s.Key())})
	}
	return in
}

// Document returns the request in the form of semantics.rego, in OPA's own values, because converting a Go map would cost more than the
// decision. If open is set, Document omits the time and the proof. It returns nil if no rule concerns the intent.
func (in *Inputs) Document(r *Request, open bool) ast.Value {
	targets := in.targets[r.Intent]
	if targets == nil {
		return nil
	}
	o := ast.NewObjectWithCapacity(5)
	o.Insert(KeyTargets, targets)
	o.Insert(KeyParties, in.partiesOf(r))
	o.Insert(KeyFacts, ast.NewTerm(in.facts(r, open)))
	if !open && len(r.ProofKey) > 0 {
		o.Insert(KeyProof, keyTerm(r.ProofKey))
	}
	if len(r.AgentKey) > 0 {
		o.Insert(KeyAgent, keyTerm(r.AgentKey))
	}
	return o
}

func keyTerm(der []byte) *ast.Term { return ast.StringTerm(base64.StdEncoding.EncodeToString(der)) }

// partiesOf returns the policy's IRIs of the agent, and the party that means everyone.
func (in *Inputs) partiesOf(r *Request) *ast.Term {
	list := []*ast.Term{keyEveryone}
	for _, party := range in.agents[r.AgentID] {
		if party.KeyID == "" || party.KeyID == r.KeyID {
			list = append(list, party.term)
		}
	}
	return ast.ArrayTerm(list...)
}

// facts returns the facts for the slots that the policy reads. It omits a fact that is missing or not of the slot's kind, which is then
// unknown.
func (in *Inputs) facts(r *Request, open bool) ast.Object {
	o := ast.NewObjectWithCapacity(len(in.Slots))
	for i := range in.Slots {
		s := &in.Slots[i]
		if t := s.fact(r, open); t != nil {
			o.Insert(s.Term, t)
		}
	}
	return o
}

// A PolicySlot is a slot that the policy reads, with its key in the input document.
type PolicySlot struct {
	rules.FactSlot
	Term *ast.Term
}

func (s *PolicySlot) fact(r *Request, open bool) *ast.Term {
	v := s.read(&Frame{}, r, open)
	if v.kind == undefined {
		return nil
	}
	return v.term()
}

// IntTerm returns n as OPA's own value.
func IntTerm(n int64) *ast.Term {
	return ast.NewTerm(ast.Number(json.Number(strconv.FormatInt(n, 10))))
}

func sinceMidnight(t time.Time) int64 {
	t = t.UTC()
	return int64(t.Sub(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)))
}
