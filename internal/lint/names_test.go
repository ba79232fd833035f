package lint_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// participle is the last word of a name that ends as participles and gerunds do. They name what is done, not what a value is.
var participle = regexp.MustCompile(`[A-Z]?[a-z]+(ed|ing)$`)

// nouns are words with that ending that name what a value is.
var nouns = map[string]string{
	"allowed":  "a row of pat.allow: the name is in schema.json",
	"billing":  "the setting billing",
	"binding":  "what a proof is bound to",
	"claimed":  "what one block of a configuration has for itself",
	"finding":  "the result of a check",
	"keyring":  "keys on a ring",
	"listing":  "what DNS lists",
	"mapping":  "a part of memory, as mmap makes it",
	"posting":  "an entry of an inverted index",
	"reading":  "what a clock shows",
	"seed":     "the input of a derivation",
	"spelling": "how a term is written",
}

// TestTypesAreNamedByNouns refuses type names of the product that end as participles and gerunds do.
func TestTypesAreNamedByNouns(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	eachProductFile(t, func(name string, _ *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			word := strings.ToLower(participle.FindString(s.Name.Name))
			if used[word] = true; word != "" && nouns[word] == "" {
				t.Errorf("%s: the type %s is named by a participle: name it by a noun", name, s.Name.Name)
			}
			return true
		})
	})
	for word := range nouns {
		if !used[word] {
			t.Errorf("no type is named by %s any more", word)
		}
	}
}
