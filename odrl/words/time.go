package words

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A span is a time as written in a document: an instant, for which from and to are equal, or a whole day.
type span struct{ from, to time.Time }

// parseSpan parses an xsd:date or xsd:dateTime that model.ParseInstant accepts, in every year.
func parseSpan(s string) (span, bool) {
	if _, ok := model.ParseInstant(s); !ok {
		return span{}, false
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return span{t.UTC(), t.UTC()}, true
		}
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return span{t.UTC(), t.AddDate(0, 0, 1).UTC()}, true
		}
	}
	return span{}, false
}

func (s span) day() bool { return s.to.After(s.from) }

// time describes a condition on the time, in words that follow "the action takes place". A date means the whole day. A window includes its
// start but not its end. time returns false if the constraint concerns something else, or cannot be described in this way.
func (s speech) time(c *model.Constraint) (string, bool) {
	if c.Operand != "dateTime" && c.Operand != "timeWindow" || len(c.Right) != 1 {
		return "", false
	}
	r := c.Right[0]
	within, windowed := map[string]bool{"within": true, "isPartOf": true, "outside": false}[c.Operator]
	switch {
	case windowed:
		start, end, ok := r.Start, r.End, r.Window
		if !ok {
			start, end, ok = strings.Cut(r.Text, "/")
		}
		if !ok {
			return "", false
		}
		return windowClause(c.Operand, start, end, within)
	case r.Window:
		return "", false
	case isPolicyUsage(r.Text):
		return wordTime(c.Operator, "the time of use", "")
	}
	at, ok := parseSpan(r.Text)
	switch {
	case !ok:
		return "", false
	case at.day():
		return wordDay(c.Operator, at)
	default:
		return wordTime(c.Operator, moment(at.from), edge(at.from))
	}
}

// wordTime describes a comparison with an instant. at describes the instant, and edge describes the instant as the start or end of
// something. An empty edge means at.
func wordTime(operator, at, edge string) (string, bool) {
	edge = cmp.Or(edge, at)
	words, ok := map[string]string{
		"lt": "before " + edge, "lteq": "no later than " + at, "gt": "after " + at, "gteq": "no earlier than " + edge, "eq": "at " + at,
		"neq": "at any time except " + at,
	}[operator]
	return words, ok
}

func wordDay(operator string, d span) (string, bool) {
	words, ok := map[string]string{
		"lt": "before " + edge(d.from), "lteq": "before " + edge(d.to), "gt": "no earlier than " + edge(d.to),
		"gteq": "no earlier than " + edge(d.from),
		"eq":   inOrOut(d.from, d.to, true), "neq": inOrOut(d.from, d.to, false),
	}[operator]
	return words, ok
}

// windowClause describes a window of the day or of dates.
func windowClause(operand, start, end string, within bool) (string, bool) {
	from, _, ok := model.ParseClock(start)
	to, _, ok2 := model.ParseClock(end)
	if ok && ok2 && operand == "timeWindow" {
		return clockClause(from%int64(model.Day), to, within), true
	}
	a, ok := parseSpan(start)
	b, ok2 := parseSpan(end)
	if !ok || !ok2 || !a.from.Before(b.to) {
		return "", false
	}
	return inOrOut(a.from, b.to, within), true
}

// clockClause describes a daily window. The time outside a window is described as the rest of the day.
func clockClause(from, to int64, within bool) string {
	if !within {
		from, to = to%int64(model.Day), from
	}
	to = cmp.Or(to, int64(model.Day))
	s := "from " + clockTime(from) + " until just before " + clockTime(to)
	if from > to {
		s += " on the next day"
	}
	return s + " (UTC)"
}

func inOrOut(from, to time.Time, within bool) string {
	switch oneDay := midnight(from) && to.Equal(from.AddDate(0, 0, 1)); {
	case oneDay && within:
		return "on " + edge(from)
	case oneDay:
		return "on any day except " + edge(from)
	case within:
		return "no earlier than " + edge(from) + " and before " + edge(to)
	default:
		return "before " + edge(from) + ", or no earlier than " + edge(to)
	}
}

func midnight(t time.Time) bool { return t.Equal(t.Truncate(model.Day)) }

// moment describes an instant.
func moment(t time.Time) string { return t.Format("2 January 2006, 15:04:05.999999999 UTC") }

// edge describes an instant at which something begins or ends. It describes midnight as the day that begins then.
func edge(t time.Time) string {
	if midnight(t) {
		return t.Format("2 January 2006 (UTC)")
	}
	return moment(t)
}

// clockTime describes a time of day: 09:00, 09:00:30.
func clockTime(nano int64) string {
	if nano == int64(model.Day) {
		return "24:00"
	}
	t := time.Unix(0, nano).UTC()
	if nano%int64(time.Minute) == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05.999999999")
}

// timely reports whether every part of a constraint is about time.
func timely(c *model.Constraint) bool {
	if c.Logic == "" {
		return c.Left().Temporal
	}
	return !slices.ContainsFunc(c.Operands, func(o *model.Constraint) bool { return !timely(o) })
}
