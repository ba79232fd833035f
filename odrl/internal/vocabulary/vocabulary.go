// Package vocabulary reads the additions of a profile to ODRL: its actions and left operands, the hierarchy of its terms, how the values of
// its operands are compared, and the names of its terms in plain words (ODRL IM 2.2, section 3; ODRL Profile Best Practices). It reads a
// file in Turtle or JSON-LD and fetches nothing. The vocabularies in the folder shipped are built in, under the names of their files.
package vocabulary

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/triples"
)

// A Vocabulary holds the terms of one profile, by IRI.
type Vocabulary struct {
	Name     string           // for messages: a shipped name, or the path of a file
	Profiles []string         // the IRIs that policies use for it
	Terms    map[string]*Term // by IRI
}

// A Term is an action, a left operand, or a value that constraints compare with.
type Term struct {
	Class      string   // Action, LeftOperand, or empty for a value
	Same       string   // the IRI of the ODRL term with the same meaning; empty if there is none
	IncludedIn []string // actions
	Implies    []string
	Within     []string // the classes and broader values that a value is part of
	Range      string   // for a left operand: the local name of an XML Schema datatype
	Like       string   // for a left operand: the ODRL operand that it narrows
	Words      string   // its name in a sentence; if empty, its IRI
}

const (
	rdf  = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	rdfs = "http://www.w3.org/2000/01/rdf-schema#"
	owl  = "http://www.w3.org/2002/07/owl#"
	skos = "http://www.w3.org/2004/02/skos/core#"
	dct  = "http://purl.org/dc/terms/"
	xsd  = "http://www.w3.org/2001/XMLSchema#"
	odrl = "http://www.w3.org/ns/odrl/2/"
)

// documents are the classes of the things that a policy may name as its profile.
var documents = []string{
	odrl + "Profile", owl + "Ontology", skos + "Collection", skos + "ConceptScheme", "http://www.w3.org/ns/dx/prof/Profile",
}

// described are the namespaces of classes that concern the form of a term and not its meaning.
var described = []string{rdf, rdfs, owl, skos, odrl, xsd}

// ErrProfile means that a vocabulary has nothing that a policy can use.
var ErrProfile = errors.New("not an ODRL profile")

// Read reads a vocabulary; name is its name in messages. The error wraps triples.ErrVocabulary or ErrProfile.
func Read(name string, doc []byte) (*Vocabulary, error) {
	list, err := triples.Read(doc)
	if err != nil {
		return nil, err
	}
	v := &Vocabulary{Name: name, Terms: map[string]*Term{}}
	labels := map[string]label{}
	for _, t := range list {
		v.take(t, labels)
	}
	usable := slices.ContainsFunc(list, func(t triples.Triple) bool { // a profile may add no terms
		return t.Predicate == rdf+"type" && t.Object.Value == odrl+"Profile"
	})
	for iri, t := range v.Terms {
		usable = usable || t.Class != "" || t.Same != "" || len(t.Within) > 0
		t.Words = plain(labels[iri].text)
	}
	if !usable {
		return nil, fmt.Errorf("%w: it has no action, no left operand and no hierarchy of values", ErrProfile)
	}
	return v, nil
}

func (v *Vocabulary) term(iri string) *Term {
	t, ok := v.Terms[iri]
	if !ok {
		t = &Term{}
		v.Terms[iri] = t
	}
	return t
}

// take reads one statement. It ignores statements about ODRL's own terms and about blank nodes.
func (v *Vocabulary) take(t triples.Triple, labels map[string]label) {
	if strings.HasPrefix(t.Subject, odrl) || strings.HasPrefix(t.Subject, "_:") {
		return
	}
	o := t.Object
	if o.Literal {
		if best, ok := ranks[t.Predicate]; ok && (o.Language == "" || strings.HasPrefix(o.Language, "en")) && best > labels[t.Subject].rank {
			labels[t.Subject] = label{o.Value, best}
		}
		return
	}
	switch t.Predicate {
	case rdf + "type":
		v.typed(t.Subject, o.Value)
	case odrl + "includedIn":
		v.broader(t.Subject, o.Value)
	case odrl + "implies":
		x := v.term(t.Subject)
		x.Class, x.Implies = "Action", append(x.Implies, o.Value)
	case skos + "exactMatch", owl + "sameAs", owl + "equivalentProperty", owl + "equivalentClass":
		if strings.HasPrefix(o.Value, odrl) {
			v.term(t.Subject).Same = o.Value
		}
	case skos + "broader", skos + "broaderTransitive", rdfs + "subClassOf", dct + "isPartOf", rdfs + "subPropertyOf":
		x := v.term(t.Subject)
		if like, ok := strings.CutPrefix(o.Value, odrl); ok {
			x.Like = like
			return
		}
		x.Within = append(x.Within, o.Value)
	case rdfs + "range":
		if r, ok := strings.CutPrefix(o.Value, xsd); ok {
			v.term(t.Subject).Range = r
		}
	}
}

func (v *Vocabulary) broader(action, broad string) {
	x := v.term(action)
	x.Class, x.IncludedIn = "Action", append(x.IncludedIn, broad)
}

func (v *Vocabulary) typed(subject, class string) {
	switch {
	case slices.Contains(documents, class):
		if !slices.Contains(v.Profiles, subject) {
			v.Profiles = append(v.Profiles, subject)
		}
	case class == odrl+"Action", class == odrl+"LeftOperand":
		v.term(subject).Class = strings.TrimPrefix(class, odrl)
	case !slices.ContainsFunc(described, func(ns string) bool { return strings.HasPrefix(class, ns) }):
		x := v.term(subject)
		x.Within = append(x.Within, class)
	}
}

// A label is a name in plain words. If a term has several, the one with the highest rank is used.
type label struct {
	text string
	rank int
}

var ranks = map[string]int{skos + "prefLabel": 3, rdfs + "label": 2, dct + "title": 1}

// plain returns a label in the form for a sentence: at most five words of letters, digits and hyphens, in lowercase except for acronyms.
// It returns "" for any other label, because a label might mislead in a sentence that describes a decision.
func plain(s string) string {
	const most = 40
	words := strings.Fields(s)
	ok := len(words) > 0 && len(words) <= 5 && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool {
		return r != ' ' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if !ok {
		return ""
	}
	for i, w := range words {
		if strings.ToUpper(w) != w { // acronyms such as AI stay unchanged
			words[i] = strings.ToLower(split(w))
		}
	}
	return strings.Join(words, " ")
}

// split separates joined words, as in FrameworkAgreement.
func split(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && r >= 'A' && r <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}
