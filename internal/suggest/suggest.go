// Package suggest finds the known name that is most similar to a misspelt one.
package suggest

import (
	"strings"

	"github.com/agext/levenshtein"
)

// maxName bounds the work for a name from outside.
const maxName = 64

// Name returns the known name closest to got, or "" if none is close enough for a suggestion. Case and the separators - and _ have little
// weight.
func Name(got string, known []string) string {
	if len(got) > maxName {
		return ""
	}
	best, score := "", 0.59
	for _, k := range known {
		if len(k) > maxName {
			continue
		}
		if s := levenshtein.Match(normalName(got), normalName(k), nil); s > score {
			best, score = k, s
		}
	}
	return best
}

var separators = strings.NewReplacer("-", "", "_", "")

func normalName(s string) string { return separators.Replace(strings.ToLower(s)) }
