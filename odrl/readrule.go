package odrl

import (
	"maps"
	"slices"

	"github.com/uimgate/uimgate/internal/strictjson"
)

var (
	actionClass   = class{"action", slices.Sorted(maps.Keys(actions)), actionAliases, true}
	operandClass  = class{"left operand", slices.Sorted(maps.Keys(operands)), operandAliases, true}
	operatorClass = class{"operator", operators, operatorAliases, true}
)

// onlyNamed reports whether v is an object with a uid and nothing else: a rule of anything where it is
// read leniently. With @id it would be a reference.
func onlyNamed(v any) bool {
	m, _ := v.(map[string]any)
	_, ok := m["uid"]
	return ok
}

// rule reads a permission, prohibition, obligation or duty, where it stands or where its IRI is defined.
func (r *reader) rule(f field, kind ruleKind) *ruleNode {
	if !r.fits(&r.rules, MaxRules, "rules", f.pointer) {
		return nil
	}
	id := r.idOf(f.value)
	if r.dangling(f.value, ruleRole) && (!r.problems.lenient || !onlyNamed(f.value)) {
		r.problems.Errorf("reference", f.pointer, "the %s %s is only referred to: write it here in full, or as a node of the @graph", kind, quote(id))
		return nil
	}
	if known, ok := r.readRules[id]; ok && id != "" {
		return r.again(known, kind, id, f)
	}
	o := r.node(f, "a "+kind.String(), ruleRole)
	if o == nil {
		return nil
	}
	if r.reading[id] {
		r.problems.Errorf("cycle", f.pointer, "the %s %s points back at itself", kind, quote(id))
		return nil
	}
	rule := &ruleNode{kind: kind, pointer: o.pointer, parties: map[string][]reference{}, weight: 1, notes: o.notes, keys: o.filled}
	if id != "" {
		r.reading[id] = true
		defer delete(r.reading, id)
	}
	r.ruleBody(o, rule)
	for _, child := range rule.children() {
		rule.weight += child.weight
	}
	if id != "" {
		r.readRules[id] = rule
	}
	return rule
}

// again is a rule that was read before, under the IRI by which this refers to it.
func (r *reader) again(known *ruleNode, kind ruleKind, id string, f field) *ruleNode {
	if known.kind != kind {
		r.problems.Errorf("duplicate", f.pointer, "%s is a %s at %s and cannot be a %s as well", quote(id), known.kind, pointerName(known.pointer), kind)
		return nil
	}
	for range known.weight - 1 {
		if !r.fits(&r.rules, MaxRules, "rules", f.pointer) {
			return nil
		}
	}
	return known
}

func (r *reader) ruleBody(o *object, rule *ruleNode) {
	what := "a " + rule.kind.String()
	if id, ok := o.one("@id"); ok {
		rule.uid = r.nodeID(id, "the uid of "+what)
	}
	r.ruleType(o, rule.kind)
	rule.notice = o.notes.notice()
	rule.actions = r.actionList(o)
	rule.targets = append(r.references(o, "target", "a target"), r.references(o, "asset", "an asset")...)
	rule.relations = r.relations(o)
	r.partyFields(o, rule.parties)
	r.partyList(o, rule.parties)
	rule.constraints = r.constraintList(o, "constraint", 0)
	switch rule.kind {
	case permission:
		rule.duties = r.ruleList(o, "duty", dutyOfPermission)
	case prohibition:
		rule.remedies = r.ruleList(o, "remedy", remedy)
	default:
		if f := o.fields["timeInterval"]; len(f) > 0 {
			rule.settled = f[0].value
		}
		rule.amounts = r.amount(o)
		rule.consequences = r.ruleList(o, "consequence", consequence)
	}
	o.close(what)
}

func (r *reader) ruleList(o *object, key string, kind ruleKind) []*ruleNode {
	var list []*ruleNode
	for _, item := range o.items(key) {
		if rule := r.rule(item, kind); rule != nil {
			list = append(list, rule)
		}
	}
	return list
}

// relations reads the assets that a rule names by another relation than target. ODRL IM 2.2.1.
func (r *reader) relations(o *object) map[string][]reference {
	m := map[string][]reference{}
	for _, key := range []string{"output", "relation"} {
		if list := r.references(o, key, "the "+key); len(list) > 0 {
			m[key] = list
		}
	}
	return m
}

// notice is the description of a duty, which is the notice that an attribution asks for.
func (n notes) notice() string {
	for _, key := range []string{
		"description", "http://purl.org/dc/terms/description", "http://purl.org/dc/elements/1.1/description",
		"comment", "http://www.w3.org/2000/01/rdf-schema#comment", "label", "http://www.w3.org/2000/01/rdf-schema#label",
	} {
		for _, f := range listOf(field{value: n[key]}) {
			if s, ok := scalar(f.value); ok && s != "" {
				return s
			}
		}
	}
	return ""
}

func (r *reader) ruleType(o *object, kind ruleKind) {
	want := []string{"Duty", "Rule"}
	switch kind {
	case permission:
		want = []string{"Permission", "Rule"}
	case prohibition:
		want = []string{"Prohibition", "Rule"}
	case obligation:
		want = append(want, "Obligation")
	default:
	}
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if !ok || absolute(r.expand(s)) && !r.ofODRL(r.expand(s)) {
			continue
		}
		if t, ok := r.local(s, r.namespaces); !ok || !slices.Contains(want, t) {
			r.problems.Errorf("type", f.pointer, "a %s cannot be of type %s", kind, quote(s))
		}
	}
}

// amount reads UIM's amount, unit and timeInterval of a pay duty. The interval says when charges are
// settled; each execution owes the amount all the same.
func (r *reader) amount(o *object) []*constraintNode {
	f, ok := o.one("amount")
	unit, hasUnit := o.one("unit")
	if !hasUnit {
		unit, hasUnit = o.one("currency")
	}
	if interval, has := o.one("timeInterval"); has {
		r.problems.Warnf("billing", interval.pointer, "timeInterval says when charges are settled; every execution owes the amount")
	}
	if !ok {
		if hasUnit {
			r.problems.Errorf("amount", unit.pointer, "a unit without an amount")
		}
		return nil
	}
	c := &constraintNode{pointer: f.pointer, operand: "payAmount", operator: "eq"}
	value := f.value
	if m, isObject := value.(map[string]any); isObject && m["@value"] == nil {
		inner := r.object(f, "an amount")
		v, _ := inner.one("value")
		if cur, has := inner.one("currency"); has && !hasUnit {
			unit, hasUnit = cur, true
		}
		if u, has := inner.one("unit"); has && !hasUnit {
			unit, hasUnit = u, true
		}
		inner.close("an amount")
		value = v.value
	}
	s, ok := scalar(value)
	if !ok {
		r.problems.Errorf("amount", f.pointer, "an amount is a number or its text, not %s", strictjson.Kind(value))
		return nil
	}
	c.right = []literal{{pointer: f.pointer, text: s}}
	if hasUnit {
		if u, ok := r.word(unit, "a unit"); ok {
			c.unit = reference{pointer: unit.pointer, iri: r.expand(u)}
		}
	}
	return []*constraintNode{c}
}

func (r *reader) actionList(o *object) []actionNode {
	var list []actionNode
	for _, f := range o.items("action") {
		if a, ok := r.action(f); ok {
			list = append(list, a)
		}
	}
	return list
}

// action reads "use", {"@id": "odrl:use"} and {"rdf:value": {"@id": …}, "refinement": […]}.
func (r *reader) action(f field) (actionNode, bool) {
	a := actionNode{pointer: f.pointer}
	if s, isText := f.value.(string); isText && blank(s) && r.defined(s, anyRole) { // a refined action as a node of its own
		f = r.nodes[s][0].field
	}
	value := f
	if _, isObject := f.value.(map[string]any); isObject {
		if id := r.idOf(f.value); blank(id) && r.defined(f.value, anyRole) {
			f = r.nodes[id][0].field
			r.used[id] = true
		}
		o := r.object(f, "an action")
		if id := o.fields["@id"]; len(id) == 1 && blank(r.idOf(id[0].value)) {
			o.take("@id")
		}
		r.nodeType(o, "Action")
		var named bool
		for _, key := range []string{"rdf:value", "@id", "@value"} {
			if v, ok := o.one(key); ok {
				if named {
					r.problems.Errorf("action", v.pointer, "the action is named twice")
				}
				value, named = v, true
			}
		}
		a.refinements = r.constraintList(o, "refinement", 0)
		a.notes = o.notes
		r.actionFacts(o, named, value)
		o.close("an action")
		if !named {
			r.problems.Errorf("action", f.pointer, "the action has no name: write it as rdf:value")
			return a, false
		}
	}
	s, ok := r.word(value, "an action")
	if !ok {
		return a, false
	}
	a.written = s
	a.name, ok = r.term(actionClass, value, s)
	return a, ok
}

// actionFacts reads what an action says where a rule uses it about the actions it belongs to.
func (r *reader) actionFacts(o *object, named bool, value field) {
	for _, relation := range []struct {
		key  string
		into map[string][]string
	}{{"includedIn", r.facts.includedIn}, {"implies", r.facts.implies}} {
		for _, item := range o.items(relation.key) {
			if s, ok := r.word(value, "an action"); named && ok {
				r.declared[r.expand(s)] = "Action"
				r.broaderAction(r.expand(s), item, relation.into)
			}
		}
	}
}

func (r *reader) constraintList(o *object, key string, depth int) []*constraintNode {
	var list []*constraintNode
	for _, f := range o.items(key) {
		if c := r.constraint(f, depth); c != nil {
			list = append(list, c)
		}
	}
	return list
}
