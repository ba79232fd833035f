package rules

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A Rule is a rule in normal form: it has one action, one target and at most one assignee. See ODRL IM, section 2.7.
type Rule struct {
	N        int // its number in decisions, in document order
	Kind     model.RuleKind
	Node     *model.Rule
	Action   string
	Target   *Target
	Assignee string // IRI; empty means anyone
	terms
	Limits []limit.Limit
	Duties []*Duty  // those of a permission; an obligation has exactly one
	Plans  []string // the plans that a permission belongs to, sorted; nil: it applies under every plan, and without one
	beside []string // see besidePlans; set if the policy has plans
}

// terms are the conditions of a rule or duty in normal form.
type terms struct {
	Conditions []*model.Constraint
	Canonical  []string // their RFC 8785 forms, sorted
	conjunction
}

func (t *terms) Unconditional() bool { return len(t.Conditions) == 0 }

// A Duty is a duty of a permission, or an obligation.
type Duty struct {
	N      int
	Node   *model.Rule
	Action string
	terms
	term   term
	Charge money.Amount
	Keys   []string    // for signPayload: base64 of DER SubjectPublicKeyInfo; any of them suffices
	Elided bool        // for signPayload: the key is the agent's own
	when   conjunction // for signPayload: conditions on when the agent signs; if one is unknown, the signature does not count
}

// decides reports whether the rule affects decisions about execute. All other rules are promises between the parties.
func (r *Rule) decides() bool {
	return r.Kind == model.Obligation || model.Includes(r.Action, "execute") || r.Exceeding()
}

// Bounds reports whether the rule is a prohibition that is enforced only by counting, such as one to execute more than N times.
func (r *Rule) Bounds() bool { return r.Kind == model.Prohibition && len(r.Limits) > 0 }

// Exceeding reports whether the rule is a prohibition to exceed the limits. Such a rule never conflicts with execute.
func (r *Rule) Exceeding() bool { return r.Kind == model.Prohibition && r.Action == "exceedRateLimit" }

// A normalizer expands a document into rules.
type normalizer struct {
	*compiler
	ctx     context.Context //nolint:containedctx // the normalizer lives as long as one Publish
	w       *Catalog
	d       *model.Document
	rules   []*Rule
	parties map[string][]string // assignee IRI → the IRIs of agents that it names; an IRI without agents was reported or means anyone
	form    *model.NormalForm
	numbers int
	used    map[string]*Target
}

// expand performs step 5 of normalization: it splits each rule by action, target and assignee.
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
			ok = n.unplanned(d)
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

// stop reports whether expansion must end: ctx is done, or there are too many problems. If ctx is done, it also adds an error.
func (n *normalizer) stop(pointer string) bool {
	if n.ctx.Err() != nil {
		n.Problems.Errorf("stopped", pointer, "expanding the policy was stopped")
		return true
	}
	return n.Problems.Full()
}

// sensible reports whether a rule about the action may stay in the policy. It adds an error for an action that cannot be enforced, and a
// warning for one that the gateway does not see.
func (n *normalizer) sensible(node *model.Rule, a model.Action) bool {
	switch {
	case node.Kind == model.Permission && a.Name == "exceedRateLimit":
		n.Problems.Errorf("action", a.Pointer, "exceedRateLimit can only be prohibited")
	case node.Kind == model.Obligation && !slices.Contains(model.Handled, a.Name):
		n.Problems.Errorf("no-handler", a.Pointer,
			"the gateway cannot handle the duty %s: it supports only pay, signPayload, attribute, inform, logUsage and acceptTracking", a.Name)
	case node.Kind == model.Obligation || model.Includes(a.Name, "execute") || a.Name == "exceedRateLimit":
		return true
	default:
		n.Problems.Warnf("unseen", a.Pointer, "the gateway decides only about execute: this %s of %s is part of the agreement but is not enforced",
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
	return nil // already reported, or only about retired intents
}

// warnRetired warns if ref names only retired intents, and reports whether it does.
func (n *normalizer) warnRetired(what string, ref model.Reference) bool {
	if !n.w.retired(ref.Name()) {
		return false
	}
	n.Problems.Warnf("retired", ref.Pointer, "the %s %s is retired and has no effect: remove it", what, model.Quote(ref.Name()))
	return true
}

// conditions divides the constraints of a permission or prohibition into limits and conditions. It returns false if it reported one of
// them.
func (n *normalizer) conditions(r *Rule, list []*model.Constraint) bool {
	var rest, limits []*model.Constraint
	for _, c := range model.Flatten(list) {
		if c.Logic == "" && c.Left().Kind == model.Count && !r.Exceeding() {
			limits = append(limits, c)
			continue
		}
		rest = append(rest, c)
	}
	ok := n.terms(&r.terms, rest) && n.plans(r)
	if r.Kind == model.Prohibition && len(limits) > 1 {
		n.Problems.Errorf("limit", limits[1].Pointer, "a prohibition may have only one limit: write a separate prohibition for each limit")
		return false
	}
	if i := slices.IndexFunc(rest, func(c *model.Constraint) bool { return c.Operand == "unitOfCount" }); i >= 0 && len(limits) > 0 {
		n.Problems.Errorf("unit-of-count", rest[i].Pointer, "a limit counts executions: omit unitOfCount")
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
