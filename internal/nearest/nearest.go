// Package nearest finds the name somebody probably meant.
package nearest

import (
	"strings"

	"github.com/agext/levenshtein"
)

// maxName bounds the work spent on a name from outside.
const maxName = 64

// Name returns the known name closest to got, or "" where none is close enough to be worth
// suggesting. Case and the separators - and _ count for little.
func Name(got string, known []string) string {
	if len(got) > maxName {
		return ""
	}
	best, score := "", 0.59
	for _, k := range known {
		if len(k) > maxName {
			continue
		}
		if s := levenshtein.Match(plain(got), plain(k), nil); s > score {
			best, score = k, s
		}
	}
	return best
}

var separators = strings.NewReplacer("-", "", "_", "")

func plain(s string) string { return separators.Replace(strings.ToLower(s)) }
