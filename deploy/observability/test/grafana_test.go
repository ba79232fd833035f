package observability_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

var update = flag.Bool("update", false, "write the dashboards")

// A board is a dashboard. Its file has its uid without the prefix "uimgate-".
type board struct {
	uid, title, description string
	rows                    []row
}

type row struct {
	title  string
	panels []panel
}

// A panel shows queries. In their expressions, {instance} and {service} represent the selections of the reader.
type panel struct {
	kind  kind
	title string
	unit  string // of Grafana
	// description explains the normal values to an operator, and the meaning of a change.
	description string
	queries     []query
	// red is the value from which a number is red. 0 means none.
	red float64
}

type query struct{ expr, legend string }

type kind int

const (
	graph   kind = iota // a third of the width
	stacked             // a third of the width, as areas
	number              // an eighth
	rows                // a table of labels, half of the width
)

// selections replace the marks in expressions.
var selections = strings.NewReplacer(
	"{instance", `{job=~"$job", instance=~"$instance"`,
	"{service", `{job=~"$job", instance=~"$instance", service=~"$service"`,
)

var source = common.DataSourceRef{Type: new("prometheus"), Uid: new("$datasource")}

func (p panel) targets() (all []cog.Builder[variants.Dataquery]) {
	for i, q := range p.queries {
		b := prometheus.NewDataqueryBuilder().RefId(string(rune('A' + i))).Datasource(source).
			Expr(selections.Replace(q.expr)).LegendFormat(q.legend)
		switch p.kind {
		case number:
			b.Instant()
		case rows:
			b.Instant().Format(prometheus.PromQueryFormatTable)
		case graph, stacked:
			b.Range()
		}
		all = append(all, b)
	}
	return all
}

func (p panel) builder() cog.Builder[dashboard.Panel] {
	switch p.kind {
	case number:
		steps := []dashboard.Threshold{{Color: "green"}}
		if p.red != 0 {
			steps = append(steps, dashboard.Threshold{Value: &p.red, Color: "red"})
		}
		return stat.NewPanelBuilder().Title(p.title).Description(p.description).Unit(p.unit).Height(4).Span(3).Datasource(source).
			Targets(p.targets()).GraphMode(common.BigValueGraphModeNone).NoValue("0").
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
			Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps))
	case rows:
		return table.NewPanelBuilder().Title(p.title).Description(p.description).Unit(p.unit).Height(7).Span(12).Datasource(source).
			Targets(p.targets()).WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}})
	case graph, stacked:
	}
	b := timeseries.NewPanelBuilder().Title(p.title).Description(p.description).Unit(p.unit).Min(0).Height(8).Span(8).Datasource(source).
		Targets(p.targets()).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).
			ShowLegend(true).Calcs([]string{"lastNotNull", "max"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if p.kind == stacked {
		b.FillOpacity(30).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
	}
	return b
}

// choice is a variable with the values of a label.
func choice(name, series string) cog.Builder[dashboard.VariableModel] {
	q := "label_values(" + series + ", " + name + ")"
	return dashboard.NewQueryVariableBuilder(name).Label(name).Query(dashboard.StringOrMap{String: &q}).Datasource(source).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".*").Current(dashboard.VariableOption{
		Selected: new(true),
		Text:     dashboard.StringOrArrayOfString{String: new("All")},
		Value:    dashboard.StringOrArrayOfString{String: new("$__all")},
	})
}

// build makes the dashboard, in schema v1.
//
//nolint:staticcheck // the package prefers schema v2, which Grafana 12 reads only with a feature toggle
func (b board) build() (dashboard.Dashboard, error) {
	d := dashboard.NewDashboardBuilder(b.title).Uid(b.uid).Description(b.description).Tags([]string{"uimgate"}).
		Time("now-3h", "now").Refresh("30s").Tooltip(dashboard.DashboardCursorSyncCrosshair).Timezone("browser").
		Link(dashboard.NewDashboardLinkBuilder("uimgate").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{"uimgate"}).KeepTime(true).
			IncludeVars(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("data source").Type("prometheus")).
		WithVariable(choice("job", "uimgate_build_info")).
		WithVariable(choice("instance", `uimgate_build_info{job=~"$job"}`)).
		WithVariable(choice("service", `uimgate_upstream_calls{job=~"$job"}`))
	for _, r := range b.rows {
		d.WithRow(dashboard.NewRowBuilder(r.title))
		for _, p := range r.panels {
			d.WithPanel(p.builder())
		}
	}
	built, err := d.Build()
	built.SchemaVersion = 41 // of Grafana 12.1, which deploy/compose.yaml runs
	for i, p := range built.Panels {
		id := uint32(i + 1)
		if p.Panel != nil {
			p.Panel.Id = &id
		} else {
			p.RowPanel.Id = id
		}
	}
	return built, err
}

func (b board) file() string {
	return filepath.Join("../dashboards", strings.TrimPrefix(b.uid, "uimgate-")+".json")
}

// TestDashboardsAreThoseOfTheTable compares the files with those that the table generates. go test -run Table -update, in this folder,
// writes them.
func TestDashboardsAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	var want []string
	for _, b := range boards {
		built, err := b.build()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(built); err != nil {
			t.Fatal(err)
		}
		want = append(want, b.file())
		if *update {
			if err := errors.Join(os.MkdirAll("../dashboards", 0o755), os.WriteFile(b.file(), text.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		found, err := os.ReadFile(b.file())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text.String(), string(found)); diff != "" {
			t.Errorf("%s is not what the table gives: run go test -run Table -update (-table +file):\n%s", b.file(), diff)
		}
		var read dashboard.Dashboard                                                 //nolint:staticcheck // as above
		if err := read.UnmarshalJSONStrict(found); err != nil && err.Error() != "" { // it returns empty lists
			t.Errorf("%s: %v", b.file(), err)
		}
	}
	files, err := filepath.Glob("../dashboards/*")
	slices.Sort(want)
	if diff := cmp.Diff(want, files); err != nil || diff != "" {
		t.Errorf("%v, files (-table +folder):\n%s", err, diff)
	}
}

// TestPanelsExplainThemselves: each panel has a title of its own on its dashboard, a unit, and a description in whole sentences.
func TestPanelsExplainThemselves(t *testing.T) {
	t.Parallel()
	for _, b := range boards {
		titles := map[string]bool{}
		for _, r := range b.rows {
			for _, p := range r.panels {
				if p.title == "" || titles[p.title] || p.unit == "" || !strings.HasSuffix(p.description, ".") || len(p.queries) == 0 {
					t.Errorf("%s: %q lacks a title of its own, a unit, a description or a query", b.title, p.title)
				}
				titles[p.title] = true
			}
		}
	}
}
