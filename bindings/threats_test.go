package bindings_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestThreatsNameTestsThatExist checks that the tests in the threat model exist, and that it has a row for each invariant.
func TestThreatsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/design/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z0-9/]+\\.Test[A-Za-z0-9]+)`").FindAllSubmatch(text, -1)
	if len(named) < 20 {
		t.Errorf("%d tests are named", len(named))
	}
	for _, name := range named {
		if !testExists(t, string(name[1])) {
			t.Errorf("there is no test %s", name[1])
		}
	}
	for _, i := range invariants {
		if !strings.Contains(string(text), "\n| "+string(i)+" | ") {
			t.Errorf("the threat model lacks the invariant %q", i)
		}
	}
	for line := range strings.Lines(string(text)) { // each row must name a test
		if cells := strings.Split(line, " | "); len(cells) == 4 && !strings.Contains(line, "`") && !strings.HasPrefix(line, "| who ") &&
			!strings.HasPrefix(line, "| ---") {
			t.Errorf("a row without a test: %s", line)
		}
	}
}
