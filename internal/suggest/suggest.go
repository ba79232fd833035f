// Package suggest finds the known name that is most similar to a misspelled one.
package suggest

import (
	"strings"

	"github.com/agext/levenshtein"
)

// maxName is the maximum length of a name in bytes. It limits the work for untrusted names.
const maxName = 64

// Name returns the known name that is closest to got, or "" if none is close enough for a suggestion. It ignores case and the separators -
// and _.
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
