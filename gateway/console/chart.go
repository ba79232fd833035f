package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A chart is a series of values with a table of them. It is drawn on the server.
type chart struct {
	Title, Total, Span, Summary, Unit string
	Width                             int
	Line, Area                        string // paths
	Points                            []point
}

// A point is one value of a chart.
type point struct {
	At    time.Time
	Value float64
	Text  string
}

const chartHeight = 38

// chartOf draws points, which are in the order of time. It returns false if there are fewer than two.
func chartOf(title, unit, total, span string, points []point) (chart, bool) {
	if len(points) < 2 {
		return chart{}, false
	}
	highest := 0.0
	for _, p := range points {
		highest = max(highest, p.Value)
	}
	const step = 10
	c := chart{Title: title, Unit: unit, Total: total, Span: span, Points: points, Width: step * (len(points) - 1)}
	var line strings.Builder
	for i, p := range points {
		y := float64(chartHeight)
		if highest > 0 {
			y = chartHeight - p.Value/highest*(chartHeight-4)
		}
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&line, "%s%d %.1f", command, i*step, y)
	}
	c.Line = line.String()
	c.Area = fmt.Sprintf("%sL%d 40L0 40Z", c.Line, c.Width)
	c.Summary = fmt.Sprintf("%s: %s %s. The highest value is %s.", title, total, span, strconv.FormatFloat(highest, 'f', -1, 64))
	return c, true
}
