// Package triples reads the statements of a vocabulary from a file, in Turtle (RDF 1.1 Turtle) or in JSON-LD with an inline context. It
// fetches nothing, and limits its input by MaxDocument, MaxTriples and maxNesting. It rejects unsupported input instead of ignoring it.
package triples

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxDocument is the maximum size of a vocabulary in bytes.
	MaxDocument = 4 << 20
	// MaxTriples is the maximum number of its statements.
	MaxTriples = 100_000
	// maxNesting is the maximum nesting of blank nodes and lists.
	maxNesting = 32
)

// ErrVocabulary means that a document cannot be read as statements. The message has the reason and, for Turtle, the line.
var ErrVocabulary = errors.New("the vocabulary cannot be read")

// A Triple is one statement. Subject and Predicate are absolute IRIs; Subject may also be a blank node such as _:b1.
type Triple struct {
	Subject, Predicate string
	Object             Term
}

// A Term is the object of a statement: an IRI, a blank node, or a literal with its language, if it has one. Datatypes are omitted.
type Term struct {
	Value    string
	Literal  bool
	Language string // in lowercase
}

// Read reads Turtle or JSON-LD, which it distinguishes by the beginning of the document. The error wraps ErrVocabulary.
func Read(doc []byte) ([]Triple, error) {
	if len(doc) > MaxDocument {
		return nil, fmt.Errorf("%w: it has %d bytes; at most %d are supported", ErrVocabulary, len(doc), MaxDocument)
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

// absolute reports whether an IRI has a scheme and contains none of the characters that IRIs cannot contain.
func absolute(iri string) bool {
	scheme, rest, ok := strings.Cut(iri, ":")
	return ok && scheme != "" && rest != "" && !strings.ContainsAny(iri, " <>\"{}|\\^`\n\r\t") && !strings.ContainsAny(scheme, "/#?")
}

const (
	rdf   = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	blank = "_:"
)

var errTooMany = fmt.Errorf("it has more than %d statements", MaxTriples)
