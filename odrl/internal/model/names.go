package model

import (
	"slices"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/internal/suggest"
)

// Names resolves the names in a document. Prefixes and aliases of the document's inline context take precedence over the built-in ones.
type Names struct {
	Problems   *Findings
	prefixes   map[string]string // in addition to the built-in ones
	aliases    map[string]string // term of the document → IRI
	Namespaces []string          // the namespaces of ODRL and profile terms, without scheme
	keyNames   map[string]keyName
	loose      []spelling
	Searched   int               // the number of steps spent on searches for contradictory constraints
	declared   map[string]string // terms that the document itself defines, with their class
	Served     bool              // the policy is read for Publish, so the gateway must be able to enforce it
	profiles   []string          // known in addition to the built-in ones, as full IRIs
	open       bool              // unknown terms are accepted as those of a declared profile
	added      additions         // the terms that vocabularies add
	around     bool              // the context belongs to the object that contains the policy
}

// A spelling is a term that ODRL 2.2 deprecates or does not have, and the term that it is read as.
type spelling struct{ pointer, what, written, meant string }

// A keyName caches the result of key.
type keyName struct {
	name      string
	described bool
}

// Bare removes the scheme of a web IRI. For any other string, it returns the string unchanged and false.
func Bare(iri string) (string, bool) {
	for _, scheme := range []string{"http://", "https://"} {
		if rest, ok := strings.CutPrefix(iri, scheme); ok {
			return rest, true
		}
	}
	return iri, false
}

func (n *Names) prefix(p string) (string, bool) {
	if iri, ok := n.prefixes[p]; ok {
		return iri, true
	}
	iri, ok := prefixes[p]
	return iri, ok
}

// Expand replaces an alias or a prefix with its IRI. It returns any other string unchanged.
func (n *Names) Expand(s string) string {
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

// Local returns the local name of a term, given as a bare word or as an IRI in one of the namespaces. It returns false for any other
// string.
func (n *Names) Local(s string, namespaces ...[]string) (string, bool) {
	s = n.Expand(s)
	if same, ok := n.added.same[s]; ok {
		s = same
	}
	if !strings.Contains(s, ":") {
		return s, s != ""
	}
	rest, web := Bare(s)
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

// AboutTheCall reports whether an IRI is one of the targets of UIM duties that are not assets: the payload or the price of the call. See
// UIM core, section 6.2.
func (n *Names) AboutTheCall(iri string) bool {
	name, ok := n.Local(iri, n.Namespaces)
	return ok && Absolute(n.Expand(iri)) && (name == "payload" || name == "intentPrice")
}

// key returns the canonical name of a property: a property of ODRL or UIM, a JSON-LD keyword or rdf:value. It returns an unknown property
// unchanged. described is set if the property only describes its node; name may then be empty.
func (n *Names) key(raw string) (name string, described bool) {
	if known, ok := n.keyNames[raw]; ok {
		return known.name, known.described
	}
	name, described = n.findKey(raw)
	const most = 10_000 // bounds the memory, because a document may have very many names
	if len(n.keyNames) < most {
		n.keyNames[raw] = keyName{name, described}
	}
	return name, described
}

func (n *Names) findKey(raw string) (name string, described bool) {
	if strings.HasPrefix(raw, "@") {
		return raw, false
	}
	name, ok := n.Local(raw, n.Namespaces)
	if rest, _ := Bare(n.Expand(raw)); strings.HasPrefix(rest, ccNS) {
		ok = false // ODRL adopts the actions of Creative Commons, but not its properties
	}
	if !ok {
		rest, _ := Bare(n.Expand(raw))
		if local, ok := strings.CutPrefix(rest, ccNS); ok && slices.Contains(licences, local) {
			return "", true
		}
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
	return name, slices.Contains(describing, name)
}

// A class is a set of terms that are valid for a value.
type class struct {
	what    string
	known   []string
	aliases map[string]string
	grows   bool // profiles may add terms
}

// term resolves a value to a term of the class. It returns the local name of a term of ODRL or UIM. If the class may grow, it also accepts
// terms of vocabularies, of the document and of open profiles, and returns their IRIs. It reports any other value and suggests the nearest
// term; in lenient mode, a class that may grow accepts such a value nevertheless.
func (n *Names) term(c class, f Field, raw string) (string, bool) {
	name, ok := n.Local(raw, n.Namespaces)
	if ok {
		written := name
		if alias, found := c.aliases[name]; found {
			name = alias
		}
		if slices.Contains(c.known, name) {
			if written != name || slices.Contains(deprecated, name) || slices.Contains(uimTerms, name) {
				n.loose = append(n.loose, spelling{f.Pointer, c.what, written, name})
			}
			return name, true
		}
	} else {
		name = LastName(raw)
	}
	full := n.Expand(raw)
	foreign := c.grows && !n.ofODRL(full)
	if foreign && n.added.classes[full] == c.what {
		return full, true
	}
	if c.grows && n.open && ok { // a term of the profile, written bare or in ODRL's namespace
		n.Problems.Warnf("profile-term", f.Pointer, "%s is read as a term of the profile (%s)", Quote(raw), c.what)
		return name, true
	}
	switch {
	case foreign && n.declared[full] != "":
		return full, true
	case foreign && n.open:
		n.Problems.Warnf("profile-term", f.Pointer, "%s is read as a term of the profile (%s)", Quote(raw), c.what)
		return full, true
	case c.grows && n.Problems.Lenient:
		n.Problems.Warnf("unknown-term", f.Pointer, "%s is not a known %s%s", Quote(raw), c.what, n.otherwise(c, name, full))
		return full, true
	}
	n.Problems.Errorf("unknown-term", f.Pointer, "%s is not a known %s%s", Quote(raw), c.what, n.otherwise(c, name, full))
	return "", false
}

// ofODRL reports whether the IRI is in ODRL's own namespace, to which only ODRL's vocabulary adds terms.
func (n *Names) ofODRL(iri string) bool {
	rest, _ := Bare(iri)
	return strings.HasPrefix(rest, OdrlNS)
}

// LastName returns the part of an IRI after the last slash, hash or colon.
func LastName(s string) string { return s[strings.LastIndexAny(s, "/#:")+1:] }

// Suggest returns the end of a message that suggests the most similar of the known names. It returns "" if none is similar.
func Suggest(name string, known []string) string {
	if near := suggest.Name(name, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// Quote quotes s, which comes from a document, for a message. It cuts s after 120 bytes and adds an ellipsis, escapes quotation marks and
// backslashes, and replaces invisible characters and those that change the direction of text.
func Quote(s string) string {
	const most = 120
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteRune(unicode.ReplacementChar)
		}
	}
	b.WriteByte('"')
	return b.String()
}
