package model

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Canonical encodes a document as JSON-LD with ODRL's own context, in the canonical form of RFC 8785. It adds the problems of the
// document to found, and returns nil if one of them is an error.
func Canonical(ctx context.Context, doc []byte, known Beside, found *Findings) []byte {
	tree := DecodeTree(doc, found)
	if found.Failed() {
		return nil
	}
	names := NewNames(tree, nil, found)
	names.profiles = known.Profiles
	names.Adopt(known.Vocabularies)
	r := NewReader(ctx, names)
	list := r.Documents(tree)
	if len(list) == 0 {
		found.Errorf("no-policy", "", "the document contains no policy")
	}
	if found.Failed() {
		return nil
	}
	out, err := strictjson.Canonical(exactly((&writer{r}).document(list)))
	if err != nil {
		found.Errorf("inexact", "", "the policy cannot be encoded: %v", err)
		return nil
	}
	return out
}

// exactly returns v with each number that RFC 8785 would change written as a string. It modifies v.
func exactly(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			v[k] = exactly(member)
		}
	case []any:
		for i, item := range v {
			v[i] = exactly(item)
		}
	case json.Number:
		if strictjson.Exact(v) != nil {
			return string(v)
		}
	}
	return v
}

type writer struct{ *reader }

// A node is a JSON object under construction. Its methods omit empty members.
type node map[string]any

func (n node) set(key string, list []any) {
	switch len(list) {
	case 0:
	case 1:
		n[key] = list[0]
	default:
		n[key] = list
	}
}

func (n node) list(key string, list []any) {
	if len(list) > 0 {
		n[key] = list
	}
}

func (n node) text(key, value string) {
	if value != "" {
		n[key] = value
	}
}

func (n node) describe(d notes) {
	maps.Copy(n, d)
}

func (w *writer) document(list []*Document) map[string]any {
	var graph []any
	for _, d := range list {
		graph = append(graph, map[string]any(w.policy(d)))
	}
	graph = append(graph, w.outsiders()...)
	const official = "http://www.w3.org/ns/odrl.jsonld"
	if len(graph) == 1 {
		m, _ := graph[0].(map[string]any)
		m["@context"] = official
		return m
	}
	return map[string]any{"@context": official, "@graph": graph}
}

func (w *writer) policy(d *Document) node {
	n := node{}
	n.describe(d.notes)
	n.text("uid", d.uid)
	types := texts(d.Types)
	if len(types) == 0 {
		types = []any{"Set"}
	}
	n.set("@type", append(types, texts(d.classes)...))
	n.set("profile", iriList(d.profiles))
	n.set("inheritFrom", iriList(d.inherits))
	n.set("dct:isReplacedBy", objects(d.ReplacedBy))
	var strategies []any
	for _, s := range d.strategies {
		strategies = append(strategies, s.String())
	}
	n.set("conflict", strategies)
	w.common(n, d.actions, d.targets, d.relations, d.parties)
	groups := map[RuleKind][]any{}
	for _, r := range d.Rules {
		if len(r.Targets) == 0 && len(d.targets) == 0 && len(d.Asset) > 0 {
			with := *r
			with.Targets = d.Asset
			r = &with
		}
		groups[r.Kind] = append(groups[r.Kind], w.rule(r))
	}
	for _, kind := range []RuleKind{Permission, Prohibition, Obligation} {
		n.list(kind.String(), groups[kind])
	}
	return n
}

// common writes the members that policies and rules share.
func (w *writer) common(n node, actions []Action, targets []Reference, relations, parties map[string][]Reference) {
	var list []any
	for i := range actions {
		list = append(list, w.action(&actions[i], nil))
	}
	n.set("action", list)
	n.set("target", w.things(targets, "AssetCollection"))
	for _, key := range SortedKeys(relations) {
		n.set(key, w.things(relations[key], "AssetCollection"))
	}
	for _, fn := range SortedKeys(parties) {
		n.set(fn, w.things(parties[fn], "PartyCollection"))
	}
}

func (w *writer) rule(r *Rule) any {
	n := node{}
	n.describe(r.notes)
	n.text("uid", r.UID)
	w.common(n, nil, r.Targets, r.Relations, r.Parties)
	pays := slices.ContainsFunc(r.Actions, func(a Action) bool { return a.Name == "compensate" })
	var list []any
	for i := range r.Actions {
		var price []*Constraint
		if r.Actions[i].Name == "compensate" {
			price = r.Amounts
		}
		list = append(list, w.action(&r.Actions[i], price))
	}
	n.set("action", list)
	if !pays {
		for _, c := range r.Amounts {
			n["http://"+UimNS+"amount"] = w.literal(c.Right[0])
			n.text("unit", c.Unit.IRI)
		}
	}
	if r.settled != nil {
		n["http://"+UimNS+"timeInterval"] = r.settled
	}
	n.list("constraint", w.constraints(r.Constraints))
	for key, children := range map[string][]*Rule{"duty": r.Duties, "remedy": r.Remedies, "consequence": r.Consequences} {
		var list []any
		for _, child := range children {
			list = append(list, w.rule(child))
		}
		n.list(key, list)
	}
	if len(n) == 0 || len(n) == 1 && r.UID != "" { // without a type, the object would be a reference
		n["@type"] = map[RuleKind]string{Permission: "Permission", Prohibition: "Prohibition"}[r.Kind]
		if r.Kind.Duty() {
			n["@type"] = "Duty"
		}
	}
	return map[string]any(n)
}

// term returns a name as it is written with ODRL's context: a bare word, a prefixed name or an IRI.
func term(name string) string {
	switch {
	case strings.Contains(name, ":"):
		return name
	case slices.Contains(ccTerms, name):
		return "cc:" + name
	case slices.Contains(uimTerms, name) && name != "use":
		return "http://" + UimNS + name
	case name == "synchronize" || slices.Contains(deprecated, name):
		return "odrl:" + name
	default:
		return name
	}
}

func (w *writer) action(a *Action, price []*Constraint) any {
	if len(a.Refinements)+len(price)+len(a.notes) == 0 {
		return term(a.Name)
	}
	n := node{}
	n.describe(a.notes)
	name := term(a.Name)
	if !strings.Contains(name, ":") && (Known(actions, a.Name) || slices.Contains(actionClass.known, a.Name)) {
		name = "odrl:" + name
	}
	n["rdf:value"] = map[string]any{"@id": name}
	n.list("refinement", append(w.constraints(a.Refinements), w.constraints(price)...))
	return map[string]any(n)
}

func (w *writer) things(list []Reference, collection string) []any {
	var out []any
	for i := range list {
		out = append(out, w.thing(&list[i], collection))
	}
	return out
}

func (w *writer) thing(ref *Reference, collection string) any {
	plain := !ref.Collection && len(ref.Refinements)+len(ref.types)+len(ref.notes) == 0
	switch {
	case plain && blank(ref.IRI) && !ref.Literal:
		return map[string]any{"@type": strings.TrimSuffix(collection, "Collection")}
	case plain && ref.Literal && Absolute(ref.IRI):
		return map[string]any{"@value": ref.IRI}
	case plain:
		return ref.IRI
	}
	n := node{}
	n.describe(ref.notes)
	if !blank(ref.IRI) {
		n.text("uid", ref.IRI)
	}
	n.text("source", ref.Source)
	types := texts(ref.types)
	if ref.Collection {
		types = append([]any{collection}, types...)
	}
	n.set("@type", types)
	n.list("refinement", w.constraints(ref.Refinements))
	return map[string]any(n)
}

func (w *writer) constraints(list []*Constraint) []any {
	var out []any
	for _, c := range list {
		out = append(out, w.constraint(c))
	}
	return out
}

func (w *writer) constraint(c *Constraint) any {
	n := node{}
	n.describe(c.notes)
	n.text("uid", c.UID)
	if c.Logic != "" {
		n[c.Logic] = w.constraints(c.Operands)
		if c.Logic == "andSequence" {
			n[c.Logic] = map[string]any{"@list": w.constraints(c.Operands)}
		}
		return map[string]any(n)
	}
	n["leftOperand"] = term(c.Operand)
	n["operator"] = term(c.Operator)
	if c.Operator == "use" {
		n["operator"] = "http://" + UimNS + "use"
	}
	var right []any
	for _, l := range c.Right {
		right = append(right, w.literal(l))
	}
	n.set("rightOperand", right)
	n.set("rightOperandReference", iriList(c.RightRef))
	n.text("unit", c.Unit.IRI)
	n.text("dataType", c.DataType)
	if c.Status != "" {
		n["status"] = w.literal(c.state)
	}
	return map[string]any(n)
}

func (w *writer) literal(l Literal) any {
	var value any = l.Text
	if l.json != nil {
		value = l.json
	}
	if number, ok := value.(json.Number); ok && strictjson.Exact(number) != nil {
		value = string(number)
		l.dataType = cmp.Or(l.dataType, "http://"+xsdNS+"decimal")
	}
	switch {
	case l.Window && !strings.Contains(l.Start, "/"):
		return l.Start + "/" + l.End
	case l.Window:
		return map[string]any{"start": l.Start, "end": l.End}
	case l.iri:
		return map[string]any{"@id": l.Text}
	case l.language != "":
		return map[string]any{"@value": value, "@language": l.language}
	case l.dataType != "":
		return map[string]any{"@value": value, "@type": l.dataType}
	default:
		return value
	}
}

// outsiders returns the nodes of the document that are not part of a policy.
func (w *writer) outsiders() []any {
	nodes := map[string]node{}
	at := func(iri string) node {
		if nodes[iri] == nil {
			nodes[iri] = node{"@id": iri}
		}
		return nodes[iri]
	}
	for iri, d := range w.Facts.outside {
		if blank(iri) {
			continue
		}
		n := at(iri)
		n.describe(d)
		n.set("@type", texts(w.Facts.Instances[iri]))
	}
	for iri, class := range w.declared {
		n := at(iri)
		n.set("@type", append([]any{class}, texts(w.Facts.Instances[iri])...))
	}
	for key, relation := range map[string]map[string][]string{
		"partOf": w.Facts.PartOf, "includedIn": w.Facts.IncludedIn,
		"implies": w.Facts.Implies,
	} {
		for iri, list := range relation {
			if blank(iri) {
				continue
			}
			to := make([]any, 0, len(list))
			for _, name := range list {
				if key != "partOf" {
					name = term(name)
				}
				to = append(to, name)
			}
			at(iri).set(key, to)
		}
	}
	for _, policy := range SortedKeys(w.shared) {
		for property, key := range map[string]string{"target": "hasPolicy", "assigner": "assignerOf", "assignee": "assigneeOf"} {
			for i := range w.shared[policy][property] {
				w.link(at, &w.shared[policy][property][i], key, policy)
			}
		}
	}
	out := make([]any, 0, len(nodes))
	for _, iri := range SortedKeys(nodes) {
		if len(nodes[iri]) > 1 {
			out = append(out, map[string]any(nodes[iri]))
		}
	}
	return out
}

// link adds a reference to a policy to the node of an asset or a party, along with everything that is known about the asset or party.
func (w *writer) link(at func(string) node, ref *Reference, key, policy string) {
	n := at(ref.Name())
	collection := "PartyCollection"
	if key == "hasPolicy" {
		collection = "AssetCollection"
	}
	if m, ok := w.thing(ref, collection).(map[string]any); ok {
		maps.Copy(n, m)
		if ref.IRI == "" || blank(ref.IRI) {
			delete(n, "@id")
		}
		delete(n, "uid")
	}
	list, _ := n[key].([]any)
	n[key] = append(list, policy)
}

func texts(list []string) []any { return Anys(list) }

func iriList(list []Reference) []any {
	out := make([]any, 0, len(list))
	for i := range list {
		out = append(out, list[i].IRI)
	}
	return out
}

func objects(list []Reference) []any {
	out := make([]any, 0, len(list))
	for i := range list {
		out = append(out, map[string]any{"@id": list[i].IRI})
	}
	return out
}
