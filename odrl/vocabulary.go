package odrl

import "github.com/uimgate/uimgate/odrl/internal/vocabulary"

// A Vocabulary holds the terms that a profile adds to ODRL: actions and left operands with what they are part of, how their values
// compare, and their names in plain words. It is immutable and safe for concurrent use.
type Vocabulary = vocabulary.Vocabulary

// MaxVocabulary bounds the bytes of the file of a vocabulary.
const MaxVocabulary = 4 << 20

// ReadVocabulary reads a vocabulary in Turtle or JSON-LD, of at most MaxVocabulary bytes, and fetches nothing. name is for messages. The
// error describes the problem, and in Turtle has the line.
func ReadVocabulary(name string, doc []byte) (*Vocabulary, error) { return vocabulary.Read(name, doc) }

// ShippedVocabulary returns a built-in vocabulary, by its name; nil if there is none.
func ShippedVocabulary(name string) *Vocabulary { return vocabulary.Shipped(name) }

// ShippedVocabularies returns the names of the built-in vocabularies, sorted.
func ShippedVocabularies() []string { return vocabulary.Names() }
