package triples

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A linkedReader reads one JSON-LD document. Its names must be full IRIs or be defined in a context within the document.
type linkedReader struct {
	prefixes map[string]string
	terms    map[string]string // term → IRI
	refers   map[string]bool   // terms whose values are IRIs
	vocab    string
	blanks   int
	out      []Triple
}

func readJSON(doc []byte) ([]Triple, error) {
	tree, err := strictjson.Decode(doc)
	if err != nil {
		return nil, err
	}
	l := &linkedReader{prefixes: map[string]string{"_": blank}, terms: map[string]string{}, refers: map[string]bool{}}
	if m, ok := tree.(map[string]any); ok {
		if err := l.context(m["@context"]); err != nil {
			return nil, err
		}
	}
	_, err = l.nodes(tree, 0)
	return l.out, err
}

func (l *linkedReader) context(v any) error {
	for _, one := range strictjson.AsList(v) {
		m, ok := one.(map[string]any)
		if !ok {
			return fmt.Errorf("contexts are not fetched: declare the prefixes in the document, or use the vocabulary in Turtle")
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			iri, ok := m[name].(string)
			if def, isObject := m[name].(map[string]any); isObject {
				iri, ok = def["@id"].(string)
				kind, _ := def["@type"].(string)
				l.refers[name] = kind == "@id" || kind == "@vocab"
			}
			switch {
			case name == "@vocab" && ok:
				l.vocab = iri
			case name == "@version" || name == "@language":
			case !ok || strings.HasPrefix(name, "@"):
				return fmt.Errorf("%q in a context is not supported", name)
			case strings.HasPrefix(iri, "@"):
				l.terms[name] = iri
			case strings.HasSuffix(iri, "/") || strings.HasSuffix(iri, "#") || strings.HasSuffix(iri, ":"):
				l.prefixes[name] = iri
			default:
				l.terms[name] = iri
			}
		}
	}
	return nil
}

// name expands a key, a type or an IRI. It returns "" if the name has no meaning.
func (l *linkedReader) name(s string, vocab bool) string {
	if strings.HasPrefix(s, "@") {
		return s
	}
	if iri, ok := l.terms[s]; ok && vocab {
		s = iri
	}
	if strings.HasPrefix(s, "@") {
		return s
	}
	if prefix, local, ok := strings.Cut(s, ":"); ok {
		if ns, known := l.prefixes[prefix]; known {
			s = ns + local
		}
	} else if vocab && l.vocab != "" {
		s = l.vocab + s
	}
	if strings.HasPrefix(s, blank) || absolute(s) {
		return s
	}
	return ""
}

// nodes reads a node, or a list of them, and returns their names.
func (l *linkedReader) nodes(v any, depth int) ([]string, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxNesting)
	}
	var names []string
	for _, one := range strictjson.AsList(v) {
		m, ok := one.(map[string]any)
		if !ok {
			return nil, errors.New("a node must be an object")
		}
		name, err := l.node(m, depth)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func (l *linkedReader) node(m map[string]any, depth int) (string, error) {
	subject := ""
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if id, ok := m[key].(string); ok && l.name(key, true) == "@id" {
			if subject = l.name(id, false); subject == "" {
				return "", errors.New("the @id of a node must be an absolute IRI")
			}
		}
	}
	if subject == "" {
		l.blanks++
		subject = blank + "." + strconv.Itoa(l.blanks)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		predicate := l.name(key, true)
		var err error
		switch predicate {
		case "", "@id", "@context", "@index": // JSON-LD ignores a key without a meaning
		case "@graph":
			_, err = l.nodes(m[key], depth+1)
		case "@type":
			err = l.each(m[key], func(v any) error {
				s, _ := v.(string)
				return l.add(subject, rdf+"type", Term{Value: l.name(s, true)})
			})
		default:
			if strings.HasPrefix(predicate, "@") {
				return "", fmt.Errorf("%q is not supported", key)
			}
			err = l.each(m[key], func(v any) error { return l.value(subject, predicate, key, v, depth) })
		}
		if err != nil {
			return "", err
		}
	}
	return subject, nil
}

func (l *linkedReader) value(subject, predicate, key string, v any, depth int) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		if l.refers[key] {
			return l.add(subject, predicate, Term{Value: l.name(v, true)})
		}
		return l.add(subject, predicate, Term{Value: v, Literal: true})
	case json.Number:
		return l.add(subject, predicate, Term{Value: v.String(), Literal: true})
	case bool:
		return l.add(subject, predicate, Term{Value: strconv.FormatBool(v), Literal: true})
	case map[string]any:
		if text, ok := v["@value"]; ok {
			language, _ := v["@language"].(string)
			return l.add(subject, predicate, Term{Value: fmt.Sprint(text), Literal: true, Language: strings.ToLower(language)})
		}
		if list, ok := v["@list"]; ok { // the order is irrelevant: lists contain only the operands of constraints, and no terms
			return l.each(list, func(v any) error { return l.value(subject, predicate, key, v, depth) })
		}
		names, err := l.nodes(v, depth+1)
		if err != nil {
			return err
		}
		return l.add(subject, predicate, Term{Value: names[0]})
	default:
		return errors.New("a list within a list is not supported")
	}
}

func (l *linkedReader) each(v any, do func(any) error) error {
	for _, one := range strictjson.AsList(v) {
		if err := do(one); err != nil {
			return err
		}
	}
	return nil
}

func (l *linkedReader) add(subject, predicate string, object Term) error {
	switch {
	case object.Value == "" && !object.Literal:
		return errors.New("an IRI must be absolute or have a prefix that the context declares")
	case len(l.out) == MaxTriples:
		return errTooMany
	}
	l.out = append(l.out, Triple{subject, predicate, object})
	return nil
}
