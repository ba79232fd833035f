package lint_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
)

// TestChartHasTheRules: a chart can only read files below it, so it has copies of the rules of Prometheus. make generate writes them.
func TestChartHasTheRules(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rules.yaml", "alerts.yaml"} {
		source, err := os.ReadFile("../../deploy/observability/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if copied, err := os.ReadFile("../../deploy/helm/uimgate/files/" + name); err != nil || string(copied) != string(source) {
			t.Errorf("deploy/helm/uimgate/files/%s is not that of deploy/observability (%v): run make generate", name, err)
		}
	}
}

// TestChartAcceptsTheConfiguration: the schema of the chart's values lists the keys that uimgate.yaml may have.
func TestChartAcceptsTheConfiguration(t *testing.T) {
	t.Parallel()
	type node struct {
		Properties    map[string]node `json:"properties"`
		PropertyNames struct {
			Enum []string `json:"enum"`
		} `json:"propertyNames"`
	}
	read := func(path string) (schema node) {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &schema)
		}
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
	chart := read("../../deploy/helm/uimgate/values.schema.json").Properties["config"].PropertyNames.Enum
	keys := slices.Sorted(maps.Keys(read("../../config/schema.json").Properties))
	if got := slices.Sorted(slices.Values(chart)); !slices.Equal(got, keys) {
		t.Errorf("values.schema.json permits the keys %q below config; uimgate.yaml has %q", got, keys)
	}
}
