package lint_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// participle matches the last word of a name with the ending of a participle or gerund. Such words name an action, not a value.
var participle = regexp.MustCompile(`[A-Z]?[a-z]+(ed|ing)$`)

// nouns lists the words with that ending that name a value.
var nouns = map[string]string{
	"allowed":  "a row of pat.allow: the name is in schema.json",
	"billing":  "the setting billing",
	"binding":  "the request that a proof is bound to",
	"finding":  "the result of a check",
	"keyring":  "keys on a ring",
	"listing":  "the records of a service in DNS",
	"mapping":  "a part of memory, as mmap makes it",
	"posting":  "an entry of an inverted index",
	"reading":  "the time on a clock",
	"seed":     "the input of a derivation",
	"spelling": "how a term is written",
}

// TestTypesAreNamedByNouns rejects type names of the product that end like participles and gerunds.
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
			t.Errorf("no type is named by %s: remove the word", word)
		}
	}
}
