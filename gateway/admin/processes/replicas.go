package processes

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uimgate/uimgate/store"
)

// A Process is a process of the gateway that shares the store.
type Process struct {
	Process       string    `json:"process"` // host name and process id
	Version       string    `json:"version"`
	Configuration string    `json:"configuration"` // hash of the configuration that it uses
	StartedAt     time.Time `json:"started_at"`
	// ReportedAt is its last report. Processes report every 10 seconds; the only process of a store reports only what is new.
	ReportedAt time.Time `json:"reported_at"`
	Running    bool      `json:"running"` // ReportedAt is at most 30 seconds ago, or the process is the one that responds
}

// Processes are the processes that share the store.
type Processes struct {
	Items []Process `json:"items"` // that have reported within an hour and have not ended
	// Unreported is the number of further processes that have the database open. They do not report, for example because they run an earlier
	// release. The number can be too small for up to 30 seconds after a process has ended without its last report.
	Unreported int `json:"unreported,omitempty"`
}

// A Propagation is how far the processes of the gateway have applied a change of a stop.
type Propagation struct {
	Processes int `json:"processes"` // that run and report
	Applied   int `json:"applied"`   // of Processes
	// Seconds is the time from the change until the slowest process had applied it; nil: no time is known.
	Seconds *float64 `json:"seconds,omitempty" jsonschema:"nullable"`
	// By lists the processes, including those that no longer report and have not applied the change. Such a process, if it
	// runs at all, refuses all calls until it has read the change.
	By         []Arrival `json:"by"`
	Unreported int       `json:"unreported,omitempty"` // see Processes
}

// An Arrival is whether one process has applied a change of a stop.
type Arrival struct {
	Process string `json:"process"`
	Applied bool   `json:"applied"`
	// Seconds is how long it took. nil: the process read the change when it started, or more than a day ago, or has not read it.
	Seconds    *float64  `json:"seconds,omitempty" jsonschema:"nullable"`
	Running    bool      `json:"running"`
	ReportedAt time.Time `json:"reported_at"`
}

const (
	// AppliedWithin is how long an operation waits until every running process has applied a change of a stop.
	AppliedWithin = 2 * time.Second
	// appliedPoll is how often such an operation reads the reports of the processes.
	appliedPoll = 50 * time.Millisecond
)

// Complete reports whether all running processes are known to have applied the change. If no process is known to run, it reports false.
func (a *Propagation) Complete() bool { return a != nil && a.Processes > 0 && a.Applied == a.Processes }

// String returns a summary such as "2 of 3 processes, 0.31 s; not yet: host:12".
func (a *Propagation) String() string {
	if a == nil {
		return ""
	}
	out := fmt.Sprintf("%d of %d processes", a.Applied, a.Processes)
	if a.Seconds != nil {
		out += fmt.Sprintf(", %.2f s", *a.Seconds)
	}
	var late, silent []string
	for _, p := range a.By {
		switch {
		case !p.Running:
			silent = append(silent, p.Process)
		case !p.Applied:
			late = append(late, p.Process)
		}
	}
	if len(late) > 0 {
		out += "; not yet: " + strings.Join(late, ", ")
	}
	if len(silent) > 0 {
		out += "; no longer reporting: " + strings.Join(silent, ", ")
	}
	if a.Unreported > 0 {
		out += fmt.Sprintf("; cannot report: %d", a.Unreported)
	}
	return out
}

// Processes returns the processes that share the store, ordered by name.
func (o *Operations) Processes(ctx context.Context) (Processes, error) {
	list, open, err := o.Store.Processes(ctx)
	if err != nil {
		return Processes{}, err
	}
	out := Processes{Items: make([]Process, 0, len(list)), Unreported: o.unreported(list, open)}
	for i := range list {
		p := &list[i]
		out.Items = append(out.Items, Process{
			Process: p.Name, Version: p.Version, Configuration: p.Configuration, StartedAt: p.StartedAt.UTC(),
			ReportedAt: p.ReportedAt.UTC(), Running: o.runs(p),
		})
	}
	return out, nil
}

// runs reports whether a process runs: it is this process, or it has reported recently.
func (o *Operations) runs(p *store.Process) bool { return p.ID == o.ID || p.Alive(o.Now()) }

// unreported returns how many processes have the database open and do not report.
func (o *Operations) unreported(list []store.Process, open int) int {
	for i := range list {
		if o.runs(&list[i]) {
			open--
		}
	}
	return max(0, open)
}

// addApplied sets Applied of stops, unless no process reports.
func (o *Operations) addApplied(ctx context.Context, stops []Stop) error {
	if len(stops) == 0 {
		return nil
	}
	list, open, err := o.Store.Processes(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	changes := make([]int64, 0, len(stops))
	for i := range stops {
		changes = append(changes, stops[i].change)
	}
	found, err := o.Store.StopReads(ctx, changes)
	if err != nil {
		return err
	}
	type key struct {
		change  int64
		process string
	}
	reads := make(map[key]time.Time, len(found))
	for _, r := range found {
		reads[key{r.Change, r.Process}] = r.At
	}
	for i := range stops {
		s := &stops[i]
		s.Applied = &Propagation{By: []Arrival{}, Unreported: o.unreported(list, open)}
		for j := range list {
			p := &list[j]
			at, known := reads[key{s.change, p.ID}]
			s.Applied.add(p, o.runs(p), known, at.Sub(s.changedAt()), known || p.Read >= s.change)
		}
	}
	return nil
}

// add adds a process, unless it has ended after it applied the change.
func (a *Propagation) add(p *store.Process, running, known bool, took time.Duration, applied bool) {
	if !running && applied {
		return
	}
	one := Arrival{Process: p.Name, Applied: applied, Running: running, ReportedAt: p.ReportedAt.UTC()}
	if known {
		seconds := float64(max(0, took).Round(time.Millisecond)) / float64(time.Second)
		one.Seconds = &seconds
		if a.Seconds == nil || *a.Seconds < seconds {
			a.Seconds = &seconds
		}
	}
	if a.By = append(a.By, one); !running {
		return
	}
	if a.Processes++; applied {
		a.Applied++
	}
}

// awaitApplied waits until all running processes have applied the change of a stop, or until AppliedWithin has passed, and sets s.Applied.
// The change itself has been made: an error of the store is not an error of the operation, and leaves s.Applied as it is.
func (o *Operations) awaitApplied(ctx context.Context, s *Stop) {
	ctx, cancel := context.WithTimeout(ctx, AppliedWithin)
	defer cancel()
	list := []Stop{*s}
	for {
		if err := o.addApplied(ctx, list); err != nil || list[0].Applied == nil {
			return
		}
		if s.Applied = list[0].Applied; s.Applied.Complete() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(appliedPoll):
		}
	}
}

// Others returns how many processes run besides this one, or nil if that is not known.
func (o *Operations) Others(ctx context.Context) *int {
	list, err := o.Processes(ctx)
	if err != nil || len(list.Items) == 0 {
		return nil
	}
	n := list.Unreported - 1
	for _, p := range list.Items {
		if p.Running {
			n++
		}
	}
	n = max(0, n)
	return &n
}

// Name returns the name of this process in Processes.
func (o *Operations) Name() string {
	if o.Figures == nil {
		return o.Keys.Process()
	}
	name, _ := o.Figures.Process()
	return name
}
