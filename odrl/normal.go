package odrl

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// A rule is a rule in normal form: one action, one target and at most one assignee. ODRL IM 2.7.
type rule struct {
	n        int // its number in decisions, in document order
	kind     ruleKind
	node     *ruleNode
	action   string
	target   *target
	assignee string // IRI; empty: anyone
	terms
	limits []limit.Limit
	duties []*duty // of a permission; of an obligation exactly one
}

// terms are the conditions of a rule or duty in normal form.
type terms struct {
	conditions  []*constraintNode
	canonical   []string // their RFC 8785 forms, sorted
	constraints []string // ids of leaves
	logic       []*compound
}

func (t *terms) unconditional() bool { return len(t.conditions) == 0 }

// A duty is what is owed under a permission or an obligation.
type duty struct {
	n      int
	node   *ruleNode
	action string
	terms
	charge money.Amount
	keys   []string // of signPayload: base64 of DER SubjectPublicKeyInfo, any of which will do
	elided bool     // of signPayload: the agent's own key
}

// decides reports whether the rule bears on execute; the others are promises between the parties.
func (r *rule) decides() bool {
	return r.kind == obligation || includes(r.action, "execute") || r.exceeding()
}

// bounds reports whether a prohibition is enforced by counting alone: execute, more than N times.
func (r *rule) bounds() bool { return r.kind == prohibition && len(r.limits) > 0 }

// exceeding reports whether a prohibition forbids exceeding the limits. It never conflicts with execute.
func (r *rule) exceeding() bool { return r.kind == prohibition && r.action == "exceedRateLimit" }

// A normalizer expands a document into rules.
type normalizer struct {
	*names
	ctx       context.Context //nolint:containedctx // the normalizer lives as long as one Publish
	w         *world
	d         *document
	rules     []*rule
	leaves    []*leaf
	compounds []*compound
	refs      map[*constraintNode]string
	logicOf   map[*constraintNode]*compound
	parties   map[string][]string // assignee IRI → the IRIs of agents that it names; none: reported, or anyone
	form      *normalForm
	numbers   int
	forms     map[*constraintNode]string
	// conditioned counts the constraints of the rules so far.
	conditioned int
	used        map[string]*target
}

// expand is steps 4 and 5 of normalisation: what the policy shares is copied into each rule, then each
// rule is split per action, target and assignee.
func (n *normalizer) expand() {
	for _, ref := range n.d.asset {
		if _, err := n.w.resolve(ref.name()); err != nil && !n.problems.full() {
			n.problems.Errorf("target", ref.pointer, "the asset %v", err)
		}
	}
	for _, node := range n.d.rules {
		if n.stop(node.pointer) {
			return
		}
		actions := node.actions
		targets := n.targets(node)
		assignees := n.assignees(node.parties["assignee"])
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

func (n *normalizer) split(node *ruleNode, a actionNode, t *target, assignee string) bool {
	n.numbers++
	if n.numbers > MaxRules {
		n.problems.Errorf("too-large", node.pointer, "the policy expands to more than %d rules", MaxRules)
		return false
	}
	if n.stop(node.pointer) {
		return false
	}
	r := &rule{n: n.numbers, kind: node.kind, node: node, action: a.name, target: t, assignee: assignee}
	n.used[t.name] = t
	if !r.decides() {
		return true
	}
	var ok bool
	if node.kind == obligation {
		var d *duty
		if d, ok = n.duty(node, a); ok {
			d.n, r.terms, r.duties = r.n, d.terms, []*duty{d}
		}
	} else {
		ok = n.conditions(r, slices.Concat(node.constraints, a.refinements))
	}
	for _, child := range node.duties {
		if !n.childDuties(r, child) {
			ok = false
		}
	}
	if ok {
		n.rules = append(n.rules, r)
	}
	return !n.problems.full() && n.conditioned <= MaxConstraints
}

// stop reports whether expanding should end: the time is up, or enough is wrong already.
func (n *normalizer) stop(pointer string) bool {
	if n.ctx.Err() != nil {
		n.problems.Errorf("too-slow", pointer, "expanding the policy takes too long: it is too large")
		return true
	}
	return n.problems.full()
}

// sensible reports actions that nothing can be made of, and warns of those the gateway does not see.
func (n *normalizer) sensible(node *ruleNode, a actionNode) bool {
	switch {
	case node.kind == permission && a.name == "exceedRateLimit":
		n.problems.Errorf("action", a.pointer, "exceedRateLimit can only be prohibited")
	case node.kind == obligation && !slices.Contains(handled, a.name):
		n.problems.Errorf("no-handler", a.pointer, "the gateway cannot see to the duty %s: it handles pay, signPayload, attribute, inform, logUsage and acceptTracking", a.name)
	case node.kind == obligation || includes(a.name, "execute") || a.name == "exceedRateLimit":
		return true
	default:
		n.problems.Warnf("unseen", a.pointer, "the gateway decides execute alone: this %s of %s is part of the agreement and not enforced", node.kind, a.name)
		return true
	}
	return false
}

func (n *normalizer) targets(node *ruleNode) []*target {
	var list []*target
	seen := map[string]bool{}
	for _, ref := range node.targets {
		if n.problems.full() {
			return nil
		}
		if node.kind == obligation && n.aboutTheCall(ref.name()) {
			continue
		}
		t, err := n.w.resolve(ref.name())
		if err != nil {
			n.problems.Errorf("target", ref.pointer, "the target %v", err)
			continue
		}
		if !seen[t.name] {
			seen[t.name] = true
			list = append(list, t)
		}
	}
	if len(list) > 0 || n.problems.failed() {
		return list
	}
	if node.kind == obligation {
		return []*target{{everyIntent, n.w.byName[everyIntent]}}
	}
	return nil // refused before
}

// aboutTheCall recognises the targets of UIM duties that are no assets: the payload that is signed, the
// price that is paid. UIM core 6.2.
func (n *normalizer) aboutTheCall(iri string) bool {
	name, ok := n.local(iri, n.namespaces)
	return ok && absolute(n.expandNames(iri)) && (name == "payload" || name == "intentPrice")
}

func (n *normalizer) expandNames(s string) string { return n.names.expand(s) }

// conditions sorts the constraints of a permission or prohibition into limits and conditions.
func (n *normalizer) conditions(r *rule, list []*constraintNode) bool {
	var rest, limits []*constraintNode
	for _, c := range flatten(list) {
		if c.logic == "" && operands[c.operand] == limiting && !r.exceeding() {
			limits = append(limits, c)
			continue
		}
		rest = append(rest, c)
	}
	ok := n.terms(&r.terms, rest)
	if r.kind == prohibition && len(limits) > 1 {
		n.problems.Errorf("limit", limits[1].pointer, "write each limit as a prohibition of its own")
		return false
	}
	if i := slices.IndexFunc(rest, func(c *constraintNode) bool { return c.operand == "unitOfCount" }); i >= 0 && len(limits) > 0 {
		n.problems.Errorf("unit-of-count", rest[i].pointer, "the gateway counts executions: leave unitOfCount out where a limit counts")
		return false
	}
	for _, c := range limits {
		rate, good := n.rate(c, r.kind)
		if !good {
			ok = false
			continue
		}
		r.limits = addLimit(r.limits, limit.Limit{ID: limitID(r, rate.Period), Rate: rate})
	}
	return ok
}
