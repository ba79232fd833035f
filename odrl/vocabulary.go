package odrl

import "github.com/uimgate/uimgate/odrl/internal/vocabulary"

// A Vocabulary holds the terms that a profile adds to ODRL: actions and left operands with what they are part of, how their
// values compare, and their names in plain words. It does not change and is safe for concurrent use.
type Vocabulary = vocabulary.Vocabulary

// MaxVocabulary bounds the bytes of the file of a vocabulary.
const MaxVocabulary = 4 << 20

// ReadVocabulary reads a vocabulary in Turtle or JSON-LD, of at most MaxVocabulary bytes, and fetches nothing. name is for messages. The
// error describes what cannot be read, and in Turtle has the line.
func ReadVocabulary(name string, doc []byte) (*Vocabulary, error) { return vocabulary.Read(name, doc) }

// ShippedVocabulary is a vocabulary that is built in, by its name; nil where there is none.
func ShippedVocabulary(name string) *Vocabulary { return vocabulary.Shipped(name) }

// ShippedVocabularies are the names of those that are built in, sorted.
func ShippedVocabularies() []string { return vocabulary.Names() }
