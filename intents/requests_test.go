package intents_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents"
)

// rows returns the lines of a file of testdata, split at " | ".
func rows(t *testing.T, name string) (list [][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, strings.Split(line, " | "))
		}
	}
	return list
}

// TestRequestsFindTheirIntent searches with requests in the words of a person. For at least 45 of 50, the intent must be one of the first
// three results.
func TestRequestsFindTheirIntent(t *testing.T) {
	var list []map[string]any
	for _, row := range rows(t, "depot.txt") {
		_, name, _ := strings.Cut(strings.TrimSuffix(row[0], ":v1"), ":")
		list = append(list, map[string]any{"intent_uid": row[0], "intent_name": name, "description": row[1], "input_parameters": []any{}})
	}
	text, err := json.Marshal(map[string]any{"intents": list})
	if err != nil {
		t.Fatal(err)
	}
	c, requests := strict(t, string(text)), rows(t, "requests.txt")
	found := 0
	for _, row := range requests {
		var first []string
		for _, in := range c.Search(intents.Query{Text: row[0], PageSize: 3}).Intents {
			first = append(first, in.UID.String())
		}
		if slices.Contains(first, row[1]) {
			found++
		} else {
			t.Logf("%s: %q, want %s", row[0], first, row[1])
		}
	}
	if len(requests) != 50 || found < 45 {
		t.Errorf("%d of %d requests find their intent among the first three, want at least 45 of 50", found, len(requests))
	}
}
