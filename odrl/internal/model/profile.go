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
	same     map[string]string   // IRI → that of a term of ODRL
	words    map[string]string   // IRI → name in a sentence
	within   map[string][]string // value → the classes and values it is part of
	rows     map[string]*Operand
	included map[string][]string // action → the actions it is included in, by their names here
	implies  map[string][]string
}

// Adopt makes the terms of vocabularies known, whether or not the policy names their profiles.
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
		if len(t.IncludedIn) == 0 { // ODRL V 2.2, section 2.4: all but use and transfer are in one of them
			Relate(n.added.included, iri, "use")
		}
	case "LeftOperand":
		n.added.classes[iri] = operandClass.what
		if row := rowOf(iri, t); row != nil {
			n.added.rows[iri] = row
		}
	}
}

// actionNamed returns the name of an action: that of ODRL, or its IRI.
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

// ranges are the kinds of values by the names of their data types.
var ranges = map[string]Kind{
	"duration": Duration, "dayTimeDuration": Duration,
	"yearMonthDuration": Duration, "decimal": Number, "integer": Number, "double": Number, "float": Number, "long": Number, "int": Number,
	"nonNegativeInteger": Number, "positiveInteger": Number,
}

// rowOf returns the row for a left operand of a vocabulary: that of the operand of ODRL that it narrows, or one of texts, or of the type
// in its range. The gateway itself provides no values for it.
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

// WordsOf returns the name of a term in a sentence; empty if no vocabulary has one.
func (n *Names) WordsOf(iri string) string { return n.added.words[iri] }

// Narrower lists the value and everything that vocabularies place within it, sorted.
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

// otherwise returns advice about an unknown term: a likely spelling, or the place where the term is permitted.
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

// signs are the operators that are written for those of ODRL elsewhere.
var signs = map[string]string{
	"<": "lt", "<=": "lteq", ">": "gt", ">=": "gteq", "=": "eq", "==": "eq", "!=": "neq", "<>": "neq",
	"in": "isAnyOf", "before": "lt", "after": "gt",
}

// load returns advice on how to load a vocabulary: by the name of a built-in one, or as a file.
func (n *Names) load(name string) string {
	switch {
	case n.Served && name != "":
		return "add " + name + " to the service's profiles"
	case n.Served:
		return "add the file of a vocabulary that has it to the service's profiles"
	default:
		return "use --profile " + cmp.Or(name, "FILE for a vocabulary that has it")
	}
}
