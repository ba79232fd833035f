package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/processes"
)

// appliedCell shows how many processes have applied a change of a stop, and how long each took.
func appliedCell(a *processes.Propagation) cell {
	if a == nil {
		return text("unknown")
	}
	c := cell{Text: a.String(), State: "ok", More: strings.Join(appliedTimes(a), ", ")}
	if !a.Complete() {
		c.State = "bad"
	}
	return c
}

// appliedTimes returns how long each process took or, if this is unknown, that the process has applied the change.
func appliedTimes(a *processes.Propagation) (list []string) {
	for _, p := range a.By {
		switch {
		case p.Seconds != nil:
			list = append(list, fmt.Sprintf("%s %.2f s", p.Process, *p.Seconds))
		case p.Applied:
			list = append(list, p.Process+" applied")
		}
	}
	return list
}

// replicaSections show the processes of the gateway, and the stops that ended last.
func (r *request) replicaSections(inForce []processes.Stop) ([]section, error) {
	processes, err := r.console.Operator.Processes.Processes(r.Context())
	if err != nil {
		return nil, err
	}
	past, err := r.stopListing("ended").table(r)
	if err != nil {
		return nil, err
	}
	past.Next = ""
	past.CSV = r.same("format", "csv") + "&state=ended"
	if len(past.Rows) == 0 {
		past.CSV = ""
	}
	return []section{{Title: "Resumed", Table: past}, r.processSection(processes, inForce)}, nil
}

// stopListing lists the stops in a state of processes.StopQuery that the search of the request selects.
func (r *request) stopListing(state string) listing[processes.Stop] {
	l := listing[processes.Stop]{
		caption: "Stops in force, the newest first", empty: "Nothing is stopped.", columns: []column[processes.Stop]{
			{"What", func(s processes.Stop) cell { return cell{Text: stopped(s), State: "bad"} }},
			{"Service", func(s processes.Stop) cell { return text(cmp.Or(s.Service, "every service")) }},
			{"By", func(s processes.Stop) cell { return text(s.By) }},
			{"Since", func(s processes.Stop) cell { return when(s.At) }},
			{"Reason", func(s processes.Stop) cell { return text(s.Reason) }},
			{"Applied", func(s processes.Stop) cell { return appliedCell(s.Applied) }},
		},
	}
	if state == "ended" {
		l.caption, l.empty = "Stops that ended in the last 30 days, at most 100", "No stop has ended."
		l.columns = slices.Insert(l.columns, 4, column[processes.Stop]{"Resumed", func(s processes.Stop) cell { return when(s.EndedAt) }},
			column[processes.Stop]{"Resumed by", func(s processes.Stop) cell { return text(s.EndedBy) }})
		l.columns[0].cell = func(s processes.Stop) cell { return text(stopped(s)) }
	}
	search := strings.ToLower(r.URL.Query().Get("search"))
	l.fetch = func(ctx context.Context, q api.PageRequest) (api.Page[processes.Stop], error) {
		found, err := r.console.Operator.Processes.Stops(ctx, processes.StopQuery{State: state})
		found.Items = slices.DeleteFunc(found.Items, func(s processes.Stop) bool {
			return !strings.Contains(strings.ToLower(strings.Join([]string{stopped(s), s.Service, s.By, s.EndedBy}, "\n")), search)
		})
		from, _ := strconv.Atoi(q.After) // 0: from the start
		from = max(0, min(from, len(found.Items)))
		to := min(from+q.Limit, len(found.Items))
		if to < len(found.Items) {
			found.Next = strconv.Itoa(to)
		}
		found.Items = found.Items[from:to]
		return found, err
	}
	return l
}

// stopped names what a stop stops.
func stopped(s processes.Stop) string { return strings.TrimSpace(string(s.Kind) + " " + s.Subject) }

// processSection shows the processes of the gateway.
func (r *request) processSection(list processes.Processes, inForce []processes.Stop) section {
	t := table{Caption: "Processes that share the database", Empty: "No process has reported yet.", Columns: heads(
		"Process", "State", "Stops not applied", "Version", "Configuration", "Since", "Last report",
	)}
	for _, p := range list.Items {
		state, missing := cell{Text: "running", State: "ok"}, missingStops(p.Process, inForce)
		if !p.Running {
			state = cell{Text: "does not report", State: "warn"}
		}
		t.Rows = append(t.Rows, []cell{
			text(p.Process), state, number(int64(missing)), text(p.Version), code(p.Configuration), when(p.StartedAt), when(p.ReportedAt),
		})
	}
	out := section{
		Title: "Processes", Table: &t,
		Text: "A process reports every ten seconds. One that cannot read the database refuses all calls after a second.",
	}
	if list.Unreported > 0 {
		out.Lines = append(out.Lines, fmt.Sprintf("%d more have the database open and cannot report, for example because they run an earlier "+
			"release. They apply stops too.", list.Unreported))
	}
	return out
}

// missingStops counts the stops that a process is not known to have applied.
func missingStops(process string, stops []processes.Stop) (n int) {
	for _, s := range stops {
		if s.Applied != nil &&
			slices.ContainsFunc(s.Applied.By, func(by processes.Arrival) bool { return by.Process == process && !by.Applied }) {
			n++
		}
	}
	return n
}
