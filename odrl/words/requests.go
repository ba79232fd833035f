package words

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

const (
	// maxRequests is the maximum number of requests for which both policies are evaluated. Each takes about a millisecond per policy.
	maxRequests = 1000
	// maxMatches is the maximum number of times that a rule is compared with a matter.
	maxMatches = 5_000_000
	// maxHeld is the maximum number of times that a fact is tested against a condition.
	maxHeld = 200_000
	// fewRules is the number of rules and constraints up to which a request has the usual cost. For larger policies the cost grows with the
	// square of their number.
	fewRules = 20
)

// someDay is an arbitrary time, for requests whose time does not matter.
var someDay = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A request is evaluated under both policies.
type request struct {
	question odrl.Question
	now      time.Time
	signed   bool // the party has signed the request
}

// world returns the state of the world for the request, under a policy with these duties to sign.
func (r request) world(toSign []string) odrl.WorldState {
	w := odrl.WorldState{Now: r.now}
	if r.signed {
		w.Done = []odrl.Act{{Party: r.question.Party, Action: "signPayload", Target: r.question.Target, At: r.now}}
		for _, name := range toSign {
			w.Reports = append(w.Reports, odrl.DutyReport{Rule: name, Performance: "Performed"})
		}
	}
	return w
}

// worldDone returns the state of the world after the party has performed the action, regardless of the decision.
func (r request) worldDone(toSign []string) odrl.WorldState {
	if r.now.IsZero() { // an action at an unknown time may still be in the future
		r.now = someDay
	}
	w := r.world(toSign)
	q := r.question
	w.Done = append(w.Done, odrl.Act{Party: q.Party, Action: q.Action, Target: q.Target, At: r.now, Context: q.Context})
	return w
}

// An asker generates requests that two policies may decide differently.
type asker struct {
	forms   [2]*model.NormalForm
	canon   canon
	partial bool   // some relevant requests are left out
	bound   string // the bound that was reached
	weight  int    // cost of a request, as a multiple of the usual cost
	held    int    // how often a fact may still be tested against a condition
}

// bounded records that a bound was reached.
func (a *asker) bounded(format string, args ...any) {
	a.partial = true
	if a.bound == "" {
		a.bound = fmt.Sprintf(format, args...)
	}
}

func newAsker(from, to *model.NormalForm) asker {
	a := asker{
		forms: [2]*model.NormalForm{from, to}, canon: canon{map[*model.Atom]string{}, map[*model.Rule]string{}}, held: maxHeld,
	}
	for _, f := range a.forms {
		size := 0
		for _, rule := range f.Rules {
			eachConstraint(rule, func(*model.Constraint) { size++ })
		}
		size = (len(f.Rules) + size) / fewRules
		a.weight = max(a.weight, 1+size+size*size/4)
	}
	return a
}

// A matter is a party, an action and a target.
type matter struct{ party, action, target string }

// requests returns all relevant requests, within the bound.
func (a *asker) requests() iter.Seq[request] {
	return func(yield func(request) bool) {
		most := max(maxRequests/a.weight, 1)
		left := most
		for m, rules := range a.matters() {
			if left == 0 {
				a.tooMany(most)
				return
			}
			spread := newAxes(rules, a)
			a.partial = a.partial || spread.unread
			if spread.count() > left {
				a.tooMany(most)
			}
			for r := range spread.requests(m, left) {
				left--
				if !yield(r) {
					return
				}
			}
		}
	}
}

// tooMany records that there are more requests than maxCount, the number of requests that are evaluated for policies of this size.
func (a *asker) tooMany(maxCount int) {
	if maxCount == maxRequests {
		a.bounded("both policies are evaluated for at most %d requests", maxCount)
		return
	}
	a.bounded("policies with so many rules and conditions are evaluated for at most %d of %d requests", maxCount, maxRequests)
}

// matters returns combinations of party, action and target with the rules about them: one for each distinct set of rules. It skips a
// combination if both policies have equal rules about it, and equal rules have equal results.
func (a *asker) matters() iter.Seq2[matter, []*model.Atom] {
	return func(yield func(matter, []*model.Atom) bool) {
		names := [2]*coverage{newCoverage(a.forms[0]), newCoverage(a.forms[1])}
		parties, actions, targets := a.named()
		seen, work := map[string]bool{}, 0
		alike := a.alike()
		for _, action := range actions {
			for _, target := range targets {
				for _, party := range parties {
					m := matter{party, action, target}
					if work += len(a.forms[0].Rules) + len(a.forms[1].Rules); work > maxMatches {
						a.bounded("rules are matched with combinations of party, action and target at most %d times", maxMatches)
						return
					}
					before, after := names[0].rules(m), names[1].rules(m)
					texts := [2]string{list(canonicals(before, a.canon.of)), list(canonicals(after, a.canon.of))}
					key := sequence(texts[:])
					if seen[key] || alike && texts[0] == texts[1] {
						continue
					}
					seen[key] = true
					if !yield(m, slices.Concat(before, after)) {
						return
					}
				}
			}
		}
	}
}

// alike reports whether equal rules have equal results under both policies.
func (a *asker) alike() bool {
	from, to := a.forms[0], a.forms[1]
	return from.Strategy() == to.Strategy() && from.Grants() == to.Grants() && from.ReplacedBy == to.ReplacedBy &&
		sameFacts(from.Facts, to.Facts)
}

// named returns the parties, actions and targets that either policy names, and one of each that neither names: an empty string for the
// party and the target, and for the action another kind of use.
func (a *asker) named() (parties, actions, targets []string) {
	put := func(list *[]string, names ...string) {
		for _, name := range names {
			if name != "" && !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	}
	for _, f := range a.forms {
		for _, r := range f.Rules {
			if r.Action != nil {
				put(&actions, r.Action.Name)
			}
			if r.Target != nil {
				put(&targets, r.Target.Name(), r.Target.Source)
			}
			if who := r.Parties["assignee"]; who != nil {
				put(&parties, who.Name(), who.Source)
			}
		}
		for _, member := range model.SortedKeys(f.Facts.PartOf) {
			if slices.ContainsFunc(f.Facts.Collections(member), func(s string) bool { return slices.Contains(targets, s) }) {
				put(&targets, member)
			}
			if slices.ContainsFunc(f.Facts.Collections(member), func(s string) bool { return slices.Contains(parties, s) }) {
				put(&parties, member)
			}
		}
		put(&actions, model.SortedKeys(f.Facts.IncludedIn)...)
	}
	for _, other := range []string{"display", "print", "present", "stream"} {
		if !slices.Contains(actions, other) {
			put(&actions, other)
			break
		}
	}
	return append(parties, ""), actions, append(targets, "")
}

// A coverage finds the rules of a policy about a matter.
type coverage struct {
	form    *model.NormalForm
	actions map[string][]string // for each action, the actions that cover it
	things  map[string][]string // for each party or target, the names that cover it
}

func newCoverage(f *model.NormalForm) *coverage {
	return &coverage{f, map[string][]string{}, map[string][]string{}}
}

// rules returns the rules that may concern a matter. An obligation may concern every action and target.
func (c *coverage) rules(m matter) []*model.Atom {
	acts, ok := c.actions[m.action]
	if !ok {
		for _, a := range append(c.form.Facts.Implied(m.action), m.action) {
			acts = append(acts, c.form.Facts.Broader(a)...)
		}
		c.actions[m.action] = acts
	}
	party, target := c.names(m.party), c.names(m.target)
	fits := func(ref *model.Reference, names []string) bool {
		return ref == nil || slices.Contains(names, ref.Name()) || ref.Source != "" && slices.Contains(names, ref.Source)
	}
	var list []*model.Atom
	for _, r := range c.form.Rules {
		about := r.Kind == model.Obligation || (r.Action == nil || slices.Contains(acts, r.Action.Name)) && fits(r.Target, target)
		if about && fits(r.Parties["assignee"], party) {
			list = append(list, r)
		}
	}
	return list
}

func (c *coverage) names(of string) []string {
	known, ok := c.things[of]
	if !ok {
		known = c.form.Facts.Collections(of)
		for _, name := range known {
			for _, class := range c.form.Facts.Instances[name] {
				known = append(known, c.form.Facts.Collections(class)...)
			}
		}
		c.things[of] = known
	}
	return known
}

// eachConstraint calls visit for every constraint of a rule and of its duties, and for the operands instead of a logical constraint.
func eachConstraint(a *model.Atom, visit func(*model.Constraint)) {
	var logical func(list []*model.Constraint)
	logical = func(list []*model.Constraint) {
		for _, c := range list {
			if c.Logic != "" {
				logical(c.Operands)
				continue
			}
			visit(c)
		}
	}
	logical(a.Constraints)
	logical(refinementsOf(a))
	if a.Target != nil {
		logical(a.Target.Refinements)
	}
	for _, who := range a.Parties {
		logical(who.Refinements)
	}
	for _, children := range [][]*model.Atom{a.Duties, a.Remedies, a.Consequence} {
		for _, child := range children {
			eachConstraint(child, visit)
		}
	}
}
