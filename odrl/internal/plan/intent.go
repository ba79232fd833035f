package plan

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxSelected is the maximum number of entries that are selected for intents. Beyond it, an intent evaluates all entries.
const maxSelected = 1 << 19

// intents selects the entries that concern the targets of each intent. The targets are known before any request, and most rules of a large
// policy are about other targets.
func (x *formulaReader) intents(sets []planSet, targets map[string]*ast.Term) map[string]*planIntent {
	outcome, reasons := x.selector(sets, "outcome"), x.selector(sets, "reasons")
	m := make(map[string]*planIntent, len(targets))
	same := map[string]*planIntent{} // by targets
	kept := 0
	for uid, list := range targets {
		key := list.String()
		of, ok := same[key]
		if !ok {
			names, _ := valueOf(list.Value)
			of = &planIntent{targets: names, Outcome: outcome.entries, Reasons: reasons.entries}
			if kept <= maxSelected {
				of.Outcome, of.Reasons = outcome.of(names), reasons.of(names)
				kept += len(of.Outcome) + len(of.Reasons)
			}
			same[key] = of
		}
		in := *of
		in.version = versionFact(uid)
		m[uid] = &in
	}
	return m
}

// A selector finds the entries that concern a target.
type selector struct {
	entries  []planEntry      // those of all targets, in order
	reduced  []planEntry      // the same entries without the condition on the target
	byTarget map[string][]int // name of a target → indexes of its entries
	others   []int            // indexes of the entries that are not bound to one target
}

func (x *formulaReader) selector(sets []planSet, answer string) *selector {
	s := &selector{byTarget: map[string][]int{}}
	for i := range sets {
		if sets[i].answer == answer {
			s.entries = append(s.entries, sets[i].entries...)
		}
	}
	for i, e := range s.entries {
		kids := []*formula{e.when}
		if e.when.op == fAll {
			kids = e.when.kids
		}
		at := slices.IndexFunc(kids, x.aboutTarget)
		if at < 0 {
			s.others = append(s.others, i)
			s.reduced = append(s.reduced, e)
			continue
		}
		name := kids[at].a.v.s
		s.byTarget[name] = append(s.byTarget[name], i)
		s.reduced = append(s.reduced, planEntry{e.bit, x.all(slices.Delete(slices.Clone(kids), at, at+1)...)})
	}
	return s
}

// aboutTarget reports whether the formula requires one target by name.
func (x *formulaReader) aboutTarget(f *formula) bool {
	return f.op == fMember && f.a.op == eConstant && f.a.v.kind == aText && f.b.op == eSlot && x.slots[f.b.n] == planSlot{root: "targets"}
}

// of returns the entries that concern one of these targets, in order.
func (s *selector) of(targets value) []planEntry {
	places := slices.Clone(s.others)
	for i := range targets.list {
		places = append(places, s.byTarget[targets.list[i].s]...)
	}
	slices.Sort(places)
	out := make([]planEntry, 0, len(places))
	for _, i := range slices.Compact(places) {
		out = append(out, s.reduced[i])
	}
	return out
}
