package words_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

// allocated returns the number of bytes that work allocates in total.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// nested returns a condition of 2 to the power of depth comparisons, each with a different value.
func nested(depth int, next *int) string {
	if depth == 0 {
		*next++
		return leaf("purpose", "eq", fmt.Sprint("p", *next))
	}
	logic := []string{"xone", "or", "and"}[depth%3]
	return `{"` + logic + `":[` + nested(depth-1, next) + `,` + nested(depth-1, next) + `]}`
}

// The cost of large documents is bounded by their size: the parts of a tree are not rewritten at each level, and the alternatives of
// an exclusive choice are not all expanded before the first is tried.
func TestLargeConditionsAreCounted(t *testing.T) {
	const most = 64 << 20 // bytes; comparing took 14 GB and more, validating an xone 3 GB
	document := func(condition string) []byte {
		return []byte(`{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p","permission":[
			{"target":"http://example.com/a","action":"use","constraint":` + condition + `}]}`)
	}
	load := func(condition string) *odrl.Policy {
		p, problems := odrl.Load(t.Context(), document(condition), odrl.LoadOptions{})
		if p == nil {
			t.Fatal(problems)
		}
		return p
	}
	n := 0
	tree, other := nested(8, &n), nested(8, &n)
	choice := make([]string, 5000)
	for i := range choice {
		choice[i] = leaf("purpose", "eq", fmt.Sprint("p", i))
	}
	xone := `{"xone":[` + strings.Join(choice, ",") + `]}`
	for name, work := range map[string]func(){
		"compare a tree with another": func() {
			if got := words.Compare(load(tree), load(other)); len(got.Changes) != 1 {
				t.Errorf("got %+v, want Changes of length 1", got)
			}
		},
		"compare a tree with itself": func() {
			if got := words.Compare(load(tree), load(tree)); len(got.Changes) != 0 {
				t.Errorf("got %+v, want Changes none", got)
			}
		},
		"explain a tree":   func() { words.Explain(load(tree)) },
		"validate a tree":  func() { odrl.Validate(t.Context(), document(tree), odrl.ValidateOptions{}) },
		"validate an xone": func() { odrl.Validate(t.Context(), document(xone), odrl.ValidateOptions{}) },
		"explain an xone":  func() { words.Explain(load(xone)) },
		"compare an xone":  func() { words.Compare(load(xone), load(tree)) },
	} {
		if got := allocated(work); got > most {
			t.Errorf("%s: %d MiB", name, got>>20)
		} else {
			t.Logf("%s: %d MiB", name, got>>20)
		}
	}
}
