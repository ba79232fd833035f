package odrl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// explain words why no permission applies: the constraints of the one that came closest. It has what
// the policy asks for, never the values that were given.
func (p *Policy) explain(o ast.Object, d *Decision) error {
	d.Reason, d.Detail = reason.PolicyNotApplicable, "no permission of the policy covers this intent for this agent"
	unsigned, err := rules.NumbersIn(o, "unsigned")
	if err != nil {
		return err
	}
	failing := map[int][]string{}
	if t := o.Get(ast.InternedTerm("unsatisfied")); t != nil {
		if set, ok := t.Value.(ast.Set); ok {
			for _, pair := range set.Slice() {
				n, id, ok := pairOf(pair)
				if !ok {
					return rules.ErrUndefined
				}
				failing[n] = append(failing[n], id)
			}
		}
	}
	for _, n := range sortedNumbers(unsigned) {
		if r, ok := p.program.Rules[n]; ok && len(failing[n]) == 0 {
			d.Reason, d.Rule, d.Detail = reason.PolicyRequiresVerification, r.Node.Name(), proofDetail
			return nil
		}
	}
	closest := 0
	for n, ids := range failing {
		switch {
		case closest == 0, len(ids) < len(failing[closest]), len(ids) == len(failing[closest]) && n < closest:
			closest = n
		}
	}
	if r, ok := p.program.Rules[closest]; ok {
		d.Rule, d.Detail = r.Node.Name(), p.asks(failing[closest])
	}
	return nil
}

func pairOf(t *ast.Term) (int, string, bool) {
	a, ok := t.Value.(*ast.Array)
	if !ok || a.Len() != 2 {
		return 0, "", false
	}
	num, ok := a.Elem(0).Value.(ast.Number)
	if !ok {
		return 0, "", false
	}
	n, ok := num.Int()
	id, ok2 := a.Elem(1).Value.(ast.String)
	return n, string(id), ok && ok2
}

func stringOf(t *ast.Term) (string, bool) {
	s, ok := t.Value.(ast.String)
	return string(s), ok
}

// asks words constraints for the agent.
func (p *Policy) asks(ids []string) string {
	var list []string
	for _, id := range ids {
		if c, ok := p.program.Nodes[id]; ok {
			list = append(list, c.String())
		}
	}
	slices.Sort(list)
	const most = 5
	if len(list) > most {
		list = append(list[:most], fmt.Sprintf("%d more", len(list)-most))
	}
	return "the closest permission asks for " + strings.Join(list, "; ")
}
