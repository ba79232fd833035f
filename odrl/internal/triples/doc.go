// Package triples reads the statements of a vocabulary from a file: Turtle (RDF 1.1 Turtle) or JSON-LD with its context inline. It
// fetches nothing, and bounds its input by MaxDocument, MaxTriples and maxNesting. It rejects unsupported input with the line, instead of
// leaving it out.
package triples

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxDocument bounds the bytes of a vocabulary.
	MaxDocument = 4 << 20
	// MaxTriples bounds its statements.
	MaxTriples = 100_000
	// maxNesting bounds how deep blank nodes and lists nest in one another.
	maxNesting = 32
)

// ErrVocabulary means that a document cannot be read as statements. The error has the reason, and in Turtle the line.
var ErrVocabulary = errors.New("not a vocabulary that can be read")

// A Triple is one statement. Subject and Predicate are absolute IRIs or, of a subject, a blank node such as _:b1.
type Triple struct {
	Subject, Predicate string
	Object             Term
}

// A Term is an object: an IRI or blank node, or a literal with its language, if it has one. Data types are left out.
type Term struct {
	Value    string
	Literal  bool
	Language string // in lower case
}

// Read reads Turtle or JSON-LD, whichever the document looks like. The error wraps ErrVocabulary.
func Read(doc []byte) ([]Triple, error) {
	if len(doc) > MaxDocument {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrVocabulary, len(doc), MaxDocument)
	}
	doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
	read := readTurtle
	if t := bytes.TrimSpace(doc); len(t) > 0 && (t[0] == '{' || t[0] == '[' && bytes.ContainsAny(t[1:min(len(t), 64)], "{")) {
		read = readJSON
	}
	list, err := read(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrVocabulary, err)
	}
	return list, nil
}

// absolute reports whether an IRI has a scheme and none of the characters that no IRI has.
func absolute(iri string) bool {
	scheme, rest, ok := strings.Cut(iri, ":")
	return ok && scheme != "" && rest != "" && !strings.ContainsAny(iri, " <>\"{}|\\^`\n\r\t") && !strings.ContainsAny(scheme, "/#?")
}

const (
	rdf   = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	blank = "_:"
)

var errTooMany = fmt.Errorf("it has more than %d statements", MaxTriples)
