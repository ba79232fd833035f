package odrl

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/nearest"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// names resolves the spellings of a document: prefixes and aliases of its inline context over the
// built-in ones, and the namespaces in which profile terms are looked up.
type names struct {
	problems   *findings
	prefixes   map[string]string // beyond the built-in ones
	aliases    map[string]string // term of the document → IRI
	namespaces []string          // of ODRL and profile terms, without scheme
}

// bare drops the scheme of a web IRI.
func bare(iri string) (string, bool) {
	for _, scheme := range []string{"http://", "https://"} {
		if rest, ok := strings.CutPrefix(iri, scheme); ok {
			return rest, true
		}
	}
	return iri, false
}

func (n *names) prefix(p string) (string, bool) {
	if iri, ok := n.prefixes[p]; ok {
		return iri, true
	}
	iri, ok := prefixes[p]
	return iri, ok
}

// expand writes out an alias or a prefix.
func (n *names) expand(s string) string {
	if iri, ok := n.aliases[s]; ok {
		return iri
	}
	p, local, ok := strings.Cut(s, ":")
	if !ok || strings.HasPrefix(local, "//") {
		return s
	}
	if iri, ok := n.prefix(p); ok {
		return iri + local
	}
	return s
}

// local returns the name of a term: of a bare word, or of an IRI in one of the given namespaces.
func (n *names) local(s string, namespaces ...[]string) (string, bool) {
	s = n.expand(s)
	if !strings.Contains(s, ":") {
		return s, s != ""
	}
	rest, web := bare(s)
	if !web {
		return "", false
	}
	for _, list := range namespaces {
		for _, ns := range list {
			if name, ok := strings.CutPrefix(rest, ns); ok && name != "" && !strings.ContainsAny(name, "/#?") {
				return name, true
			}
		}
	}
	return "", false
}

// key returns the canonical name of a property: a property of ODRL or UIM, an @-keyword, rdf:value,
// or "" with described set for one that only describes. An unknown one comes back as it is.
func (n *names) key(raw string) (name string, described bool) {
	if strings.HasPrefix(raw, "@") {
		return raw, false
	}
	name, ok := n.local(raw, n.namespaces)
	if !ok {
		rest, _ := bare(n.expand(raw))
		if rest == rdfNS+"value" {
			return "rdf:value", false
		}
		if rest == rdfNS+"type" {
			return "@type", false
		}
		for _, ns := range annotations {
			if local, ok := strings.CutPrefix(rest, ns); ok {
				if local == "isReplacedBy" {
					return local, false
				}
				return "", true
			}
		}
		return raw, false
	}
	switch name {
	case "uid", "id":
		return "@id", false
	case "type":
		return "@type", false
	case "datatype":
		return "dataType", false
	}
	return name, slices.Contains(notes, name)
}

// A class is one set of terms that a value may come from.
type class struct {
	what    string
	known   []string
	aliases map[string]string
}

// term resolves a value to a term of the class; where there is none it reports the nearest.
func (n *names) term(c class, f field, raw string) (string, bool) {
	name, ok := n.local(raw, n.namespaces)
	if ok {
		if alias, found := c.aliases[name]; found {
			name = alias
		}
		if slices.Contains(c.known, name) {
			return name, true
		}
	} else {
		name = lastName(raw)
	}
	n.problems.Errorf("unknown-term", f.pointer, "%s is no %s that is known here%s", quote(raw), c.what, suggest(name, c.known))
	return "", false
}

// lastName is what stands behind the last separator of an IRI, for suggestions only.
func lastName(s string) string { return s[strings.LastIndexAny(s, "/#:")+1:] }

func suggest(name string, known []string) string {
	if near := nearest.Name(name, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// quote makes a text from the document fit for a message.
func quote(s string) string {
	const most = 120
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '�'
		}
		return r
	}, s) + `"`
}

// readContext takes in the document's @context. Remote contexts are recognised or, with a warning,
// left alone; they are never fetched. A context that gives an ODRL term another meaning is refused.
func (n *names) readContext(v any, pointer string) {
	for _, f := range listOf(field{pointer: pointer, value: v}) {
		switch c := f.value.(type) {
		case string:
			rest, _ := bare(c)
			if !slices.Contains(contexts, rest) && !slices.Contains(profiles, rest) {
				n.problems.Warnf("remote-context", f.pointer, "the context %s is not known and never fetched: terms are read as ODRL 2.2 and UIM define them", quote(c))
			}
		case map[string]any:
			n.inline(c, f.pointer)
		default:
			n.problems.Errorf("context", f.pointer, "a context is an IRI or an object, not %s", strictjson.Kind(c))
		}
	}
}

func (n *names) inline(c map[string]any, pointer string) {
	known := func(name string) bool {
		return slices.Contains(keys, name) || name == "id" || actions[name] != "" || name == "use" || slices.Contains(operators, name) || operands[name] != 0
	}
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
			n.define(name, n.expand(iri), at, known)
		}
	}
}

func (n *names) define(name, iri, at string, known func(string) bool) {
	rest, web := bare(iri)
	if builtin, ok := prefixes[name]; ok {
		if was, _ := bare(builtin); was != rest && (name == "odrl" || name == "rdf" || name == "xsd" || name == "cc") {
			n.problems.Errorf("context", at, "the prefix %s always means %s", name, builtin)
			return
		}
		n.prefixes[name] = iri
		return
	}
	if known(name) {
		own := []string{odrlNS + name, odrlNS + operatorAliases[name], ccNS + name, uimNS + name}
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
