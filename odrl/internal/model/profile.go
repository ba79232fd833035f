package model

import (
	"cmp"
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/vocabulary"
)

// additions are the terms that vocabularies add to ODRL.
type additions struct {
	profiles []string
	classes  map[string]string   // IRI → "action" or "left operand"
	same     map[string]string   // IRI → the IRI of the equivalent term of ODRL
	words    map[string]string   // IRI → name in a sentence
	within   map[string][]string // value → the classes and values it is part of
	rows     map[string]*Operand
	included map[string][]string // action → the actions that include it; each by its IRI or its local name in ODRL
	implies  map[string][]string
}

// Adopt makes the terms of vocabularies known, whether or not the policy declares their profiles.
func (n *Names) Adopt(list []*vocabulary.Vocabulary) {
	n.added = additions{
		classes: map[string]string{}, same: map[string]string{}, words: map[string]string{}, within: map[string][]string{},
		rows: map[string]*Operand{}, included: map[string][]string{}, implies: map[string][]string{},
	}
	for _, v := range list {
		n.added.profiles = append(n.added.profiles, v.Profiles...)
		for iri, t := range v.Terms {
			if t.Same != "" {
				n.added.same[iri] = t.Same
			}
		}
	}
	for _, v := range list {
		for iri, t := range v.Terms {
			n.adoptTerm(iri, t)
		}
	}
}

func (n *Names) adoptTerm(iri string, t *vocabulary.Term) {
	if t.Same != "" {
		return
	}
	if t.Words != "" {
		n.added.words[iri] = t.Words
	}
	for _, w := range t.Within {
		Relate(n.added.within, iri, w)
	}
	switch t.Class {
	case "Action":
		n.added.classes[iri] = actionClass.what
		for _, relation := range []struct {
			list []string
			into map[string][]string
		}{{t.IncludedIn, n.added.included}, {t.Implies, n.added.implies}} {
			for _, to := range relation.list {
				Relate(relation.into, iri, n.actionNamed(to))
			}
		}
		if len(t.IncludedIn) == 0 { // ODRL V 2.2, section 2.4: use or transfer includes every other action
			Relate(n.added.included, iri, "use")
		}
	case "LeftOperand":
		n.added.classes[iri] = operandClass.what
		if row := rowOf(iri, t); row != nil {
			n.added.rows[iri] = row
		}
	}
}

// actionNamed returns the local name of an action of ODRL or UIM, and the IRI of any other action.
func (n *Names) actionNamed(iri string) string {
	name, ok := n.Local(iri, []string{OdrlNS, ccNS, UimNS})
	if alias, aliased := ActionAliases[name]; ok && aliased {
		name = alias
	}
	if _, known := actions[name]; ok && known {
		return name
	}
	return iri
}

// ranges maps the names of datatypes to the kinds of their values.
var ranges = map[string]Kind{
	"duration": Duration, "dayTimeDuration": Duration,
	"yearMonthDuration": Duration, "decimal": Number, "integer": Number, "double": Number, "float": Number, "long": Number, "int": Number,
	"nonNegativeInteger": Number, "positiveInteger": Number,
}

// rowOf returns the row for a left operand of a vocabulary, or nil for one whose values are dates. It copies the row of the ODRL operand
// that the term narrows; otherwise, the range of the term determines the kind, which is Text by default. Only the operator's
// configuration can provide values.
func rowOf(iri string, t *vocabulary.Term) *Operand {
	if slices.Contains([]string{"date", "dateTime", "dateTimeStamp"}, t.Range) {
		return nil
	}
	row := Operand{Kind: Text}
	if like, ok := operandByName[t.Like]; ok && slices.Contains([]Kind{Text, Code, Number, Duration, Version}, like.Kind) {
		row = *like
	} else if kind, ok := ranges[t.Range]; ok {
		row.Kind = kind
	}
	row.Name, row.Aliases, row.Words, row.Source, row.UIM = iri, "", t.Words, FromFacts, false
	return &row
}

// WordsOf returns the name of a term in a sentence, or "" if no vocabulary has one.
func (n *Names) WordsOf(iri string) string { return n.added.words[iri] }

// Narrower returns the value and everything that vocabularies list as part of it, sorted.
func (n *Names) Narrower(value string) []string {
	list := []string{value}
	for v := range n.added.within {
		if v != value && slices.Contains(Reach(n.added.within, v), value) {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return list
}

// otherwise returns the end of a message about an unknown term: a likely spelling, or how to load the vocabulary that defines the term.
func (n *Names) otherwise(c class, name, full string) string {
	if !c.grows || n.ofODRL(full) || !Absolute(full) {
		if meant := signs[name]; slices.Contains(c.known, meant) {
			return ": did you mean " + meant + "?"
		}
		return Suggest(name, c.known)
	}
	if profile := vocabulary.NameOf(full); profile != "" {
		return ": " + n.load(profile)
	}
	return cmp.Or(Suggest(name, c.known), ": "+n.load(""))
}

// signs maps operators of other languages to those of ODRL.
var signs = map[string]string{
	"<": "lt", "<=": "lteq", ">": "gt", ">=": "gteq", "=": "eq", "==": "eq", "!=": "neq", "<>": "neq",
	"in": "isAnyOf", "before": "lt", "after": "gt",
}

// load returns advice on how to load a vocabulary: a built-in one by its name, or, if name is empty, one in a file.
func (n *Names) load(name string) string {
	switch {
	case n.Served && name != "":
		return "add " + name + " to the service's profiles"
	case n.Served:
		return "add the file of a vocabulary that defines it to the service's profiles"
	default:
		return "use --profile " + cmp.Or(name, "FILE with a vocabulary that defines it")
	}
}
