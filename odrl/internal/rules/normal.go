package rules

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A Rule is a rule in normal form: one action, one target and at most one assignee. ODRL IM 2.7.
type Rule struct {
	N        int // its number in decisions, in document order
	Kind     model.RuleKind
	Node     *model.Rule
	Action   string
	Target   *Target
	Assignee string // IRI; empty: anyone
	terms
	Limits []limit.Limit
	Duties []*Duty // of a permission; of an obligation exactly one
}

// terms are the conditions of a rule or duty in normal form.
type terms struct {
	Conditions []*model.Constraint
	Canonical  []string // their RFC 8785 forms, sorted
	conjunction
}

func (t *terms) Unconditional() bool { return len(t.Conditions) == 0 }

// A Duty is a duty under a permission or an obligation.
type Duty struct {
	N      int
	Node   *model.Rule
	Action string
	terms
	term   term
	Charge money.Amount
	Keys   []string    // of signPayload: base64 of DER SubjectPublicKeyInfo; any of them suffices
	Elided bool        // of signPayload: the agent's own key
	when   conjunction // of signPayload: conditions on facts about when it is signed; if one is unknown, a signature does not count
}

// decides reports whether the rule affects execute; the others are promises between the parties.
func (r *Rule) decides() bool {
	return r.Kind == model.Obligation || model.Includes(r.Action, "execute") || r.Exceeding()
}

// Bounds reports whether a prohibition is enforced only by counting: execute, more than N times.
func (r *Rule) Bounds() bool { return r.Kind == model.Prohibition && len(r.Limits) > 0 }

// Exceeding reports whether a prohibition forbids exceeding the limits. It never conflicts with execute.
func (r *Rule) Exceeding() bool { return r.Kind == model.Prohibition && r.Action == "exceedRateLimit" }

// A normalizer expands a document into rules.
type normalizer struct {
	*compiler
	ctx     context.Context //nolint:containedctx // the normalizer lives as long as one Publish
	w       *Catalog
	d       *model.Document
	rules   []*Rule
	parties map[string][]string // assignee IRI → the IRIs of agents that it names; none: reported, or anyone
	form    *model.NormalForm
	numbers int
	used    map[string]*Target
}

// expand carries out steps 4 and 5 of normalization: it copies the policy's shared properties into each rule, and splits each rule per
// action, target and assignee.
func (n *normalizer) expand() {
	for _, ref := range n.d.Asset {
		if _, err := n.w.resolve(ref.Name()); err != nil && !n.Problems.Full() && !n.warnRetired("asset", ref) {
			n.Problems.Errorf("target", ref.Pointer, "the asset %v", err)
		}
	}
	for _, node := range n.d.Rules {
		if n.stop(node.Pointer) {
			return
		}
		actions := node.Actions
		targets := n.targets(node)
		assignees := n.assignees(node.Parties["assignee"])
		for _, a := range actions {
			if !n.sensible(node, a) {
				continue
			}
			for _, t := range targets {
				for _, who := range assignees {
					if !n.split(node, a, t, who) {
						return
					}
				}
			}
		}
	}
}

func (n *normalizer) split(node *model.Rule, a model.Action, t *Target, assignee string) bool {
	n.numbers++
	if n.numbers > model.MaxRules {
		n.Problems.Errorf("too-large", node.Pointer, "the policy expands to more than %d rules", model.MaxRules)
		return false
	}
	if n.stop(node.Pointer) {
		return false
	}
	r := &Rule{N: n.numbers, Kind: node.Kind, Node: node, Action: a.Name, Target: t, Assignee: assignee}
	n.used[t.Name] = t
	if !r.decides() {
		return true
	}
	var ok bool
	if node.Kind == model.Obligation {
		var d *Duty
		if d, ok = n.duty(node, a); ok {
			d.N, r.terms, r.Duties = r.N, d.terms, []*Duty{d}
		}
	} else {
		ok = n.conditions(r, slices.Concat(node.Constraints, a.Refinements))
	}
	for _, child := range node.Duties {
		if !n.childDuties(r, child) {
			ok = false
		}
	}
	if ok {
		n.rules = append(n.rules, r)
	}
	return !n.Problems.Full() && n.conditioned <= model.MaxConstraints
}

// stop reports whether expanding should end: the caller has given up, or there are enough problems already.
func (n *normalizer) stop(pointer string) bool {
	if n.ctx.Err() != nil {
		n.Problems.Errorf("stopped", pointer, "expanding the policy was stopped")
		return true
	}
	return n.Problems.Full()
}

// sensible reports actions that cannot be enforced, and warns of those that the gateway does not see.
func (n *normalizer) sensible(node *model.Rule, a model.Action) bool {
	switch {
	case node.Kind == model.Permission && a.Name == "exceedRateLimit":
		n.Problems.Errorf("action", a.Pointer, "exceedRateLimit can only be prohibited")
	case node.Kind == model.Obligation && !slices.Contains(model.Handled, a.Name):
		n.Problems.Errorf("no-handler", a.Pointer,
			"the gateway cannot see to the duty %s: it handles pay, signPayload, attribute, inform, logUsage and acceptTracking", a.Name)
	case node.Kind == model.Obligation || model.Includes(a.Name, "execute") || a.Name == "exceedRateLimit":
		return true
	default:
		n.Problems.Warnf("unseen", a.Pointer, "the gateway decides execute alone: this %s of %s is part of the agreement and not enforced",
			node.Kind, a.Name)
		return true
	}
	return false
}

func (n *normalizer) targets(node *model.Rule) []*Target {
	var list []*Target
	seen, retired := map[string]bool{}, false
	for _, ref := range node.Targets {
		if n.Problems.Full() {
			return nil
		}
		if node.Kind == model.Obligation && n.AboutTheCall(ref.Name()) {
			continue
		}
		t, err := n.w.resolve(ref.Name())
		if err != nil {
			if n.warnRetired("target", ref) {
				retired = true
			} else {
				n.Problems.Errorf("target", ref.Pointer, "the target %v", err)
			}
			continue
		}
		if !seen[t.Name] {
			seen[t.Name] = true
			list = append(list, t)
		}
	}
	if len(list) > 0 || n.Problems.Failed() {
		return list
	}
	if node.Kind == model.Obligation && !retired {
		return []*Target{{EveryIntent, n.w.byName[EveryIntent]}}
	}
	return nil // refused before, or about nothing that can be called
}

// warnRetired warns of a name of intents that are all retired, and reports whether it is one.
func (n *normalizer) warnRetired(what string, ref model.Reference) bool {
	if !n.w.retired(ref.Name()) {
		return false
	}
	n.Problems.Warnf("retired", ref.Pointer, "the %s %s is retired: nothing follows from this; leave it out", what, model.Quote(ref.Name()))
	return true
}

// conditions sorts the constraints of a permission or prohibition into limits and conditions.
func (n *normalizer) conditions(r *Rule, list []*model.Constraint) bool {
	var rest, limits []*model.Constraint
	for _, c := range model.Flatten(list) {
		if c.Logic == "" && c.Left().Kind == model.Count && !r.Exceeding() {
			limits = append(limits, c)
			continue
		}
		rest = append(rest, c)
	}
	ok := n.terms(&r.terms, rest)
	if r.Kind == model.Prohibition && len(limits) > 1 {
		n.Problems.Errorf("limit", limits[1].Pointer, "write each limit as a prohibition of its own")
		return false
	}
	if i := slices.IndexFunc(rest, func(c *model.Constraint) bool { return c.Operand == "unitOfCount" }); i >= 0 && len(limits) > 0 {
		n.Problems.Errorf("unit-of-count", rest[i].Pointer, "the gateway counts executions: leave unitOfCount out where a limit counts")
		return false
	}
	for _, c := range limits {
		rate, good := n.rate(c, r.Kind)
		if !good {
			ok = false
			continue
		}
		r.Limits = AddLimit(r.Limits, limit.Limit{ID: limitID(r, rate.Period), Rate: rate})
	}
	return ok
}
