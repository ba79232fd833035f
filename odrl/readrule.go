package odrl

import (
	"maps"
	"slices"

	"github.com/uimgate/uimgate/internal/strictjson"
)

var (
	actionClass   = class{"action", slices.Sorted(maps.Keys(actions)), actionAliases}
	operandClass  = class{"left operand", slices.Sorted(maps.Keys(operands)), operandAliases}
	operatorClass = class{"operator", operators, operatorAliases}
)

// rule reads a permission, prohibition, obligation or duty.
func (r *reader) rule(f field, kind ruleKind) *ruleNode {
	if !r.fits(&r.rules, MaxRules, "rules", f.pointer) {
		return nil
	}
	if s, isText := f.value.(string); isText {
		r.problems.Errorf("reference", f.pointer, "the %s %s is only referred to: write it here in full", kind, quote(s))
		return nil
	}
	o := r.object(f, "a "+kind.String())
	if o == nil {
		return nil
	}
	rule := &ruleNode{kind: kind, pointer: f.pointer, parties: map[string][]reference{}}
	rule.uid = r.uid(o, "a "+kind.String())
	r.ruleType(o, kind)
	if note, ok := r.note(f); ok {
		rule.notice = note
	}
	rule.actions = r.actionList(o)
	rule.targets = append(r.references(o, "target", "a target"), r.references(o, "asset", "an asset")...)
	r.partyFields(o, rule.parties)
	r.partyList(o, rule.parties)
	rule.constraints = r.constraintList(o, "constraint", 0)
	switch kind {
	case permission:
		for _, item := range o.items("duty") {
			if duty := r.rule(item, dutyOfPermission); duty != nil {
				rule.duties = append(rule.duties, duty)
			}
		}
	case obligation, dutyOfPermission:
		rule.amounts = r.amount(o)
	case prohibition:
	}
	o.close("a " + kind.String())
	return rule
}

// note is the description of a duty, which is the notice that an attribution asks for.
func (r *reader) note(f field) (string, bool) {
	m, _ := f.value.(map[string]any)
	for _, k := range []string{"description", "dct:description", "dc:description", "comment", "rdfs:comment", "label", "rdfs:label"} {
		if s, ok := m[k].(string); ok && s != "" {
			return s, true
		}
	}
	return "", false
}

func (r *reader) ruleType(o *object, kind ruleKind) {
	want := map[ruleKind][]string{
		permission: {"Permission", "Rule"}, prohibition: {"Prohibition", "Rule"}, obligation: {"Duty", "Rule", "Obligation"}, dutyOfPermission: {"Duty", "Rule"},
	}[kind]
	for _, f := range o.items("@type") {
		if s, ok := r.word(f, "a type"); ok {
			if t, ok := r.local(s, r.namespaces); !ok || !slices.Contains(want, t) {
				r.problems.Errorf("type", f.pointer, "a %s cannot be of type %s", kind, quote(s))
			}
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
			c.unit = reference{unit.pointer, r.expand(u)}
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
	value := f
	if _, isObject := f.value.(map[string]any); isObject {
		o := r.object(f, "an action")
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
	a.name, ok = r.term(actionClass, value, s)
	return a, ok
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
