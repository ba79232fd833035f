package model

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/vocabulary"
)

// readContext reads the document's @context. It never fetches a remote context. It reports an unknown context: as a warning in lenient mode
// or if n.Served is set, otherwise as an error. It rejects a context that changes the meaning of an ODRL term.
func (n *Names) readContext(v any, pointer string) {
	for _, f := range ListOf(Field{Pointer: pointer, Value: v}) {
		switch c := f.Value.(type) {
		case string:
			switch {
			case n.knownContext(c) || n.publishersContext(c, f.Pointer):
			case n.Served:
				n.Problems.Warnf("remote-context", f.Pointer,
					"the context %s is unknown, and contexts are never fetched: terms are read as ODRL 2.2 and UIM define them", Quote(c))
			default:
				n.Problems.Doubtf("remote-context", f.Pointer,
					"the context %s is unknown, and contexts are never fetched: use http://%s, and declare other prefixes inline", Quote(c), contexts[0])
			}
		case map[string]any:
			n.inline(c, f.Pointer)
		default:
			n.Problems.Errorf("context", f.Pointer, "a context must be an IRI or an object, not %s", strictjson.Kind(c))
		}
	}
}

// knownContext reports whether v is the IRI of a context whose terms are built in.
func (n *Names) knownContext(v any) bool {
	s, _ := v.(string)
	rest, web := Bare(s)
	return web && (slices.Contains(contexts, rest) || slices.Contains(profiles, rest))
}

// publishersContext defines the names that the context of a built-in vocabulary gives to its terms. It does so even if the vocabulary is
// not loaded, so that each use of such a term gets a finding. It reports whether the context belongs to a built-in vocabulary.
func (n *Names) publishersContext(context, pointer string) bool {
	rest, web := Bare(context)
	words := vocabulary.InContext(rest)
	for _, word := range slices.Sorted(maps.Keys(words)) {
		n.define(word, words[word], pointer)
	}
	return web && words != nil
}

func (n *Names) inline(c map[string]any, pointer string) {
	for _, name := range SortedKeys(c) {
		at := pointer + "/" + strictjson.Escape(name)
		iri, ok := c[name].(string)
		if def, isObject := c[name].(map[string]any); isObject {
			iri, ok = def["@id"].(string)
			for _, k := range SortedKeys(def) {
				ok = ok && (k == "@id" || k == "@type" || k == "@container" || k == "@protected" || k == "@prefix")
			}
		}
		switch {
		case name == "@version" || name == "@protected":
		case name == "@vocab" && ok && strings.HasSuffix(n.Expand(iri), OdrlNS):
		case name == "@vocab" && ok && n.around && Absolute(n.Expand(iri)): // the @vocab applies to the definition, not to the policy inside it
		case strings.HasPrefix(name, "@") || !ok:
			n.Problems.Errorf("context", at, "%s in a context is not supported: write full IRIs or plain prefixes", Quote(name))
		default:
			n.define(name, n.Expand(iri), at)
		}
	}
}

// reserved returns all words that have a meaning in ODRL or UIM.
var reserved = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{"id": true, "perm": true, "prohibit": true, "invalid": true, "policyUsage": true}
	for _, list := range [][]string{
		keys, operators, slices.Collect(maps.Keys(actions)), slices.Collect(maps.Keys(ActionAliases)),
		slices.Collect(maps.Keys(operatorAliases)), slices.Collect(maps.Keys(operandByName)),
		slices.Collect(maps.Keys(OperandAliases)), slices.Collect(maps.Keys(PolicyTypes)),
		strings.Fields("Rule Permission Prohibition Duty Asset AssetCollection Party PartyCollection Action Constraint LogicalConstraint"),
	} {
		for _, name := range list {
			m[name] = true
		}
	}
	return m
})

func (n *Names) define(name, iri, at string) {
	rest, web := Bare(iri)
	if builtin, ok := prefixes[name]; ok {
		if was, _ := Bare(builtin); was != rest && (name == "odrl" || name == "rdf" || name == "xsd" || name == "cc") {
			n.Problems.Errorf("context", at, "the prefix %s cannot be redefined: it always means %s", name, builtin)
			return
		}
		n.prefixes[name] = iri
		return
	}
	if reserved()[name] {
		own := []string{
			OdrlNS + name, OdrlNS + operatorAliases[name], OdrlNS + ActionAliases[name], OdrlNS + OperandAliases[name],
			ccNS + name, ccNS + ActionAliases[name], UimNS + name,
		}
		if name == "uid" || name == "id" {
			own = []string{"@id"}
		}
		if name == "type" {
			own = []string{"@type"}
		}
		if !slices.Contains(own, rest) {
			n.Problems.Errorf("context", at, "the context changes the meaning of the ODRL term %s: use a different name", name)
		}
		return
	}
	switch {
	case iri == "@id" || iri == "@type":
		n.Problems.Errorf("context", at, "%s as an alias of %s is not supported: write uid and type instead", Quote(name), iri)
	case web && (strings.HasSuffix(iri, "/") || strings.HasSuffix(iri, "#") || strings.HasSuffix(iri, ":")):
		n.prefixes[name] = iri
	case strings.Contains(iri, ":"):
		n.aliases[name] = iri
	default:
		n.Problems.Errorf("context", at, "%s must be mapped to an absolute IRI", Quote(name))
	}
}
