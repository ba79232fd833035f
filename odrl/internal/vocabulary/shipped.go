package vocabulary

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed shipped/*.ttl
var files embed.FS

// Names returns the names of the built-in vocabularies, sorted.
func Names() []string {
	entries, _ := files.ReadDir("shipped")
	list := make([]string, 0, len(entries))
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), ".ttl"))
	}
	slices.Sort(list)
	return list
}

// shipped returns the built-in vocabularies by name.
var shipped = sync.OnceValue(func() map[string]*Vocabulary {
	m := map[string]*Vocabulary{}
	for _, name := range Names() {
		doc, err := files.ReadFile(path.Join("shipped", name+".ttl"))
		if err == nil {
			m[name], err = Read(name, doc)
		}
		if err != nil { // cannot happen: a test reads each of them
			panic(fmt.Sprintf("the vocabulary %s: %v", name, err))
		}
	}
	return m
})

// Shipped returns the built-in vocabulary with the given name, or nil if there is none.
func Shipped(name string) *Vocabulary { return shipped()[name] }

// A context is a JSON-LD context in which terms of a vocabulary need no prefix.
type context struct{ name, prefix, namespace string }

// contexts are the contexts of the publishers, by address without the scheme.
var contexts = map[string]context{
	"w3id.org/catenax/2025/9/policy/context.jsonld": {"catena-x", "cx-policy", "https://w3id.org/catenax/2025/9/policy/"},
}

// InContext returns the names that a publisher's context defines: the IRI of each term by its name, and the namespace by its prefix. It
// returns nil for any other address. The address must not have a scheme.
func InContext(address string) map[string]string {
	c, ok := contexts[address]
	if !ok {
		return nil
	}
	words := map[string]string{c.prefix: c.namespace}
	for iri := range shipped()[c.name].Terms {
		if word, within := strings.CutPrefix(iri, c.namespace); within {
			words[word] = iri
		}
	}
	return words
}

// NameOf returns the name of the built-in vocabulary to which the IRI belongs, as its profile or as one of its terms. It returns "" if
// there is none.
func NameOf(iri string) string {
	for _, name := range Names() {
		v := shipped()[name]
		if t := v.Terms[iri]; t != nil && (t.Class != "" || t.Same != "") || slices.Contains(v.Profiles, iri) {
			return name
		}
	}
	return ""
}
