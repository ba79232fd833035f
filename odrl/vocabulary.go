package odrl

import "github.com/uimgate/uimgate/odrl/internal/vocabulary"

// A Vocabulary holds the terms that a profile adds to ODRL: actions and left operands, the broader terms of each, how values of an operand
// are compared, and names in plain words. It is immutable and safe for concurrent use.
type Vocabulary = vocabulary.Vocabulary

// MaxVocabulary is the maximum size of a vocabulary file in bytes.
const MaxVocabulary = 4 << 20

// ReadVocabulary reads a vocabulary in Turtle or JSON-LD of at most MaxVocabulary bytes. It fetches nothing. name is the file name for
// messages. The error describes the problem and, for Turtle, gives the line.
func ReadVocabulary(name string, doc []byte) (*Vocabulary, error) { return vocabulary.Read(name, doc) }

// ShippedVocabulary returns the built-in vocabulary with the given name, or nil if there is none.
func ShippedVocabulary(name string) *Vocabulary { return vocabulary.Shipped(name) }

// ShippedVocabularies returns the names of the built-in vocabularies, sorted.
func ShippedVocabularies() []string { return vocabulary.Names() }
