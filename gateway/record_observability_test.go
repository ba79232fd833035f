package gateway_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uimgate/uimgate/gateway/record"
)

var (
	described = regexp.MustCompile(`fqName: "(uimgate_\w+)"`)
	named     = regexp.MustCompile(`(?:[a-z]+:)?uimgate_[a-z0-9_:]+`)
	ofSeries  = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// TestObservabilityNamesMetrics: if a metric gets another name, dashboards are empty and alerts never fire. deploy/observability/test
// checks the labels as well, but runs only with make observability.
func TestObservabilityNamesMetrics(t *testing.T) {
	t.Parallel()
	m := record.NewMetrics()
	m.Watch(time.Now, func() record.State { return record.State{} })
	m.WatchExport(func() time.Duration { return 0 })
	out := make(chan *prometheus.Desc, 1000)
	m.Registry().Describe(out)
	close(out)
	exists := map[string]bool{}
	for d := range out {
		if name := described.FindStringSubmatch(d.String()); name != nil {
			exists[name[1]] = true
		}
	}
	rules, err := filepath.Glob("../deploy/observability/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dashboards, err := filepath.Glob("../deploy/observability/dashboards/*.json")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range append(rules, dashboards...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(text), -1) {
			if strings.Contains(name, ":") { // a recording rule
				continue
			}
			found[name] = true
			if !exists[name] && !exists[ofSeries.ReplaceAllString(name, "")] {
				t.Errorf("%s names %s, which the gateway does not have", file, name)
			}
		}
	}
	if len(rules) < 2 || len(dashboards) < 4 || len(found) < 30 {
		t.Errorf("%d names were found in %q and %q", len(found), rules, dashboards)
	}
}
