package lint_test

import (
	"os"
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
