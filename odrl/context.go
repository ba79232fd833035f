package odrl

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// readContext takes in the document's @context. Remote contexts are recognised or, with a warning,
// left alone; they are never fetched. A context that gives an ODRL term another meaning is refused.
func (n *names) readContext(v any, pointer string) {
	for _, f := range listOf(field{pointer: pointer, value: v}) {
		switch c := f.value.(type) {
		case string:
			switch {
			case n.knownContext(c):
			case n.served:
				n.problems.Warnf("remote-context", f.pointer, "the context %s is not known and never fetched: terms are read as ODRL 2.2 and UIM define them", quote(c))
			default:
				n.problems.Doubtf("remote-context", f.pointer, "the context %s is not known and never fetched: use http://%s, and write other prefixes inline", quote(c), contexts[0])
			}
		case map[string]any:
			n.inline(c, f.pointer)
		default:
			n.problems.Errorf("context", f.pointer, "a context is an IRI or an object, not %s", strictjson.Kind(c))
		}
	}
}

// knownContext reports whether the context is one whose terms are built in.
func (n *names) knownContext(v any) bool {
	s, _ := v.(string)
	rest, web := bare(s)
	return web && (slices.Contains(contexts, rest) || slices.Contains(profiles, rest))
}

func (n *names) inline(c map[string]any, pointer string) {
	for _, name := range sortedKeys(c) {
		at := pointer + "/" + strictjson.Escape(name)
		iri, ok := c[name].(string)
		if def, isObject := c[name].(map[string]any); isObject {
			iri, ok = def["@id"].(string)
			for _, k := range sortedKeys(def) {
				ok = ok && (k == "@id" || k == "@type" || k == "@container" || k == "@protected" || k == "@prefix")
			}
		}
		switch {
		case name == "@version" || name == "@protected":
		case name == "@vocab" && ok && strings.HasSuffix(n.expand(iri), odrlNS):
		case strings.HasPrefix(name, "@") || !ok:
			n.problems.Errorf("context", at, "%s in a context is not supported: write full IRIs or plain prefixes", quote(name))
		default:
			n.define(name, n.expand(iri), at)
		}
	}
}

// reserved are all words that ODRL or UIM give a meaning.
var reserved = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{"id": true, "perm": true, "prohibit": true, "invalid": true, "policyUsage": true}
	for _, list := range [][]string{
		keys, operators, slices.Collect(maps.Keys(actions)), slices.Collect(maps.Keys(actionAliases)), slices.Collect(maps.Keys(operatorAliases)), slices.Collect(maps.Keys(operands)),
		slices.Collect(maps.Keys(operandAliases)), slices.Collect(maps.Keys(policyTypes)), strings.Fields("Rule Permission Prohibition Duty Asset AssetCollection Party PartyCollection Action Constraint LogicalConstraint"),
	} {
		for _, name := range list {
			m[name] = true
		}
	}
	return m
})

func (n *names) define(name, iri, at string) {
	rest, web := bare(iri)
	if builtin, ok := prefixes[name]; ok {
		if was, _ := bare(builtin); was != rest && (name == "odrl" || name == "rdf" || name == "xsd" || name == "cc") {
			n.problems.Errorf("context", at, "the prefix %s always means %s", name, builtin)
			return
		}
		n.prefixes[name] = iri
		return
	}
	if reserved()[name] {
		own := []string{odrlNS + name, odrlNS + operatorAliases[name], odrlNS + actionAliases[name], odrlNS + operandAliases[name], ccNS + name, ccNS + actionAliases[name], uimNS + name}
		if name == "uid" || name == "id" {
			own = []string{"@id"}
		}
		if name == "type" {
			own = []string{"@type"}
		}
		if !slices.Contains(own, rest) {
			n.problems.Errorf("context", at, "the context gives the ODRL term %s another meaning: use another name for it", name)
		}
		return
	}
	switch {
	case iri == "@id" || iri == "@type":
		n.problems.Errorf("context", at, "%s as an alias of %s is not supported: write uid and type", quote(name), iri)
	case web && (strings.HasSuffix(iri, "/") || strings.HasSuffix(iri, "#") || strings.HasSuffix(iri, ":")):
		n.prefixes[name] = iri
	case strings.Contains(iri, ":"):
		n.aliases[name] = iri
	default:
		n.problems.Errorf("context", at, "%s must stand for an absolute IRI", quote(name))
	}
}
