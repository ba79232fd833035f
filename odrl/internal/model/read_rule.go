package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

var (
	actionClass   = class{"action", slices.Sorted(maps.Keys(actions)), ActionAliases, true}
	operandClass  = class{"left operand", slices.Sorted(maps.Keys(operandByName)), OperandAliases, true}
	operatorClass = class{"operator", operators, operatorAliases, true}
)

// onlyNamed reports whether v, an object that has only an IRI, gives the IRI as uid. In lenient mode, such an object is a rule about
// anything; an object with @id would be a reference.
func onlyNamed(v any) bool {
	m, _ := v.(map[string]any)
	_, ok := m["uid"]
	return ok
}

// rule reads a permission, prohibition, obligation or duty, either inline or from the nodes that define its IRI.
func (r *reader) rule(f Field, kind RuleKind) *Rule {
	if !r.fits(&r.rules, MaxRules, "rules", f.Pointer) {
		return nil
	}
	id := r.idOf(f.Value)
	if r.dangling(f.Value, ruleRole) && (!r.Problems.Lenient || !onlyNamed(f.Value)) {
		r.Problems.Errorf("reference", f.Pointer, "the %s %s is referenced but not defined: define it here, or as a node in the @graph", kind,
			Quote(id))
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
		r.Problems.Errorf("cycle", f.Pointer, "the %s %s refers to itself", kind, Quote(id))
		return nil
	}
	rule := &Rule{Kind: kind, Pointer: o.pointer, Parties: map[string][]Reference{}, weight: 1, notes: o.notes, keys: o.filled}
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

// again returns the rule that was already read under the IRI of this reference. It counts the rules in that rule again. If the rule has a
// different kind, it reports an error and returns nil.
func (r *reader) again(known *Rule, kind RuleKind, id string, f Field) *Rule {
	if known.Kind != kind {
		r.Problems.Errorf("duplicate", f.Pointer, "%s is used as %s at %s and cannot also be used as %s", Quote(id), known.Kind,
			PointerName(known.Pointer), kind)
		return nil
	}
	for range known.weight - 1 {
		if !r.fits(&r.rules, MaxRules, "rules", f.Pointer) {
			return nil
		}
	}
	return known
}

func (r *reader) ruleBody(o *object, rule *Rule) {
	what := "a " + rule.Kind.String()
	if id, ok := o.one("@id"); ok {
		rule.UID = r.nodeID(id, "the uid of "+what)
	}
	r.ruleType(o, rule.Kind)
	rule.Notice = o.notes.notice()
	rule.Actions = r.actionList(o)
	rule.Targets = append(r.references(o, "target", "a target"), r.references(o, "asset", "an asset")...)
	rule.Relations = r.relations(o)
	r.partyFields(o, rule.Parties)
	r.partyList(o, rule.Parties)
	rule.Constraints = r.constraintList(o, "constraint", 0)
	switch rule.Kind {
	case Permission:
		rule.Duties = r.ruleList(o, "duty", DutyOfPermission)
	case Prohibition:
		rule.Remedies = r.ruleList(o, "remedy", Remedy)
	default:
		if f := o.fields["timeInterval"]; len(f) > 0 {
			rule.settled = f[0].Value
		}
		rule.Amounts = r.amount(o)
		rule.Consequences = r.ruleList(o, "consequence", Consequence)
	}
	o.close(what)
}

func (r *reader) ruleList(o *object, key string, kind RuleKind) []*Rule {
	var list []*Rule
	for _, item := range o.items(key) {
		if rule := r.rule(item, kind); rule != nil {
			list = append(list, rule)
		}
	}
	return list
}

// relations reads the assets that a rule names by a relation other than target. See ODRL IM, section 2.2.1.
func (r *reader) relations(o *object) map[string][]Reference {
	m := map[string][]Reference{}
	for _, key := range []string{"output", "relation"} {
		if list := r.references(o, key, "the "+key); len(list) > 0 {
			m[key] = list
		}
	}
	return m
}

// notice returns the description of a rule. For an attribution duty, the description is the notice to display.
func (n notes) notice() string {
	for _, key := range []string{
		"description", "http://purl.org/dc/terms/description", "http://purl.org/dc/elements/1.1/description",
		"comment", "http://www.w3.org/2000/01/rdf-schema#comment", "label", "http://www.w3.org/2000/01/rdf-schema#label",
	} {
		for _, f := range ListOf(Field{Value: n[key]}) {
			if s, ok := Scalar(f.Value); ok && s != "" {
				return s
			}
		}
	}
	return ""
}

func (r *reader) ruleType(o *object, kind RuleKind) {
	want := []string{"Duty", "Rule"}
	switch kind {
	case Permission:
		want = []string{"Permission", "Rule"}
	case Prohibition:
		want = []string{"Prohibition", "Rule"}
	case Obligation:
		want = append(want, "Obligation")
	default:
	}
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if !ok || Absolute(r.Expand(s)) && !r.ofODRL(r.Expand(s)) {
			continue
		}
		if t, ok := r.Local(s, r.Namespaces); !ok || !slices.Contains(want, t) {
			r.Problems.Errorf("type", f.Pointer, "this %s cannot be of type %s", kind, Quote(s))
		}
	}
}

// amount reads UIM's amount, unit and timeInterval of a pay duty. The interval states how often charges are settled; the amount is still
// due for each execution.
func (r *reader) amount(o *object) []*Constraint {
	f, ok := o.one("amount")
	unit, hasUnit := o.one("unit")
	if !hasUnit {
		unit, hasUnit = o.one("currency")
	}
	if interval, has := o.one("timeInterval"); has {
		r.Problems.Warnf("billing", interval.Pointer, "timeInterval only sets how often charges are settled; the amount is due for every execution")
	}
	if !ok {
		if hasUnit {
			r.Problems.Errorf("amount", unit.Pointer, "there is a unit but no amount")
		}
		return nil
	}
	c := &Constraint{Pointer: f.Pointer, Operand: "payAmount", Operator: "eq"}
	value := f.Value
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
		value = v.Value
	}
	s, ok := Scalar(value)
	if !ok {
		r.Problems.Errorf("amount", f.Pointer, "an amount must be a number or a string with a number, not %s", strictjson.Kind(value))
		return nil
	}
	c.Right = []Literal{{Pointer: f.Pointer, Text: s}}
	if hasUnit {
		if u, ok := r.word(unit, "a unit"); ok {
			c.Unit = Reference{Pointer: unit.Pointer, IRI: r.Expand(u)}
		}
	}
	return []*Constraint{c}
}

func (r *reader) actionList(o *object) []Action {
	var list []Action
	for _, f := range o.items("action") {
		if a, ok := r.action(f); ok {
			list = append(list, a)
		}
	}
	return list
}

// action reads "use", {"@id": "odrl:use"} and {"rdf:value": {"@id": …}, "refinement": […]}, which may have its own IRI as @id, and
// {"type": "USE"}.
func (r *reader) action(f Field) (Action, bool) {
	a := Action{Pointer: f.Pointer}
	if s, isText := f.Value.(string); isText && blank(s) && r.defined(s, anyRole) { // s names a node that refines an action
		f = r.nodes[s][0].Field
	}
	value := f
	if _, isObject := f.Value.(map[string]any); isObject {
		if id := r.idOf(f.Value); blank(id) && r.defined(f.Value, anyRole) {
			f = r.nodes[id][0].Field
			r.used[id] = true
		}
		o := r.object(f, "an action")
		if id := o.fields["@id"]; len(id) == 1 && blank(r.idOf(id[0].Value)) {
			o.take("@id")
		}
		typed, named := r.typedAction(o)
		if named {
			value = typed
		}
		r.nodeType(o, "Action")
		for _, key := range []string{"rdf:value", "@id", "@value"} {
			if v, ok := o.one(key); ok {
				if named && key == "@id" && r.ownName(v) {
					continue
				}
				if named {
					r.Problems.Errorf("action", v.Pointer, "the action is named twice")
				}
				value, named = v, true
			}
		}
		a.Refinements = r.constraintList(o, "refinement", 0)
		a.notes = o.notes
		r.actionFacts(o, named, value)
		o.close("an action")
		if !named {
			r.Problems.Errorf("action", f.Pointer, "the action has no name: write its name as rdf:value")
			return a, false
		}
	}
	s, ok := r.word(value, "an action")
	if !ok {
		return a, false
	}
	a.written = s
	a.Name, ok = r.term(actionClass, value, s)
	return a, ok
}

// typedAction reads an action that is named only by its type, as dataspace connectors write it.
func (r *reader) typedAction(o *object) (Field, bool) {
	list := o.fields["@type"]
	if len(list) != 1 || len(o.fields["@id"])+len(o.fields["rdf:value"])+len(o.fields["@value"]) > 0 {
		return Field{}, false
	}
	s, _ := list[0].Value.(string)
	name, ok := r.Local(s, r.Namespaces)
	at := slices.IndexFunc(actionClass.known, func(known string) bool { return strings.EqualFold(known, name) })
	if !ok || at < 0 {
		return Field{}, false
	}
	o.take("@type")
	r.Problems.Warnf("action", list[0].Pointer, "the action is given only by its type; it is read as the action %s", actionClass.known[at])
	return Field{Pointer: list[0].Pointer, Value: actionClass.known[at]}, true
}

// ownName reports whether an @id beside rdf:value names the node itself, that is, whether the @id is an absolute IRI outside all known
// vocabularies.
func (r *reader) ownName(id Field) bool {
	s, ok := id.Value.(string)
	if !ok || !Absolute(r.Expand(s)) || r.declared[r.Expand(s)] != "" || r.added.classes[r.Expand(s)] != "" {
		return false
	}
	_, term := r.Local(s, r.Namespaces)
	return !term
}

// actionFacts reads the broader actions of an action that a rule uses, from includedIn and implies.
func (r *reader) actionFacts(o *object, named bool, value Field) {
	for _, relation := range []struct {
		key  string
		into map[string][]string
	}{{"includedIn", r.Facts.IncludedIn}, {"implies", r.Facts.Implies}} {
		for _, item := range o.items(relation.key) {
			if s, ok := r.word(value, "an action"); named && ok {
				r.declared[r.Expand(s)] = "Action"
				r.broaderAction(r.Expand(s), r.broaderNode(item), relation.into, relation.key == "includedIn")
			}
		}
	}
}

// broaderNode returns the name of an action that includes another or that another implies. If the action is a node, its own broader
// actions are read too.
func (r *reader) broaderNode(f Field) Field {
	m, isObject := f.Value.(map[string]any)
	if !isObject || len(m) < 2 {
		return f
	}
	o := r.object(f, "an action")
	r.nodeType(o, "Action")
	value, named := o.one("rdf:value")
	if id, ok := o.one("@id"); ok && (!named || !r.ownName(id)) {
		if named {
			r.Problems.Errorf("action", id.Pointer, "the action is named twice")
		}
		value, named = id, true
	}
	r.actionFacts(o, named, value)
	o.close("an action")
	if !named {
		return f
	}
	return value
}

func (r *reader) constraintList(o *object, key string, depth int) []*Constraint {
	var list []*Constraint
	for _, f := range o.items(key) {
		if c := r.constraint(f, depth); c != nil {
			list = append(list, c)
		}
	}
	return list
}
