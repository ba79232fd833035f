package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/regex"
)

// A Group holds findings whose messages differ at most in the names in quotation marks.
type Group struct {
	Message  string // with … instead of the names that differ
	Findings []Finding
}

var quoted = regex.Lazy(`"[^"]*"`)

// Groups groups findings. The largest groups come first, and groups of the same size are in the order of their first findings. Each finding
// about the whole document is a separate group.
func Groups(all []Finding) []Group {
	var out []Group
	at := map[string]int{}
	for _, f := range all {
		kind := quoted().ReplaceAllString(f.Message, `"…"`)
		i, have := at[kind]
		if !have || f.Operation == "" {
			if f.Operation != "" {
				at[kind] = len(out)
			}
			out = append(out, Group{f.Message, []Finding{f}})
			continue
		}
		g := &out[i]
		g.Findings = append(g.Findings, f)
		if g.Message != f.Message {
			g.Message = common(g.Message, f.Message)
		}
	}
	slices.SortStableFunc(out, func(a, b Group) int { return cmp.Compare(len(b.Findings), len(a.Findings)) })
	return out
}

// common returns a with "…" in place of each quoted name that differs in b.
func common(a, b string) string {
	names := quoted().FindAllString(b, -1)
	i := -1
	return quoted().ReplaceAllStringFunc(a, func(name string) string {
		if i++; i < len(names) && names[i] == name {
			return name
		}
		return `"…"`
	})
}

// Items returns one Finding for each operation of the group. Its Message lists the names that differ.
func (g *Group) Items() []Finding {
	shared := quoted().FindAllString(g.Message, -1)
	var out []Finding
	for _, f := range g.Findings {
		var own []string
		for i, name := range quoted().FindAllString(f.Message, -1) {
			if i < len(shared) && shared[i] != name && !slices.Contains(own, name) {
				own = append(own, name)
			}
		}
		names := strings.Join(own, ", ")
		if last := len(out) - 1; last >= 0 && out[last].Operation == f.Operation { // findings are ordered by operation
			out[last].Message += ", " + names
			continue
		}
		out = append(out, Finding{f.Operation, names})
	}
	return out
}

// Line returns the group as one line: its message, and at most maxItems of its operations.
func (g *Group) Line(maxItems int) string {
	if len(g.Findings) == 1 {
		return g.Findings[0].String()
	}
	items := g.Items()
	var shown []string
	for _, f := range items[:min(maxItems, len(items))] {
		if f.Message != "" {
			f.Operation += " (" + f.Message + ")"
		}
		shown = append(shown, f.Operation)
	}
	if len(items) > maxItems {
		shown = append(shown, fmt.Sprintf("and %d more", len(items)-maxItems))
	}
	return fmt.Sprintf("%s: %s: %s", g.Message, problem.Counted(len(items), "operation"), strings.Join(shown, ", "))
}
