package odrl

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A verdict is the result of report.rego.
type verdict struct {
	e      *rules.Evaluable
	p      *Policy
	s      *situation
	ruling string                  // permit, conflict, unmet, prohibited or none
	sets   map[string]map[int]bool // the numbers of the entries in each set of the result
	// premise has the keys of premiseKey; holds and fails have the ids of constraints.
	premise map[string]bool
	holds   map[string]bool
	fails   map[string]bool
}

func (v *verdict) read(o ast.Object) error {
	v.sets = map[string]map[int]bool{}
	for _, name := range []string{
		"active", "permitting", "prohibiting", "bounding", "unmet", "fulfilled", "violated", "infringed", "due",
		"blocking", "late",
	} {
		set, err := rules.NumbersIn(o, name)
		if err != nil {
			return err
		}
		for n := range set {
			if n < 0 || n >= len(v.e.Entries) {
				return rules.ErrUndefined
			}
		}
		v.sets[name] = set
	}
	t := o.Get(ast.InternedTerm("ruling"))
	if t == nil {
		return rules.ErrUndefined
	}
	v.ruling, _ = stringOf(t)
	if needs := map[string]string{
		"permit": "permitting", "conflict": "prohibiting", "prohibited": "prohibiting",
		"unmet": "unmet",
	}[v.ruling]; needs != "" && len(v.sets[needs]) == 0 {
		return rules.ErrUndefined
	}
	var err error
	for name, into := range map[string]*map[string]bool{"premise": &v.premise, "holds": &v.holds, "fails": &v.fails} {
		if *into, err = textsIn(o, name); err != nil {
			return err
		}
	}
	return nil
}

// textsIn reads a set whose elements are strings, or pairs of a number and a string.
func textsIn(o ast.Object, key string) (map[string]bool, error) {
	set, err := rules.SetIn(o, key)
	if err != nil {
		return nil, err
	}
	list := make(map[string]bool, set.Len())
	for _, member := range set.Slice() {
		if s, ok := member.Value.(ast.String); ok {
			list[string(s)] = true
			continue
		}
		n, s, ok := pairOf(member)
		if !ok {
			return nil, rules.ErrUndefined
		}
		list[premiseKey(n, s)] = true
	}
	return list, nil
}

func premiseKey(n int, part string) string { return fmt.Sprint(n, " ", part) }

// in lists the entries of a set in document order.
func (v *verdict) in(set string) []*rules.Entry {
	var list []*rules.Entry
	for _, n := range sortedNumbers(v.sets[set]) {
		list = append(list, v.e.Entries[n])
	}
	return list
}

func (v *verdict) evaluation() Evaluation {
	ev := Evaluation{Rules: v.report()}
	unmet := v.in("unmet")
	best := v.options(v.in("permitting"))
	ev.Duties = v.owed(best, unmet)
	switch v.ruling {
	case "conflict":
		x := v.in("prohibiting")[0]
		ev.deny(reason.PolicyConflict, x, "the policy both permits and prohibits this"+v.uncounted(x, conditionsOf(x)...))
	case "unmet":
		why, detail := v.unmetReason(unmet[0])
		ev.deny(why, unmet[0], detail)
		ev.Charges = v.charges(unmet)
	case "prohibited":
		x := v.in("prohibiting")[0]
		ev.deny(reason.PolicyViolation, x, "the policy prohibits this"+v.uncounted(x, conditionsOf(x)...))
	case "permit":
		ev.Permit, ev.Rule = true, best[0].x.Node.Name()
		ev.Limits, ev.Charges = best[0].limits, best[0].charges
		for _, c := range best {
			ev.Candidates = append(ev.Candidates, c.x.Node.Name())
		}
	default:
		v.closest(&ev)
	}
	return ev
}

func (ev *Evaluation) deny(why reason.Reason, x *rules.Entry, detail string) {
	ev.Reason, ev.Detail = why, detail
	if x != nil {
		ev.Rule = x.Node.Name()
	}
}

func (v *verdict) unmetReason(x *rules.Entry) (why reason.Reason, detail string) {
	why, detail = reason.PolicyRequiresVerification, "an obligation of the policy is not met"
	if pays(x) && !signs(x) {
		why, detail = reason.PolicyRequiresPayment, "the policy requires a payment first"
	}
	if v.sets["late"][x.N] {
		detail = lateDetail
	}
	return why, detail
}

func pays(x *rules.Entry) bool { return x.Node.Does("compensate") }

func signs(x *rules.Entry) bool { return x.Node.Does("signPayload") }
