package observability_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

var expressions = parser.NewParser(parser.Options{})

// parseRules parses the rule files strictly.
func parseRules(t *testing.T) (all []rulefmt.Rule) {
	t.Helper()
	for _, file := range ruleFiles {
		groups, problems := rulefmt.ParseFile(file, false, model.LegacyValidation, expressions, promslog.NewNopLogger())
		if err := errors.Join(problems...); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups.Groups {
			all = append(all, g.Rules...)
		}
	}
	return all
}

const runbook = "https://github.com/uimgate/uimgate/blob/main/docs/operate/troubleshoot.md#"

// TestAlertsAreComplete: each alert has the text that its reader needs, and a link to its own section of the runbook.
func TestAlertsAreComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/operate/troubleshoot.md")
	if err != nil {
		t.Fatal(err)
	}
	sections, alerts := strings.Count(string(page), "\n### Uimgate"), 0
	for _, r := range parseRules(t) {
		if r.Alert == "" {
			continue
		}
		alerts++
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has the severity %q", r.Alert, s)
		}
		for _, name := range []string{"summary", "description"} {
			if text := r.Annotations[name]; !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %s: %q, want a text that ends with %q", r.Alert, name, text, ".")
			}
		}
		if url := r.Annotations["runbook_url"]; url != runbook+strings.ToLower(r.Alert) {
			t.Errorf("%s leads to %s", r.Alert, url)
		}
		if !strings.Contains(string(page), "\n### "+r.Alert+"\n") {
			t.Errorf("the runbook has no section %s", r.Alert)
		}
	}
	if alerts != sections || alerts < 15 {
		t.Errorf("%d alerts, and %d sections of the runbook", alerts, sections)
	}
}
