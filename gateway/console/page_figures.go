package console

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/internal/reason"
)

// callSections draw the calls and the refusals of each minute of the last hour, and count the refusals by reason.
func (r *request) callSections(ctx context.Context) []section {
	figures, err := r.console.Operator.Processes.CallFigures(ctx, processes.FigureQuery{})
	if err != nil {
		return []section{{Title: "The last hour", Text: "This process does not count its calls."}}
	}
	out := section{
		Title: "The last hour",
		Text:  "Every call of all services in all processes. Other processes report theirs every 10 seconds.",
	}
	calls, refusals, reasons := []point(nil), []point(nil), map[reason.Reason]int64{}
	perSecond, refusedPerSecond := ratesOf(&figures)
	out.Cards = []card{
		{Label: "Calls per second", Value: perSecond, Live: "calls_per_second", Note: "in the last full minute"},
		{Label: "Refusals per second", Value: refusedPerSecond, Live: "refusals_per_second", Note: "in the last full minute"},
	}
	if figures.OthersUnread {
		out.Text = "The database cannot be read: only calls that the process " + figures.Process + " handled."
		out.Facts = []fact{{"Counted since", when(figures.Since)}}
	}
	if figures.Unreported > 0 {
		out.Lines = append(out.Lines, "Without the calls of processes that cannot report, such as those of an earlier release: "+
			strconv.Itoa(figures.Unreported)+".")
	}
	for i := range figures.Points {
		p := &figures.Points[i]
		calls = append(calls, point{At: p.At, Value: float64(p.Calls), Text: strconv.FormatInt(p.Calls, 10)})
		refusals = append(refusals, point{At: p.At, Value: float64(p.Refused), Text: strconv.FormatInt(p.Refused, 10)})
		for name, n := range p.Reasons {
			reasons[name] += n
		}
	}
	for _, one := range []struct {
		title, unit string
		points      []point
	}{{"Calls per minute", "Calls", calls}, {"Refusals per minute", "Refusals", refusals}} {
		if c, ok := chartOf(one.title, one.unit, sumOf(one.points), "in the last hour", one.points); ok {
			out.Charts = append(out.Charts, c)
		}
	}
	t := &table{Caption: "Refusals of the last hour by reason", Columns: heads("Reason", "#Calls"), Empty: "No call was refused."}
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b reason.Reason) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		t.Rows = append(t.Rows, []cell{link(string(name), r.address(at("calls"), "reason", string(name))), number(reasons[name])})
	}
	return []section{out, {Title: "Refusals by reason", Table: t}}
}

// sumOf adds up points.
func sumOf(points []point) string {
	sum := 0.0
	for _, p := range points {
		sum += p.Value
	}
	return strconv.FormatFloat(sum, 'f', -1, 64)
}

// ratesOf returns the calls and the refusals per second in the last minute that has ended.
func ratesOf(f *processes.CallFigures) (calls, refused string) {
	if len(f.Points) < 2 {
		return "?", "?"
	}
	last := f.Points[len(f.Points)-2]
	rate := func(n int64) string { return strconv.FormatFloat(float64(n)/60, 'f', 2, 64) }
	return rate(last.Calls), rate(last.Refused)
}
