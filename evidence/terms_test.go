package evidence_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/evidence"
)

// TestSameTerms reads the table that the SDKs for TypeScript and Python also use.
func TestSameTerms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/terms.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Policy, Intent string
		Cases          []struct {
			Name, From, To string
			Same           bool
		}
	}
	if err := json.Unmarshal(text, &table); err != nil || len(table.Cases) < 20 {
		t.Fatalf("%d cases, %v", len(table.Cases), err)
	}
	for _, tt := range table.Cases {
		other := strings.Replace(table.Policy, tt.From, tt.To, 1)
		if other == table.Policy {
			t.Fatalf("%s: nothing is replaced", tt.Name)
		}
		for _, pair := range [][2]string{{table.Policy, other}, {other, table.Policy}} {
			if got := evidence.SameTerms([]byte(pair[0]), []byte(pair[1]), table.Intent); got != tt.Same {
				t.Errorf("%s: got %t, want %t", tt.Name, got, tt.Same)
			}
		}
	}
	if !evidence.SameTerms([]byte(table.Policy), []byte(table.Policy), table.Intent) {
		t.Error("a policy has other terms than itself")
	}
}
