package odrl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// explain sets the Reason, the Detail and the Rule of d when no permission applies. If a permission waits only for a signature, or for a
// duty whose deadline has passed, explain reports that permission; otherwise it reports the permission with the fewest unsatisfied
// constraints. Detail contains the requirements of the policy, never the values of facts.
func (p *Policy) explain(o ast.Object, d *Decision) error {
	d.Reason, d.Detail = reason.PolicyNotApplicable, "no permission of the policy covers this intent for this agent"
	unsigned, err := rules.NumbersIn(o, "unsigned")
	if err != nil {
		return err
	}
	failing, err := pairsIn(o, "unsatisfied")
	if err != nil {
		return err
	}
	late, err := pairsIn(o, "late")
	if err != nil {
		return err
	}
	waiting := maps.Clone(unsigned)
	for n := range late {
		waiting[n] = true
	}
	for _, n := range sortedNumbers(waiting) {
		if r, ok := p.program.Rules[n]; ok && len(failing[n]) == 0 {
			d.Rule = r.Node.Name()
			d.Reason, d.Detail = waits(unsigned[n], late[n])
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

// waits returns the reason and the detail for a permission that waits for a duty. unsigned reports that a signature is missing, and late
// lists the actions of the duties whose deadline has passed.
func waits(unsigned bool, late []string) (why reason.Reason, detail string) {
	why, detail = reason.PolicyNotApplicable, proofDetail
	if len(late) > 0 {
		detail = lateDetail
	}
	switch {
	case unsigned || slices.Contains(late, "signPayload"):
		why = reason.PolicyRequiresVerification
	case slices.Contains(late, "compensate"):
		why = reason.PolicyRequiresPayment
	}
	return why, detail
}

// pairsIn reads the set of pairs of a rule number and a string under key, and returns the strings by rule.
func pairsIn(o ast.Object, key string) (map[int][]string, error) {
	set, err := rules.SetIn(o, key)
	if err != nil {
		return nil, err
	}
	m := map[int][]string{}
	for _, pair := range set.Slice() {
		n, s, ok := pairOf(pair)
		if !ok {
			return nil, rules.ErrUndefined
		}
		m[n] = append(m[n], s)
	}
	return m, nil
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

// asks describes the constraints with the given ids to the agent, at most five of them.
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
	return "the closest permission requires " + strings.Join(list, "; ")
}
