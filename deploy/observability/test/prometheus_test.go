package observability_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/util/teststorage"
)

// ruleFiles are in the order in which Prometheus would evaluate them.
var ruleFiles = []string{"../rules.yaml", "../alerts.yaml"}

// anyCertificate accepts the certificates of the tests, which no CA has issued.
var anyCertificate = &tls.Config{InsecureSkipVerify: true}

var insecure = &http.Client{Transport: &http.Transport{TLSClientConfig: anyCertificate}}

// brokenText matches the text that a template prints for an error, or for a missing label or value.
var brokenText = regexp.MustCompile(`<error|<no value>|\{\{|NaN|  |of \.|service \.`)

// A server is a Prometheus server at times that the test chooses.
type server struct {
	*testing.T
	storage *teststorage.TestStorage
	engine  *promql.Engine
	groups  []*rules.Group
	now     time.Time
	// scrape returns the metrics of the one target. nil means that there is no target.
	scrape func() (string, error)
	// more has values that are added to series, by name, for the events that the test cannot provoke.
	more  map[string]float64
	known map[string]labels.Labels // series of the last scrape
}

func newServer(t *testing.T, scrape func() (string, error)) *server {
	t.Helper()
	s := &server{
		T: t, storage: teststorage.New(t), engine: promqltest.NewTestEngine(t, false, 5*time.Minute, 1e7),
		now: time.Now().Truncate(time.Minute), scrape: scrape, more: map[string]float64{},
	}
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(s.engine, s.storage), AppendableV2: s.storage, Queryable: s.storage, Context: t.Context(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, NameValidationScheme: model.LegacyValidation,
	})
	groups, problems := m.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, ruleFiles...)
	if err := errors.Join(problems...); err != nil {
		t.Fatal(err)
	}
	s.groups = slices.SortedFunc(maps.Values(groups), func(a, b *rules.Group) int {
		return cmp.Or(-cmp.Compare(a.File(), b.File()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, g := range s.groups {
		for _, r := range g.AlertingRules() {
			r.SetRestored(true)
		}
	}
	return s
}

// step lets time pass, scrapes, and evaluates the rules. It returns the names of the alerts that fire.
func (s *server) step(after time.Duration) (firing []string) {
	s.Helper()
	s.now = s.now.Add(after)
	s.collect()
	for _, g := range s.groups {
		g.Eval(s.Context(), s.now)
		for _, r := range g.Rules() {
			if err := r.LastError(); err != nil {
				s.Errorf("%s: %v", r.Name(), err)
			}
		}
		for _, r := range g.AlertingRules() {
			for _, a := range r.ActiveAlerts() {
				if a.State == rules.StateFiring {
					s.checkTexts(a)
					firing = append(firing, r.Name())
				}
			}
		}
	}
	return firing
}

// checkTexts finds templates of annotations that failed, or that name a label that the alert does not have.
func (s *server) checkTexts(a *rules.Alert) {
	s.Helper()
	a.Annotations.Range(func(l labels.Label) {
		if l.Value == "" || brokenText.MatchString(l.Value) {
			s.Errorf("%s: %s: %q", a.Labels.Get(labels.AlertName), l.Name, l.Value)
		}
	})
}

// collect scrapes the target, and stores its series, up, and stale markers for those that are gone.
func (s *server) collect() {
	s.Helper()
	if s.scrape == nil {
		return
	}
	target := []string{"job", "uimgate", "instance", "gate:8082"}
	text, err := s.scrape()
	up := 1.0
	if err != nil {
		up = 0
	}
	series := map[string]labels.Labels{}
	values := map[string]float64{}
	keep := func(l labels.Labels, v float64) { series[l.String()], values[l.String()] = l, v }
	keep(labels.FromStrings(append(target, model.MetricNameLabel, "up")...), up)
	s.parse(text, func(l labels.Labels, v float64) {
		b := labels.NewBuilder(l)
		for i := 0; i < len(target); i += 2 {
			b.Set(target[i], target[i+1])
		}
		keep(b.Labels(), v+s.more[l.Get(model.MetricNameLabel)])
	})
	into := s.storage.Appender(s.Context())
	for name, l := range s.known {
		if _, ok := series[name]; !ok {
			series[name], values[name] = l, math.Float64frombits(value.StaleNaN)
		}
	}
	for name, l := range series {
		if _, err := into.Append(0, l, s.now.UnixMilli(), values[name]); err != nil {
			s.Fatal(err)
		}
	}
	maps.DeleteFunc(series, func(name string, _ labels.Labels) bool { return value.IsStaleNaN(values[name]) })
	s.known = series
	if err := into.Commit(); err != nil {
		s.Fatal(err)
	}
}

// parse calls do for each sample of a scrape.
func (s *server) parse(text string, do func(labels.Labels, float64)) {
	s.Helper()
	p, err := textparse.New([]byte(text), "text/plain; version=0.0.4", labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for {
		switch entry, err := p.Next(); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			s.Fatal(err)
		case entry == textparse.EntrySeries:
			var l labels.Labels
			p.Labels(&l)
			_, _, v := p.Series()
			do(l, v)
		}
	}
}

// value returns the sum of the series of a metric.
func (s *server) value(name string) (sum float64) {
	s.Helper()
	text, err := s.scrape()
	if err != nil {
		s.Fatal(err)
	}
	s.parse(text, func(l labels.Labels, v float64) {
		if l.Get(model.MetricNameLabel) == name {
			sum += v
		}
	})
	return sum
}

// until waits until the sum of the series of a metric exceeds a value.
func (s *server) until(name string, above float64) {
	s.Helper()
	for end := time.Now().Add(time.Minute); s.value(name) <= above; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("%s does not exceed %v", name, above)
		}
	}
}
