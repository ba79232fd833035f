package rules

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// An Evaluable is a policy with every rule and duty as written, prepared for report.rego.
type Evaluable struct {
	*compiler
	Form    *model.NormalForm
	world   *Catalog // the referents of names; if nil, names are compared as written
	Literal bool     // IRIs are compared as written; otherwise names refer to the gateway's World
	agents  func(model.Reference) []string
	Entries []*Entry
	ByName  map[string]*Entry
	Slots   map[string]*Leaf // key of a slot → a leaf that reads the facts of the slot
}

// An Entry is one rule or duty of the report.
type Entry struct {
	N       int
	Node    *model.Rule
	Kind    string // permission, prohibition, obligation, duty, remedy or consequence
	Of      *Entry // the entry whose duty, remedy or consequence this is
	Parties []model.Reference
	Charges []price
	Data    map[string]any
}

// A price is the charge of a pay duty.
type price struct {
	Text     string // decimal
	Currency string // ISO 4217 code if it is known; otherwise as in the policy
	Value    *big.Rat
}

// Grants reports whether the policy's permissions take effect. A gateway's Offer also counts, because it becomes an Agreement when a PAT
// is issued.
func (e *Evaluable) Grants() bool {
	return e.Form.ReplacedBy == "" && (!e.Literal || e.Form.Grants())
}

// GrantsNothing returns why the policy's permissions have no effect, or "" if they have one.
func (e *Evaluable) GrantsNothing() string {
	switch {
	case e.Grants():
		return ""
	case e.Form.ReplacedBy != "":
		return "the policy is void: " + model.Quote(e.Form.ReplacedBy) + " replaces it"
	case slices.Contains(e.Form.Types, "Offer"):
		return "the policy is an Offer, which grants nothing until it is accepted: only an Agreement does"
	default:
		return "the policy is only a request or a claim and grants nothing: its type is " + strings.Join(e.Form.Types, ", ")
	}
}

// NewEvaluable prepares a policy for evaluation. If w is nil, the names in the policy are compared as written.
func NewEvaluable(f *model.NormalForm, w *Catalog) *Evaluable {
	names := *f.Names
	names.Problems = nil // values that cannot be compared are unknown, and cause no finding
	e := &Evaluable{
		compiler: newCompiler(&names, literal), Form: f, world: w, Literal: w == nil, ByName: map[string]*Entry{}, Slots: map[string]*Leaf{},
	}
	if !e.Literal {
		e.mode = evaluating
		e.agents = (&normalizer{compiler: e.compiler, w: w, parties: map[string][]string{}}).agents
	}
	for _, a := range f.Rules {
		if _, seen := e.ByName[a.Node.Name()]; !seen {
			e.add(a.Node, nil)
		}
	}
	for _, x := range e.Entries {
		e.fill(x)
	}
	for _, l := range e.Leaves {
		if _, ok := e.Slots[l.Key]; !ok {
			e.Slots[l.Key] = l
		}
	}
	return e
}

// add adds an entry for a node and for every duty that it refers to. If the node already has an entry, add returns that entry: a duty that
// several rules share is one duty. See ODRL IM, section 2.6.5.
func (e *Evaluable) add(node *model.Rule, of *Entry) *Entry {
	if x, ok := e.ByName[node.Name()]; ok {
		return x
	}
	x := &Entry{N: len(e.Entries), Node: node, Kind: node.Kind.String(), Of: of, Data: map[string]any{}}
	x.Parties = node.Parties["assignee"]
	if node.Kind.Duty() && len(node.Parties[performer(node)]) > 0 {
		x.Parties = node.Parties[performer(node)]
	}
	e.Entries = append(e.Entries, x)
	e.ByName[node.Name()] = x
	for _, group := range []struct {
		key   string
		nodes []*model.Rule
	}{{"duties", node.Duties}, {"remedies", node.Remedies}, {"consequences", node.Consequences}} {
		var list []any
		for _, child := range group.nodes {
			y := e.add(child, x)
			of, _ := y.Data["of"].([]any)
			y.Data["of"] = append(of, model.Integer(int64(x.N)))
			list = append(list, model.Integer(int64(y.N)))
		}
		put(x.Data, group.key, list)
	}
	return x
}

// performer returns the function of the party that performs a duty's action, which is assignee for most actions. See ODRL V, section 3.10.
func performer(node *model.Rule) string {
	does := map[string]string{
		"compensate": "compensatingParty", "attribute": "attributingParty", "inform": "informingParty", "obtainConsent": "consentingParty",
		"acceptTracking": "trackedParty",
	}
	for _, a := range node.Actions {
		if fn, ok := does[a.Name]; ok {
			return fn
		}
	}
	return "assignee"
}

// fill sets the data of an entry for report.rego.
func (e *Evaluable) fill(x *Entry) {
	x.Data["n"], x.Data["kind"] = model.Integer(int64(x.N)), x.Kind
	x.Data["key"] = strconv.Itoa(x.N)
	e.conditions(x.Data, e.bounded(x, x.Data, x.Node.Constraints))
	var actions []any
	for _, a := range x.Node.Actions {
		piece := map[string]any{"names": []any{a.Name}}
		e.conditions(piece, e.bounded(x, piece, a.Refinements))
		actions = append(actions, piece)
	}
	put(x.Data, "action", actions)
	if x.Node.Kind.Duty() {
		e.fillDuty(x)
	}
	e.targets(x)
	e.assignees(x)
}

// bounded returns the conditions of a rule without its limits, which it adds to into. For a duty, it also leaves out the conditions on the
// time of use, because they determine how the duty is performed.
func (e *Evaluable) bounded(x *Entry, into map[string]any, list []*model.Constraint) []*model.Constraint {
	var rest []*model.Constraint
	var limits []any
	for _, c := range model.Flatten(list) {
		switch {
		case e.Limiting(c, x.Node.Kind):
			limits = append(limits, e.leaf(c).ID)
		case x.Node.Kind.Duty() && c.Logic == "" && e.leaf(c).usage:
		default:
			rest = append(rest, c)
		}
	}
	put(into, "limits", limits)
	return rest
}

// Limiting reports whether a constraint limits how often something is done, which is counted and not compared. A constraint on a count
// that does not define such a limit is an ordinary condition: it is unknown unless the question gives the count.
func (e *Evaluable) Limiting(c *model.Constraint, kind model.RuleKind) bool {
	if c.Logic != "" || c.Left().Kind != model.Count || kind.Duty() {
		return false
	}
	_, ok := e.rate(c, kind)
	return ok
}

// targets sets the assets that a rule names. It leaves out parts of the call, such as the signed payload and the price paid, because they
// are not assets.
func (e *Evaluable) targets(x *Entry) {
	var list []any
	for _, ref := range x.Node.Targets {
		if names := e.TargetNames(ref); names != nil {
			list = append(list, e.part(names, ref.Refinements))
		}
	}
	put(x.Data, "target", list)
}

// TargetNames returns the names of an asset, or nil for a part of the call.
func (e *Evaluable) TargetNames(ref model.Reference) []string {
	if e.AboutTheCall(ref.IRI) {
		return nil
	}
	if e.Literal {
		return namesOf(ref)
	}
	if t, err := e.world.resolve(ref.Name()); err == nil {
		return []string{t.Name}
	}
	return namesOf(ref)
}

// namesOf returns the IRI of an asset or party and, for a collection, the IRI of its source.
func namesOf(ref model.Reference) []string {
	names := []string{ref.Name()}
	if ref.Source != "" && ref.Source != names[0] {
		names = append(names, ref.Source)
	}
	return names
}

// assignees sets the parties of a rule. It sets none if one of them means anyone.
func (e *Evaluable) assignees(x *Entry) {
	var list []any
	for _, ref := range x.Parties {
		names := e.partyNames(ref)
		if names == nil {
			return
		}
		list = append(list, e.part(names, ref.Refinements))
	}
	put(x.Data, "party", list)
}

func (e *Evaluable) partyNames(ref model.Reference) []string {
	if e.Literal {
		return namesOf(ref)
	}
	if list := e.agents(ref); len(list) > 0 {
		return list
	}
	return nil
}

func (e *Evaluable) part(names []string, refinements []*model.Constraint) map[string]any {
	m := map[string]any{"names": model.Anys(names)}
	e.conditions(m, refinements)
	return m
}

// conditions adds the compiled form of a list of constraints to into. In the modes of an Evaluable, every constraint compiles.
func (e *Evaluable) conditions(into map[string]any, list []*model.Constraint) {
	all, _ := e.conjunction(list)
	all.into(into)
}

// IDOf returns the id of a constraint in the data. It returns false if the constraint is not in the data.
func (e *Evaluable) IDOf(c *model.Constraint) (string, bool) {
	if l, ok := e.leafOf[c]; ok {
		return l.ID, true
	}
	if node, ok := e.logicOf[c]; ok {
		return node.id, true
	}
	return "", false
}

// LeafOf returns the compiled form of a constraint, or nil if the constraint is logical.
func (e *Evaluable) LeafOf(c *model.Constraint) *Leaf { return e.leafOf[c] }

// LimitsOf returns the limits of a rule for one of its actions, under the name of the target that matched. It leaves out the limits for
// which counted returns true, because they are counted elsewhere.
func (e *Evaluable) LimitsOf(x *Entry, a *model.Action, targetName string, counted func(*model.Constraint) bool) []limit.Limit {
	var bounds []*model.Constraint
	list := x.Node.Constraints
	r := &Rule{Target: &Target{Name: targetName}, Node: x.Node}
	if a != nil {
		r.Action = a.Name
		list = slices.Concat(list, a.Refinements)
	}
	for _, c := range model.Flatten(list) {
		if e.Limiting(c, x.Node.Kind) {
			bounds = append(bounds, c)
			continue
		}
		r.Canonical = append(r.Canonical, model.CanonicalConstraint(c))
	}
	slices.Sort(r.Canonical)
	var limits []limit.Limit
	for _, c := range bounds {
		if counted(c) {
			continue
		}
		if rate, ok := e.rate(c, x.Node.Kind); ok {
			limits = AddLimit(limits, limit.Limit{ID: limitID(r, rate.Period), Rate: rate})
		}
	}
	return limits
}

// RuleData returns the document that report.rego reads, with the policy under the key policy.
func (e *Evaluable) RuleData() map[string]any {
	rules := make([]any, 0, len(e.Entries))
	for _, x := range e.Entries {
		rules = append(rules, x.Data)
	}
	leaves, logic := e.data()
	return map[string]any{"policy": map[string]any{
		"strategy": e.Form.Strategy().String(), "grants": e.Grants(), "rules": rules, "leaves": leaves, "logic": logic,
	}}
}

// IntentOf returns the UID of the intent that a target names in a policy from Publish. If the target does not name exactly one intent,
// IntentOf returns the canonical name of the target and false.
func (e *Evaluable) IntentOf(iri string) (string, bool) {
	name, members, err := e.world.find(e.Expand(iri))
	if err != nil || len(members) != 1 {
		return name, false
	}
	return e.world.Intents[members[0]].UID, true
}
