package observability_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/internal/reason"
)

// wide is a catalogue whose search declares outputs.
var wide = strings.Replace(agentsFile, `"endpoint": {"url": "https://shop.example/search"`,
	`"output_parameters": [{"name": "ok", "type": "boolean"}, {"name": "note", "type": "string"},
       {"name": "total", "type": "integer", "required": true}],
     "endpoint": {"url": "https://shop.example/search"`, 1)

// busy starts a gateway with TLS, lets agents do much of what they may and some of what they may not, and lets its API and its store fail.
func busy(t *testing.T) *server {
	t.Helper()
	g := secure(t, 90*24*time.Hour, map[string]string{"agents.json": wide},
		"upstream: {", "answers: lenient\n  upstream: {auth: {header: 'X-Api-Key: upstream-secret'}, ", "limit: 100000/hour", "limit: 20/hour")
	s := newServer(t, g.scrape)
	shop, other, clumsy := g.customer("agent-1"), g.customer("agent-2"), g.customer("agent-4")
	for range 3 {
		g.answer(answerJSON(`{"ok": true, "more": 7, "note": "upstream-secret"}`))
		_, _, _ = shop.search(1), shop.order(), other.search(1)
		_, _ = g.agree("agent-3") // once: then another key has the id
		for range 40 {
			_, _ = clumsy.Execute(t.Context(), search, nil, executeOnce)
		}
		g.fail()
		_ = shop.search(1)
		s.step(time.Minute)
	}
	refuseOrders(g, s, shop)
	for range 2 {
		_ = shop.order()
		_ = shop.search(25)
		g.ahead.Add(int64(2 * time.Second))
		s.step(time.Minute)
	}
	return s
}

// described are the labels of metrics that have no series yet, by name.
func described() map[string]map[string]bool {
	out := make(chan *prometheus.Desc, 1000)
	record.NewMetrics().Registry().Describe(out)
	close(out)
	names := map[string]map[string]bool{}
	for d := range out {
		m := description.FindStringSubmatch(d.String())
		names[m[1]] = map[string]bool{}
		for label := range strings.SplitSeq(m[2], ",") {
			names[m[1]][label] = true
		}
	}
	return names
}

var description = regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([^}]*)\}`)

// target are the labels that Prometheus adds, and those that the Prometheus Operator adds.
var target = map[string]bool{"job": true, "instance": true, "namespace": true, "le": true, model.MetricNameLabel: true}

// An expression belongs to a rule or a panel.
type expression struct{ of, text string }

// allExpressions are those of the rules, and of the dashboards with each variable set to everything.
func allExpressions(t *testing.T) (all []expression) {
	t.Helper()
	for _, r := range parseRules(t) {
		all = append(all, expression{r.Alert + r.Record, r.Expr})
	}
	for _, b := range boards {
		for _, r := range b.rows {
			for _, p := range r.panels {
				for _, q := range p.queries {
					all = append(all, expression{b.title + ": " + p.title, everything.Replace(selections.Replace(q.expr))})
				}
			}
		}
	}
	return all
}

var everything = strings.NewReplacer(`"$job"`, `".*"`, `"$instance"`, `".*"`, `"$service"`, `".*"`, "$__rate_interval", "5m")

// values are those that a label may have.
func values(label string) (all []string) {
	switch label {
	case "reason":
		for _, r := range reason.All() {
			all = append(all, string(r))
		}
	case "cause":
		for _, c := range reason.Causes() {
			all = append(all, string(c))
		}
	}
	return all
}

// TestExpressionsNameWhatGatewaysHave looks up each name, label and value of each expression in a real scrape.
func TestExpressionsNameWhatGatewaysHave(t *testing.T) {
	t.Parallel()
	s := busy(t)
	known := described()
	for _, l := range s.known {
		name := l.Get(model.MetricNameLabel)
		if known[name] == nil {
			known[name] = map[string]bool{}
		}
		l.Range(func(l labels.Label) { known[name][l.Name] = true })
	}
	for name, labels := range referenced(t) { // of MCP servers, witnesses and exports, which this gateway does not have
		if known[name] == nil {
			known[name] = labels
		}
	}
	known["ALERTS"] = map[string]bool{"alertname": true, "alertstate": true, "severity": true, "service": true}
	for _, r := range parseRules(t) {
		if r.Record != "" {
			known[r.Record] = map[string]bool{"service": true}
		}
	}
	for _, e := range allExpressions(t) {
		parsed, err := expressions.ParseExpr(e.text)
		if err != nil {
			t.Errorf("%s: %v", e.of, err)
			continue
		}
		inside := maps.Clone(target)
		parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok {
				if known[v.Name] == nil {
					t.Errorf("%s: no gateway has the metric %s", e.of, v.Name)
				}
				maps.Copy(inside, known[v.Name])
				checkMatchers(t, e.of, v, known[v.Name])
			}
			return nil
		})
		parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
			if a, ok := n.(*parser.AggregateExpr); ok {
				for _, label := range a.Grouping {
					if !inside[label] {
						t.Errorf("%s: nothing in %s has the label %s", e.of, e.text, label)
					}
				}
			}
			return nil
		})
	}
}

func checkMatchers(t *testing.T, of string, v *parser.VectorSelector, has map[string]bool) {
	t.Helper()
	for _, m := range v.LabelMatchers {
		if !has[m.Name] && !target[m.Name] {
			t.Errorf("%s: %s has no label %s", of, v.Name, m.Name)
		}
		possible := values(m.Name)
		for value := range strings.SplitSeq(m.Value, "|") {
			if possible != nil && value != "" && !slices.Contains(possible, value) {
				t.Errorf("%s: the label %s is never %s", of, m.Name, value)
			}
		}
	}
}

// TestAlertsOrPanelsNameEachCause: a new cause must be put into an alert, or into the list of those that concern one caller.
func TestAlertsOrPanelsNameEachCause(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, e := range allExpressions(t) {
		all.WriteString(e.text)
	}
	// UimgateAuditFailing, UimgateBreakerOpen; a service of others; one person; operators
	elsewhere := []string{"audit", "breaker", "almanac_lookup", "budget", "comparisons"}
	for _, c := range values("cause") {
		named := regexp.MustCompile(`cause=~"([^"]*\|)?` + c + `[|"]`).MatchString(all.String())
		if named == slices.Contains(elsewhere, c) {
			t.Errorf("the cause %s: named by an expression: %v", c, named)
		}
	}
}

// referenced are the labels of the metrics in the reference, by name. TestMetricsMatchReference of gateway/record compares it with the
// code.
func referenced(t *testing.T) map[string]map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(uimgate_\\w+)` \\|.*\\|([^|]*)\\|$").FindAllSubmatch(text, -1) {
		names[string(row[1])] = map[string]bool{}
		for _, label := range regexp.MustCompile("`(\\w+)`").FindAllSubmatch(row[2], -1) {
			names[string(row[1])][string(label[1])] = true
		}
	}
	if len(names) < 40 {
		t.Fatalf("the reference has %d metrics", len(names))
	}
	return names
}

// TestEachMetricStandsInAnExpression: no operator sees a metric that no alert, rule or panel uses.
func TestEachMetricStandsInAnExpression(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, e := range allExpressions(t) {
		all.WriteString(e.text + "\n")
	}
	for name := range referenced(t) {
		if !regexp.MustCompile(`\b` + name + `(_bucket|_count|_sum)?\b`).MatchString(all.String()) {
			t.Errorf("no expression has %s", name)
		}
	}
}

// quiet are panels that show nothing at a busy gateway: those of doors that it does not open, and of problems that it does not have.
var quiet = []string{
	"overview: Alerts", "overview: Alerts that fire", "doors and process: Answers sent later",
	"agreements and money: Age of the last cosignature", "agreements and money: Payments", "agreements and money: Shared credit used up",
	"agreements and money: Refused for receipts and payments", "upstream and store: Tools that do not match",
	"upstream and store: Restarts of MCP servers", "doors and process: Notices", "doors and process: Export of the audit stream",
	"doors and process: Lag of the audit export",
}

// TestPanelsShowWhatHappens evaluates each query of the dashboards on the metrics of a busy gateway.
func TestPanelsShowWhatHappens(t *testing.T) {
	t.Parallel()
	s := busy(t)
	for _, e := range allExpressions(t) {
		panel, isPanel := strings.CutPrefix(e.of, "uimgate: ")
		if !isPanel {
			continue
		}
		q, err := s.engine.NewInstantQuery(t.Context(), s.storage, nil, e.text, s.now)
		if err != nil {
			t.Fatal(err)
		}
		result := q.Exec(t.Context())
		found, err := result.Vector()
		if err != nil {
			t.Errorf("%s: %v", e.of, err)
		}
		if (len(found) == 0) != slices.Contains(quiet, panel) {
			t.Errorf("%s: %d series of %s", e.of, len(found), e.text)
		}
		q.Close()
	}
}
