package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin"
)

// appliedCell shows how many processes have applied a change of a stop, and how long each took.
func appliedCell(a *admin.Propagation) cell {
	if a == nil {
		return text("unknown")
	}
	c := cell{Text: a.String(), State: "ok", More: strings.Join(appliedTimes(a), ", ")}
	if !a.Complete() {
		c.State = "bad"
	}
	return c
}

// appliedTimes has how long each process took, if this is known.
func appliedTimes(a *admin.Propagation) (list []string) {
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
func (r *request) replicaSections(inForce []admin.Stop) ([]section, error) {
	ended, err := r.console.Operator.Stops(r.Context(), admin.StopQuery{State: "ended"})
	if err != nil {
		return nil, err
	}
	processes, err := r.console.Operator.Processes(r.Context())
	if err != nil {
		return nil, err
	}
	past := table{Caption: "Stops that ended in the last 30 days, at most 100", Empty: "No stop has ended.", Columns: heads(
		"What", "Service", "Stopped by", "Stopped", "Resumed by", "Resumed", "Applied",
	)}
	for _, s := range ended.Items {
		past.Rows = append(past.Rows, []cell{
			text(strings.TrimSpace(string(s.Kind) + " " + s.Subject)), text(cmp.Or(s.Service, "every service")), text(s.By), when(s.At),
			text(s.EndedBy), when(s.EndedAt), appliedCell(s.Applied),
		})
	}
	return []section{{Title: "Resumed", Table: &past}, r.processSection(processes, inForce)}, nil
}

// processSection shows the processes of the gateway.
func (r *request) processSection(list admin.Processes, inForce []admin.Stop) section {
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
func missingStops(process string, stops []admin.Stop) (n int) {
	for _, s := range stops {
		if s.Applied != nil && slices.ContainsFunc(s.Applied.By, func(by admin.Arrival) bool { return by.Process == process && !by.Applied }) {
			n++
		}
	}
	return n
}
