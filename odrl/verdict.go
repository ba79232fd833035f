package odrl

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A verdict is what Rego found, by entry.
type verdict struct {
	e      *evaluable
	p      *Policy
	s      *situation
	ruling string // permit, conflict, unmet, prohibited or none
	sets   map[string]map[int]bool
	// by entry and part
	premise map[string]bool
	holds   map[string]bool
	fails   map[string]bool
}

func (v *verdict) read(o ast.Object) error {
	v.sets = map[string]map[int]bool{}
	for _, name := range []string{"active", "permitting", "prohibiting", "bounding", "unmet", "fulfilled", "violated", "infringed", "due", "blocking"} {
		set, err := numbersIn(o, name)
		if err != nil {
			return err
		}
		for n := range set {
			if n < 0 || n >= len(v.e.entries) {
				return errUndefined
			}
		}
		v.sets[name] = set
	}
	t := o.Get(ast.InternedTerm("ruling"))
	if t == nil {
		return errUndefined
	}
	v.ruling, _ = stringOf(t)
	if needs := map[string]string{"permit": "permitting", "conflict": "prohibiting", "prohibited": "prohibiting", "unmet": "unmet"}[v.ruling]; needs != "" && len(v.sets[needs]) == 0 {
		return errUndefined
	}
	var err error
	for name, into := range map[string]*map[string]bool{"premise": &v.premise, "holds": &v.holds, "fails": &v.fails} {
		if *into, err = textsIn(o, name); err != nil {
			return err
		}
	}
	return nil
}

// textsIn reads a set of texts, or of pairs of a number and a text.
func textsIn(o ast.Object, key string) (map[string]bool, error) {
	set, err := setIn(o, key)
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
			return nil, errUndefined
		}
		list[premiseKey(n, s)] = true
	}
	return list, nil
}

func premiseKey(n int, part string) string { return fmt.Sprint(n, " ", part) }

// in lists the entries of a set in document order.
func (v *verdict) in(set string) []*entry {
	var list []*entry
	for _, n := range sortedNumbers(v.sets[set]) {
		list = append(list, v.e.entries[n])
	}
	return list
}

func (v *verdict) evaluation() Evaluation {
	ev := Evaluation{Rules: v.report()}
	unmet := v.in("unmet")
	best := v.rank(v.in("permitting"))
	ev.Duties = v.owed(best, unmet)
	switch v.ruling {
	case "conflict":
		ev.deny(PolicyConflict, v.in("prohibiting")[0], "the policy both permits and prohibits this")
	case "unmet":
		reason, detail := unmetReason(unmet[0])
		ev.deny(reason, unmet[0], detail)
		ev.Charges = v.charges(unmet)
	case "prohibited":
		ev.deny(PolicyViolation, v.in("prohibiting")[0], "the policy prohibits this")
	case "permit":
		ev.Permit, ev.Rule = true, best[0].x.node.name()
		ev.Limits, ev.Charges = best[0].limits, best[0].charges
		for _, c := range best {
			ev.Candidates = append(ev.Candidates, c.x.node.name())
		}
	default:
		v.closest(&ev)
	}
	return ev
}

func (ev *Evaluation) deny(reason Reason, x *entry, detail string) {
	ev.Reason, ev.Detail = reason, detail
	if x != nil {
		ev.Rule = x.node.name()
	}
}

func unmetReason(x *entry) (Reason, string) {
	if x.pays() {
		return PolicyRequiresPayment, "the policy asks for a payment first"
	}
	return PolicyRequiresVerification, "an obligation of the policy is not met"
}

func (x *entry) pays() bool {
	return slices.ContainsFunc(x.node.actions, func(a actionNode) bool { return a.name == "compensate" })
}

func (x *entry) signs() bool {
	return slices.ContainsFunc(x.node.actions, func(a actionNode) bool { return a.name == "signPayload" })
}
