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

// input is the request as semantics.rego reads it, built as OPA's own values: converting a Go map
// would cost more than the decision. open leaves the clock and the proof out.
func (p *Policy) input(r Request, targets *ast.Term, open bool) ast.Value {
	o := ast.NewObjectWithCapacity(5)
	o.Insert(keyTargets, targets)
	o.Insert(keyParties, p.partiesOf(r))
	o.Insert(keyFacts, ast.NewTerm(p.facts(r, open)))
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
func (p *Policy) partiesOf(r Request) *ast.Term {
	list := []*ast.Term{keyEveryone}
	for _, party := range p.agents[r.AgentID] {
		if party.keyID == "" || party.keyID == r.KeyID {
			list = append(list, party.iri)
		}
	}
	return ast.ArrayTerm(list...)
}

// facts fills the slots that the policy reads. What is missing, or not of the slot's kind, is left out
// and so unknown.
func (p *Policy) facts(r Request, open bool) ast.Object {
	o := ast.NewObjectWithCapacity(len(p.slots))
	for i := range p.slots {
		s := &p.slots[i]
		if t := s.fact(r, open); t != nil {
			o.Insert(s.term, t)
		}
	}
	return o
}

type policySlot struct {
	slot
	kind  kind
	term  *ast.Term
	reads func(any) (any, bool) // of numbers, durations and events
}

func (s *policySlot) fact(r Request, open bool) *ast.Term {
	v := s.read(&frame{}, &r, open)
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

// factList is the values of one fact; false where there are none, or too many.
func factList(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, len(v) > 0 && len(v) <= maxFacts
	case []string:
		return anys(v), len(v) > 0 && len(v) <= maxFacts
	default:
		return []any{v}, true
	}
}
