package words

import (
	"fmt"
	"strings"
	"testing"

	odrltest "github.com/uimgate/uimgate/internal/test/odrl"
	"github.com/uimgate/uimgate/odrl"
)

// wide returns a condition of 4 to the power of depth comparisons, each with a different value.
func wide(depth int, next *int) string {
	if depth == 0 {
		*next++
		return odrltest.Leaf("purpose", "eq", fmt.Sprint("p", *next))
	}
	parts := make([]string, 4)
	for i := range parts {
		parts[i] = wide(depth-1, next)
	}
	return `{"` + []string{"xone", "or", "and"}[depth%3] + `":[` + strings.Join(parts, ",") + `]}`
}

// choice returns an exclusive choice of values.
func choice(from int) string {
	list := make([]string, choiceValues)
	for i := range list {
		list[i] = odrltest.Leaf("purpose", "eq", fmt.Sprint("p", from+i))
	}
	return `{"xone":[` + strings.Join(list, ",") + `]}`
}

// If two policies have many conditions on one operand, testing each value against each condition would take many millions of tests. After a
// bounded number the search stops, and the comparison reports that some requests were not tested.
func TestFactTestsAreBounded(t *testing.T) {
	n := 0
	for _, c := range []struct{ name, old, new string }{
		{"a long xone", choice(0), choice(1)},
		{"nested", wide(wideDepth, &n), wide(wideDepth, &n)},
	} {
		var policies [2]*odrl.Policy
		for i, condition := range []string{c.old, c.new} {
			p, problems := odrl.Load(t.Context(), []byte(`{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p",
				"permission":[{"target":"http://example.com/a","action":"use","constraint":`+condition+`}]}`), odrl.LoadOptions{})
			if p == nil {
				t.Fatal(problems)
			}
			policies[i] = p
		}
		j := newJudge(policies[0], policies[1])
		if err := j.all(t.Context()); err != nil {
			t.Fatal(err)
		}
		if j.held != 0 || j.steps < 0 || j.steps == maxSteps || j.found.Shift != Unchecked ||
			!strings.HasPrefix(j.found.Bound, "policies with so many rules and conditions are evaluated for at most 1 of 1000 requests") {
			t.Errorf("%s: %d and %d steps are left, %+v", c.name, j.held, j.steps, j.found)
		}
	}
}
