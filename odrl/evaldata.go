package odrl

import (
	"math/big"
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/internal/limit"
)

// An evaluable is a policy with every rule and duty as written, made ready for report.rego.
type evaluable struct {
	form     *normalForm
	world    *world // what names refer to; nil: to what they say
	names    *names
	literal  bool // IRIs mean themselves; else names mean what the gateway's World says
	agents   func(reference) []string
	entries  []*entry
	byName   map[string]*entry
	leaves   []*evalLeaf
	bySource map[*constraintNode]string // id of leaf or compound
	compiled map[*constraintNode]*evalLeaf
	logic    map[string]any
	slots    map[string]*evalLeaf
}

// An entry is one rule or duty of the report.
type entry struct {
	n       int
	node    *ruleNode
	kind    string // permission, prohibition, obligation, duty, remedy or consequence
	of      *entry // whose duty, remedy or consequence this is
	parties []reference
	charges []price
	data    map[string]any
}

// A price is what a pay duty charges.
type price struct {
	text     string // decimal
	currency string // ISO 4217 where the policy names it by a known name
	value    *big.Rat
}

// grants reports whether the policy permits anything. What the gateway offers becomes an Agreement when
// a PAT is issued.
func (e *evaluable) grants() bool {
	return e.form.replacedBy == "" && (!e.literal || e.form.grants())
}

// scratch is a normalizer whose findings nobody reads.
func (e *evaluable) scratch() *normalizer {
	n := *e.names
	n.problems = &findings{}
	return &normalizer{
		names: &n, w: e.world, refs: map[*constraintNode]string{}, logicOf: map[*constraintNode]*compound{}, parties: map[string][]string{}, forms: map[*constraintNode]string{},
	}
}

func newEvaluable(f *normalForm, w *world) *evaluable {
	e := &evaluable{
		form: f, world: w, names: f.names, literal: w == nil, byName: map[string]*entry{}, bySource: map[*constraintNode]string{}, compiled: map[*constraintNode]*evalLeaf{}, logic: map[string]any{}, slots: map[string]*evalLeaf{},
	}
	if !e.literal {
		e.agents = e.scratch().agents
	}
	for _, a := range f.rules {
		if _, seen := e.byName[a.node.name()]; !seen {
			e.add(a.node, nil)
		}
	}
	for _, x := range e.entries {
		e.fill(x)
	}
	return e
}

// add makes an entry of a node and of every duty it points at, or finds the one that bears its uid: a
// duty that several rules share is one duty. ODRL IM 2.6.5.
func (e *evaluable) add(node *ruleNode, of *entry) *entry {
	if x, ok := e.byName[node.name()]; ok {
		return x
	}
	x := &entry{n: len(e.entries), node: node, kind: node.kind.String(), of: of, data: map[string]any{}}
	x.parties = node.parties["assignee"]
	if node.kind.duty() && len(node.parties[performer(node)]) > 0 {
		x.parties = node.parties[performer(node)]
	}
	e.entries = append(e.entries, x)
	e.byName[node.name()] = x
	for _, group := range []struct {
		key   string
		nodes []*ruleNode
	}{{"duties", node.duties}, {"remedies", node.remedies}, {"consequences", node.consequences}} {
		var list []any
		for _, child := range group.nodes {
			y := e.add(child, x)
			of, _ := y.data["of"].([]any)
			y.data["of"] = append(of, integer(int64(x.n)))
			list = append(list, integer(int64(y.n)))
		}
		if list != nil {
			x.data[group.key] = list
		}
	}
	return x
}

// performer is the function of the party that does a duty's action, beside assignee. ODRL V 3.10.
func performer(node *ruleNode) string {
	does := map[string]string{
		"compensate": "compensatingParty", "attribute": "attributingParty", "inform": "informingParty", "obtainConsent": "consentingParty", "acceptTracking": "trackedParty",
	}
	for _, a := range node.actions {
		if fn, ok := does[a.name]; ok {
			return fn
		}
	}
	return "assignee"
}

// fill writes what Rego reads of an entry.
func (e *evaluable) fill(x *entry) {
	x.data["n"], x.data["kind"] = integer(int64(x.n)), x.kind
	x.data["key"] = strconv.Itoa(x.n)
	e.conditions(x.data, e.bounded(x, x.data, x.node.constraints))
	var actions []any
	for _, a := range x.node.actions {
		piece := map[string]any{"names": []any{a.name}}
		e.conditions(piece, e.bounded(x, piece, a.refinements))
		actions = append(actions, piece)
	}
	if actions != nil {
		x.data["action"] = actions
	}
	if x.node.kind.duty() {
		e.fillDuty(x)
	}
	e.targets(x)
	e.assignees(x)
}

// bounded takes out of the conditions of a rule what limits it, and of those of a duty what is about the
// time of use and so about how the duty is done.
func (e *evaluable) bounded(x *entry, into map[string]any, list []*constraintNode) []*constraintNode {
	var rest []*constraintNode
	var limits []any
	for _, c := range flatten(list) {
		switch {
		case !x.node.kind.duty() && e.limiting(c):
			limits = append(limits, e.id(c))
		case x.node.kind.duty() && c.logic == "" && e.leafOf(c).usage:
			e.id(c)
		default:
			rest = append(rest, c)
		}
	}
	if limits != nil {
		into["limits"] = limits
	}
	return rest
}

func (e *evaluable) limiting(c *constraintNode) bool {
	return c.logic == "" && operands[c.operand] == limiting && c.operator != "neq"
}

// targets writes the assets that a rule names. What is part of the call, as the payload signed and the
// price paid, is no asset.
func (e *evaluable) targets(x *entry) {
	var list []any
	for _, ref := range x.node.targets {
		if names := e.targetNames(ref); names != nil {
			list = append(list, e.part(names, ref.refinements))
		}
	}
	if list != nil {
		x.data["target"] = list
	}
}

func (e *evaluable) targetNames(ref reference) []string {
	if e.scratch().aboutTheCall(ref.iri) {
		return nil
	}
	if e.literal {
		return namesOf(ref)
	}
	if t, err := e.world.resolve(ref.name()); err == nil {
		return []string{t.name}
	}
	return namesOf(ref)
}

// namesOf are the IRI of an asset or party and that of the source of a collection.
func namesOf(ref reference) []string {
	names := []string{ref.name()}
	if ref.source != "" && ref.source != names[0] {
		names = append(names, ref.source)
	}
	return names
}

// assignees writes the parties that a rule is for. One that is anyone leaves no part.
func (e *evaluable) assignees(x *entry) {
	var list []any
	for _, ref := range x.parties {
		names := e.partyNames(ref)
		if names == nil {
			return
		}
		list = append(list, e.part(names, ref.refinements))
	}
	if list != nil {
		x.data["party"] = list
	}
}

func (e *evaluable) partyNames(ref reference) []string {
	if e.literal {
		return namesOf(ref)
	}
	if list := e.agents(ref); len(list) > 0 {
		return list
	}
	return nil
}

func (e *evaluable) part(names []string, refinements []*constraintNode) map[string]any {
	m := map[string]any{"names": anys(names)}
	e.conditions(m, refinements)
	return m
}

// conditions splits a conjunction into leaves and logical constraints.
func (e *evaluable) conditions(into map[string]any, list []*constraintNode) {
	var leaves, logic []any
	for _, c := range flatten(list) {
		if c.logic == "" {
			leaves = append(leaves, e.id(c))
			continue
		}
		logic = append(logic, map[string]any{"level": integer(int64(c.depth)), "id": e.id(c)})
	}
	if leaves != nil {
		into["constraints"] = leaves
	}
	if logic != nil {
		into["logic"] = logic
	}
}

// id compiles a constraint once and returns its id in the data.
func (e *evaluable) id(c *constraintNode) string {
	if id, ok := e.bySource[c]; ok {
		return id
	}
	if c.logic == "" {
		l := e.newLeaf(c)
		l.id = "c" + strconv.Itoa(len(e.bySource))
		e.leaves = append(e.leaves, l)
		e.bySource[c], e.compiled[c] = l.id, l
		if _, ok := e.slots[l.slot]; !ok {
			e.slots[l.slot] = l
		}
		return l.id
	}
	operator := c.logic
	if operator == "andSequence" {
		operator = "and" // the facts of one question have one time
	}
	list := make([]any, 0, len(c.operands))
	for _, operand := range c.operands {
		list = append(list, e.id(operand))
	}
	id := "c" + strconv.Itoa(len(e.bySource))
	e.bySource[c] = id
	e.logic[id] = map[string]any{"level": integer(int64(c.depth)), "operator": operator, "operands": list}
	return id
}

// leafOf is the compiled form of a constraint; nil for a logical one.
func (e *evaluable) leafOf(c *constraintNode) *evalLeaf {
	if c.logic != "" {
		return nil
	}
	e.id(c)
	return e.compiled[c]
}

// limitsOf are the limits of a rule for one action it names, under the name of the target that was
// matched, those left out that are counted elsewhere.
func (e *evaluable) limitsOf(x *entry, a *actionNode, targetName string, counted func(*constraintNode) bool) []limit.Limit {
	var bounds []*constraintNode
	list := x.node.constraints
	r := &rule{target: &target{name: targetName}, node: x.node}
	if a != nil {
		r.action = a.name
		list = slices.Concat(list, a.refinements)
	}
	for _, c := range flatten(list) {
		if e.limiting(c) {
			bounds = append(bounds, c)
			continue
		}
		r.canonical = append(r.canonical, canonicalConstraint(c))
	}
	slices.Sort(r.canonical)
	var limits []limit.Limit
	for _, c := range bounds {
		if counted(c) {
			continue
		}
		if rate, ok := e.scratch().rate(c, x.node.kind); ok {
			limits = addLimit(limits, limit.Limit{ID: limitID(r, rate.Period), Rate: rate})
		}
	}
	return limits
}

// ruleData is data.policy as report.rego reads it.
func (e *evaluable) ruleData() map[string]any {
	rules := make([]any, 0, len(e.entries))
	for _, x := range e.entries {
		rules = append(rules, x.data)
	}
	leaves := map[string]any{}
	for _, l := range e.leaves {
		v := map[string]any{"slot": l.slot, "type": l.kind, "operator": l.operator}
		switch {
		case l.window:
			v["from"], v["to"] = integer(l.from), integer(l.to)
		case l.usage:
			v["usage"] = true
		case l.value != nil:
			v["value"] = l.value
		}
		leaves[l.id] = v
	}
	return map[string]any{"policy": map[string]any{
		"strategy": e.form.strategy().String(), "grants": e.grants(), "rules": rules, "leaves": leaves, "logic": e.logic,
	}}
}

// intentOf is the UID of the one intent that a target names under a policy from Publish.
func (e *evaluable) intentOf(iri string) (string, bool) {
	name, members, err := e.world.find(e.names.expand(iri))
	if err != nil || len(members) != 1 {
		return name, false
	}
	return e.world.Intents[members[0]].UID, true
}
