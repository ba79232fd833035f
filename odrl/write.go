package odrl

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// canonicalDocument writes a document as ODRL's own JSON-LD, in the canonical form of RFC 8785; nil where something failed.
func canonicalDocument(ctx context.Context, doc []byte, profiles []string, found *findings) []byte {
	tree := decodeTree(doc, found)
	if found.failed() {
		return nil
	}
	names := newNames(tree, nil, found)
	names.profiles = profiles
	r := newReader(ctx, names)
	list := r.documents(tree)
	if len(list) == 0 {
		found.Errorf("no-policy", "", "the document holds no policy")
	}
	if found.failed() {
		return nil
	}
	out, err := strictjson.Canonical(exactly((&writer{r}).document(list)))
	if err != nil {
		found.Errorf("inexact", "", "the policy cannot be written: %v", err)
		return nil
	}
	return out
}

// exactly writes numbers that RFC 8785 would change as texts.
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

// A node is a JSON object to be written; what is empty is left out.
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

func (w *writer) document(list []*document) map[string]any {
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

func (w *writer) policy(d *document) node {
	n := node{}
	n.describe(d.notes)
	n.text("uid", d.uid)
	types := texts(d.types)
	if len(types) == 0 {
		types = []any{"Set"}
	}
	n.set("@type", append(types, texts(d.classes)...))
	n.set("profile", iriList(d.profiles))
	n.set("inheritFrom", iriList(d.inherits))
	n.set("dct:isReplacedBy", objects(d.replacedBy))
	var strategies []any
	for _, s := range d.strategies {
		strategies = append(strategies, s.String())
	}
	n.set("conflict", strategies)
	w.common(n, d.actions, d.targets, d.relations, d.parties)
	groups := map[ruleKind][]any{}
	for _, r := range d.rules {
		if len(r.targets) == 0 && len(d.targets) == 0 && len(d.asset) > 0 {
			with := *r
			with.targets = d.asset
			r = &with
		}
		groups[r.kind] = append(groups[r.kind], w.rule(r))
	}
	for _, kind := range []ruleKind{permission, prohibition, obligation} {
		n.list(kind.String(), groups[kind])
	}
	return n
}

// common writes what policies and rules have alike.
func (w *writer) common(n node, actions []actionNode, targets []reference, relations, parties map[string][]reference) {
	var list []any
	for i := range actions {
		list = append(list, w.action(&actions[i], nil))
	}
	n.set("action", list)
	n.set("target", w.things(targets, "AssetCollection"))
	for _, key := range sortedKeys(relations) {
		n.set(key, w.things(relations[key], "AssetCollection"))
	}
	for _, fn := range sortedKeys(parties) {
		n.set(fn, w.things(parties[fn], "PartyCollection"))
	}
}

func (w *writer) rule(r *ruleNode) any {
	n := node{}
	n.describe(r.notes)
	n.text("uid", r.uid)
	w.common(n, nil, r.targets, r.relations, r.parties)
	pays := slices.ContainsFunc(r.actions, func(a actionNode) bool { return a.name == "compensate" })
	var list []any
	for i := range r.actions {
		var price []*constraintNode
		if r.actions[i].name == "compensate" {
			price = r.amounts
		}
		list = append(list, w.action(&r.actions[i], price))
	}
	n.set("action", list)
	if !pays {
		for _, c := range r.amounts {
			n["http://"+uimNS+"amount"] = w.literal(c.right[0])
			n.text("unit", c.unit.iri)
		}
	}
	if r.settled != nil {
		n["http://"+uimNS+"timeInterval"] = r.settled
	}
	n.list("constraint", w.constraints(r.constraints))
	for key, children := range map[string][]*ruleNode{"duty": r.duties, "remedy": r.remedies, "consequence": r.consequences} {
		var list []any
		for _, child := range children {
			list = append(list, w.rule(child))
		}
		n.list(key, list)
	}
	if len(n) == 0 || len(n) == 1 && r.uid != "" { // or it would only refer to itself
		n["@type"] = map[ruleKind]string{permission: "Permission", prohibition: "Prohibition"}[r.kind]
		if r.kind.duty() {
			n["@type"] = "Duty"
		}
	}
	return map[string]any(n)
}

// term writes the name of a term as the context of ODRL knows it, or as an IRI.
func term(name string) string {
	switch {
	case strings.Contains(name, ":"):
		return name
	case slices.Contains(ccTerms, name):
		return "cc:" + name
	case slices.Contains(uimTerms, name) && name != "use":
		return "http://" + uimNS + name
	case name == "synchronize" || slices.Contains(deprecated, name):
		return "odrl:" + name
	default:
		return name
	}
}

func (w *writer) action(a *actionNode, price []*constraintNode) any {
	if len(a.refinements)+len(price)+len(a.notes) == 0 {
		return term(a.name)
	}
	n := node{}
	n.describe(a.notes)
	name := term(a.name)
	if !strings.Contains(name, ":") && (known(actions, a.name) || slices.Contains(actionClass.known, a.name)) {
		name = "odrl:" + name
	}
	n["rdf:value"] = map[string]any{"@id": name}
	n.list("refinement", append(w.constraints(a.refinements), w.constraints(price)...))
	return map[string]any(n)
}

func (w *writer) things(list []reference, collection string) []any {
	var out []any
	for i := range list {
		out = append(out, w.thing(&list[i], collection))
	}
	return out
}

func (w *writer) thing(ref *reference, collection string) any {
	plain := !ref.collection && len(ref.refinements)+len(ref.types)+len(ref.notes) == 0
	switch {
	case plain && blank(ref.iri) && !ref.literal:
		return map[string]any{"@type": strings.TrimSuffix(collection, "Collection")}
	case plain && ref.literal && absolute(ref.iri):
		return map[string]any{"@value": ref.iri}
	case plain:
		return ref.iri
	}
	n := node{}
	n.describe(ref.notes)
	if !blank(ref.iri) {
		n.text("uid", ref.iri)
	}
	n.text("source", ref.source)
	types := texts(ref.types)
	if ref.collection {
		types = append([]any{collection}, types...)
	}
	n.set("@type", types)
	n.list("refinement", w.constraints(ref.refinements))
	return map[string]any(n)
}

func (w *writer) constraints(list []*constraintNode) []any {
	var out []any
	for _, c := range list {
		out = append(out, w.constraint(c))
	}
	return out
}

func (w *writer) constraint(c *constraintNode) any {
	n := node{}
	n.describe(c.notes)
	n.text("uid", c.uid)
	if c.logic != "" {
		n[c.logic] = w.constraints(c.operands)
		if c.logic == "andSequence" {
			n[c.logic] = map[string]any{"@list": w.constraints(c.operands)}
		}
		return map[string]any(n)
	}
	n["leftOperand"] = term(c.operand)
	n["operator"] = term(c.operator)
	if c.operator == "use" {
		n["operator"] = "http://" + uimNS + "use"
	}
	var right []any
	for _, l := range c.right {
		right = append(right, w.literal(l))
	}
	n.set("rightOperand", right)
	n.set("rightOperandReference", iriList(c.rightRef))
	n.text("unit", c.unit.iri)
	n.text("dataType", c.dataType)
	if c.status != "" {
		n["status"] = w.literal(c.state)
	}
	return map[string]any(n)
}

func (w *writer) literal(l literal) any {
	var value any = l.text
	if l.json != nil {
		value = l.json
	}
	if number, ok := value.(json.Number); ok && strictjson.Exact(number) != nil {
		value = string(number)
		if l.dataType == "" {
			l.dataType = "http://" + xsdNS + "decimal"
		}
	}
	switch {
	case l.window && !strings.Contains(l.start, "/"):
		return l.start + "/" + l.end
	case l.window:
		return map[string]any{"start": l.start, "end": l.end}
	case l.iri:
		return map[string]any{"@id": l.text}
	case l.language != "":
		return map[string]any{"@value": value, "@language": l.language}
	case l.dataType != "":
		return map[string]any{"@value": value, "@type": l.dataType}
	default:
		return value
	}
}

// outsiders writes what the document says beside its policies, a node for each thing.
func (w *writer) outsiders() []any {
	nodes := map[string]node{}
	at := func(iri string) node {
		if nodes[iri] == nil {
			nodes[iri] = node{"@id": iri}
		}
		return nodes[iri]
	}
	for iri, d := range w.facts.outside {
		if blank(iri) {
			continue
		}
		n := at(iri)
		n.describe(d)
		n.set("@type", texts(w.facts.instances[iri]))
	}
	for iri, class := range w.declared {
		n := at(iri)
		n.set("@type", append([]any{class}, texts(w.facts.instances[iri])...))
	}
	for key, relation := range map[string]map[string][]string{"partOf": w.facts.partOf, "includedIn": w.facts.includedIn, "implies": w.facts.implies} {
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
	for _, policy := range sortedKeys(w.shared) {
		for property, key := range map[string]string{"target": "hasPolicy", "assigner": "assignerOf", "assignee": "assigneeOf"} {
			for i := range w.shared[policy][property] {
				w.link(at, &w.shared[policy][property][i], key, policy)
			}
		}
	}
	out := make([]any, 0, len(nodes))
	for _, iri := range sortedKeys(nodes) {
		if len(nodes[iri]) > 1 {
			out = append(out, map[string]any(nodes[iri]))
		}
	}
	return out
}

// link writes that an asset or party has to do with a policy, with all that is known of it.
func (w *writer) link(at func(string) node, ref *reference, key, policy string) {
	n := at(ref.name())
	collection := "PartyCollection"
	if key == "hasPolicy" {
		collection = "AssetCollection"
	}
	if m, ok := w.thing(ref, collection).(map[string]any); ok {
		maps.Copy(n, m)
		if ref.iri == "" || blank(ref.iri) {
			delete(n, "@id")
		}
		delete(n, "uid")
	}
	list, _ := n[key].([]any)
	n[key] = append(list, policy)
}

func texts(list []string) []any { return anys(list) }

func iriList(list []reference) []any {
	out := make([]any, 0, len(list))
	for i := range list {
		out = append(out, list[i].iri)
	}
	return out
}

func objects(list []reference) []any {
	out := make([]any, 0, len(list))
	for i := range list {
		out = append(out, map[string]any{"@id": list[i].iri})
	}
	return out
}
