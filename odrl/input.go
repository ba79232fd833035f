package odrl

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Keys of the input document, made once.
var (
	keyTargets = ast.InternedTerm("targets")
	keyParties = ast.InternedTerm("parties")
	keyFacts   = ast.InternedTerm("facts")
	keyProof   = ast.InternedTerm("proof")
	keyAgent   = ast.InternedTerm("agent")

	keyEveryone = ast.StringTerm(everyone)
)

// A request is what is asked of a policy: the fields are those of odrl.Request.
type request struct {
	AgentID  string
	KeyID    string
	AgentKey []byte
	ProofKey []byte
	Intent   string
	Now      time.Time
	Facts    map[string]any
}

// inputs turn requests to one policy into the values that its rules read.
type inputs struct {
	targets map[string]*ast.Term // UID → names of the targets that hold it
	agents  map[string][]agentTerm
	slots   []policySlot
}

type agentTerm struct {
	agentName
	term *ast.Term
}

func newInputs(p *program) *inputs {
	in := &inputs{targets: make(map[string]*ast.Term, len(p.targets)), agents: make(map[string][]agentTerm, len(p.agents))}
	terms := map[string]*ast.Term{}
	for uid, names := range p.targets {
		list := make([]*ast.Term, len(names))
		for i, name := range names {
			if terms[name] == nil {
				terms[name] = ast.StringTerm(name)
			}
			list[i] = terms[name]
		}
		in.targets[uid] = ast.ArrayTerm(list...)
	}
	for agent, names := range p.agents {
		for _, name := range names {
			in.agents[agent] = append(in.agents[agent], agentTerm{name, ast.StringTerm(name.iri)})
		}
	}
	for _, s := range p.slots {
		in.slots = append(in.slots, policySlot{s, ast.StringTerm(s.key())})
	}
	return in
}

// document is the request as semantics.rego reads it, built as OPA's own values: converting a Go map
// would cost more than the decision. open leaves the clock and the proof out. It is nil where no rule is about the intent.
func (in *inputs) document(r *request, open bool) ast.Value {
	targets := in.targets[r.Intent]
	if targets == nil {
		return nil
	}
	o := ast.NewObjectWithCapacity(5)
	o.Insert(keyTargets, targets)
	o.Insert(keyParties, in.partiesOf(r))
	o.Insert(keyFacts, ast.NewTerm(in.facts(r, open)))
	if !open && len(r.ProofKey) > 0 {
		o.Insert(keyProof, keyTerm(r.ProofKey))
	}
	if len(r.AgentKey) > 0 {
		o.Insert(keyAgent, keyTerm(r.AgentKey))
	}
	return o
}

func keyTerm(der []byte) *ast.Term { return ast.StringTerm(base64.StdEncoding.EncodeToString(der)) }

// partiesOf are the IRIs of the policy that name this agent, and everyone.
func (in *inputs) partiesOf(r *request) *ast.Term {
	list := []*ast.Term{keyEveryone}
	for _, party := range in.agents[r.AgentID] {
		if party.keyID == "" || party.keyID == r.KeyID {
			list = append(list, party.term)
		}
	}
	return ast.ArrayTerm(list...)
}

// facts fills the slots that the policy reads. What is missing, or not of the slot's kind, is left out
// and so unknown.
func (in *inputs) facts(r *request, open bool) ast.Object {
	o := ast.NewObjectWithCapacity(len(in.slots))
	for i := range in.slots {
		s := &in.slots[i]
		if t := s.fact(r, open); t != nil {
			o.Insert(s.term, t)
		}
	}
	return o
}

type policySlot struct {
	factSlot
	term *ast.Term
}

func (s *policySlot) fact(r *request, open bool) *ast.Term {
	v := s.read(&frame{}, r, open)
	if v.kind == undefined {
		return nil
	}
	return v.term()
}

func intTerm(n int64) *ast.Term {
	return ast.NewTerm(ast.Number(json.Number(strconv.FormatInt(n, 10))))
}

func sinceMidnight(t time.Time) int64 {
	t = t.UTC()
	return int64(t.Sub(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)))
}
