// Package replica reports this process to the other processes that share the store. A report shows that the process runs. It contains the
// hash of the configuration, the times at which the process applied changes of stops, and totals of its calls. Operators read the reports
// of all processes from any of them.
package replica

import (
	"context"
	"crypto/rand"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	// Every is how often a process reports.
	Every = 10 * time.Second
	// silence is the longest time between two reports of a process that reports only changes. Its record must not expire.
	silence = store.ProcessesKept / 2
	// again is how soon a process repeats a report that failed.
	again = time.Second
	// reportTime bounds one report.
	reportTime = 5 * time.Second
)

// A Store keeps the reports.
type Store interface {
	ReportProcess(ctx context.Context, r store.ProcessReport) error
	EndProcess(ctx context.Context, id string) error
}

// Options configure a Reporter. All fields are required.
type Options struct {
	Store         Store
	View          *pat.View
	Figures       *record.Figures
	Name, Version string
	Configuration func() string // hash of the configuration in use
	// Sole states that no other process uses the store. Such a process reports only changes and, every 30 minutes, that it still runs.
	Sole bool
	Log  *zap.Logger
	Now  func() time.Time
}

// A Reporter reports one process. Its methods may not be called concurrently, except ID.
type Reporter struct {
	o        Options
	process  store.Process // as it was last reported
	stops    []store.StopRead
	reported time.Time // the last report; zero: none
	failing  bool
}

// New returns the Reporter of a process that starts now.
func New(o Options) *Reporter {
	return &Reporter{o: o, process: store.Process{ID: rand.Text(), Name: o.Name, Version: o.Version, StartedAt: o.Now().UTC()}}
}

// ID returns the ID of the store.Process.
func (r *Reporter) ID() string { return r.process.ID }

// Run reports the process until ctx is done. Then it reports once more, and deletes the record of the process.
func (r *Reporter) Run(ctx context.Context) error {
	for {
		wait := Every
		if err := r.Report(ctx); err != nil {
			wait = again
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			r.end(context.WithoutCancel(ctx))
			return nil
		case <-timer.C:
		case <-r.o.View.StopsRead():
			timer.Stop()
		}
	}
}

// Report writes what is new since the last report to the store, which also shows that the process still runs. It logs
// only the first of consecutive errors.
func (r *Reporter) Report(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	next, fresh, err := r.next()
	if err == nil && fresh {
		err = r.o.Store.ReportProcess(ctx, next)
	}
	switch {
	case err != nil && !r.failing && ctx.Err() == nil:
		r.o.Log.Warn("this process cannot report to the others: operators see it as not running", zap.Error(wire.Loggable(err)))
	case err == nil && r.failing:
		r.o.Log.Info("this process reports to the others again")
	}
	if r.failing = err != nil; r.failing || !fresh {
		return err
	}
	r.process, r.stops, r.reported = next.Process, nil, r.o.Now()
	r.o.Figures.Saved(next.Figures)
	return nil
}

// next returns the next report, and whether it must be written.
func (r *Reporter) next() (report store.ProcessReport, fresh bool, err error) {
	reads, read := r.o.View.TakeStopReads()
	for _, s := range reads {
		r.stops = append(r.stops, store.StopRead{Change: s.Change, Process: r.process.ID, At: s.At.UTC()})
	}
	r.stops = r.stops[max(0, len(r.stops)-store.MostStopReads):]
	report = store.ProcessReport{Process: r.process, Stops: r.stops}
	report.Process.Read, report.Process.Configuration = read, r.o.Configuration()
	report.Figures, err = r.o.Figures.Unsaved(r.process.ID)
	fresh = !r.o.Sole || r.o.Now().Sub(r.reported).Abs() >= silence || len(r.stops) > 0 || len(report.Figures) > 0 ||
		report.Process.Configuration != r.process.Configuration
	return report, fresh, err
}

// end makes the last report, and deletes the record of the process.
func (r *Reporter) end(ctx context.Context) {
	_ = r.Report(ctx) // logs its error
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	if err := r.o.Store.EndProcess(ctx, r.process.ID); err != nil {
		r.o.Log.Warn("the record of this process could not be deleted", zap.Error(wire.Loggable(err)))
	}
}
