package toolset

import (
	"errors"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
)

// A Choice states which tools a list has. With the zero value, the number of intents decides.
type Choice struct {
	All   bool     // one tool for each intent
	Few   bool     // the three tools
	Tags  []string // one tool for each intent that has at least one of these tags, in lower case
	Given bool     // the client chose
}

// ErrChoice means that the input does not state a Choice.
var ErrChoice = errors.New("want all, search, or tags such as tag:orders,tag:invoices (at most 10)")

// ParseChoice parses a choice: all, search, a list such as tag:orders,tag:invoices, or the empty string for the zero value. The error is
// ErrChoice.
func ParseChoice(text string) (Choice, error) {
	switch text {
	case "":
		return Choice{}, nil
	case "all":
		return Choice{All: true, Given: true}, nil
	case "search":
		return Choice{Few: true, Given: true}, nil
	}
	c := Choice{Given: true}
	for part := range strings.SplitSeq(text, ",") {
		tag, isTag := strings.CutPrefix(part, "tag:")
		if tag = strings.TrimSpace(tag); !isTag || tag == "" || len(tag) > maxID || len(c.Tags) == maxTags {
			return Choice{}, ErrChoice
		}
		c.Tags = append(c.Tags, strings.ToLower(tag))
	}
	return c, nil
}

// Searches reports whether the list has the three tools, if there are n intents and lists have at most upTo of them.
func (c Choice) Searches(n, upTo int) bool { return c.Few || !c.Given && n > upTo }

// Lists reports whether the list has a tool for this intent.
func (c Choice) Lists(in *intents.Intent) bool {
	return len(c.Tags) == 0 || slices.ContainsFunc(in.Tags, func(tag string) bool { return slices.Contains(c.Tags, strings.ToLower(tag)) })
}
