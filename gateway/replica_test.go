package gateway_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/replica"
	"github.com/uimgate/uimgate/internal/reason"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A process reports on a database that it may share.
type process struct {
	*testing.T
	store   *sqlstore.Store
	view    *pat.View
	figures *record.Figures
	replica *replica.Reporter
	logs    *observer.ObservedLogs
	fails   error // of reports
	// reported receives a value after a report, unless one waits in it.
	reported chan struct{}
}

func (p *process) ReportProcess(ctx context.Context, r store.ProcessReport) error {
	if p.fails != nil {
		return p.fails
	}
	err := p.store.ReportProcess(ctx, r)
	select {
	case p.reported <- struct{}{}:
	default:
	}
	return err
}

func (p *process) EndProcess(ctx context.Context, id string) error {
	return p.store.EndProcess(ctx, id)
}

func start(t *testing.T, place, name string, sole bool) *process {
	t.Helper()
	p := &process{T: t, reported: make(chan struct{}, 1)}
	var err error
	if p.store, err = sqlstore.Open(t.Context(), place, sqlstore.Options{Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.store.Close() })
	ring, err := keys.Open(t.Context(), keys.Config{
		Store: p.store, Algorithm: "EdDSA", Overlap: time.Hour, Now: p.store.Now, Files: &memory{},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.view = pat.NewView(p.store, ring, p.store.Now)
	p.figures = record.NewFigures(name, p.store.Now)
	core, logs := observer.New(zap.DebugLevel)
	p.logs = logs
	p.replica = replica.New(replica.Options{
		Store: p, View: p.view, Figures: p.figures, Name: name, Version: "v1", Configuration: func() string { return "c1" },
		Sole: sole, Log: zap.New(core), Now: p.store.Now,
	})
	p.refresh()
	return p
}

// memory keeps the files of keys.
type memory struct{ pem []byte }

func (m *memory) Load() ([]byte, error) { return m.pem, nil }
func (m *memory) Save(pem []byte) error { m.pem = pem; return nil }

func (p *process) refresh() {
	p.Helper()
	if err := p.view.Refresh(p.Context()); err != nil {
		p.Fatal(err)
	}
}

func (p *process) report() {
	p.Helper()
	if err := p.replica.Report(p.Context()); err != nil {
		p.Fatal(err)
	}
}

// calls ends several calls; one of them is refused.
func (p *process) calls(n int) {
	for i := range n {
		e := &execute.Event{}
		if i == 0 {
			e.Reason = reason.ExpiredToken
		}
		p.figures.Record(e)
	}
}

// hour returns how many calls of the last two hours the store has of all processes but one, and how many of them were refused.
func (p *process) hour(except string) (calls, refused int64) {
	p.Helper()
	now := p.store.Now().Truncate(time.Hour)
	points := []record.FigurePoint{{At: now.Add(-time.Hour)}, {At: now}}
	stored, err := p.store.CallFigures(p.Context(), time.Hour, points[0].At, except)
	if err == nil {
		err = record.Add(points, stored)
	}
	if err != nil {
		p.Fatal(err)
	}
	for _, one := range points {
		calls, refused = calls+one.Calls, refused+one.Refused
		if one.Reasons[reason.ExpiredToken] != one.Refused {
			p.Errorf("got %+v", one)
		}
	}
	return calls, refused
}

func TestFiguresOfAllProcesses(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	a, b := start(t, dsn, "a", false), start(t, dsn, "b", false)
	a.calls(3)
	a.report()
	a.report() // the sums are the same
	b.calls(5)
	b.report()
	a.calls(4)
	a.report()
	if calls, refused := b.hour(b.replica.ID()); calls != 7 || refused != 2 {
		t.Errorf("b reads %d calls of others, %d refused; want 7 and 2", calls, refused)
	}
	if calls, refused := a.hour(""); calls != 12 || refused != 3 {
		t.Errorf("all: %d calls, %d refused; want 12 and 3", calls, refused)
	}
	// The figures survive the end of a process, and a process with the same name does not replace them.
	ctx, end := context.WithCancel(t.Context())
	end()
	b.calls(1)
	if err := b.replica.Run(ctx); err != nil {
		t.Fatal(err)
	}
	again := start(t, dsn, "b", false)
	again.calls(2)
	again.report()
	if calls, _ := again.hour(again.replica.ID()); calls != 13 {
		t.Errorf("after a restart: %d calls of others; want 13", calls)
	}
	list, open, err := again.store.Processes(t.Context())
	if err != nil || len(list) != 2 || open != 3 { // the store of b is still open
		t.Errorf("got %+v, %d, %v", list, open, err)
	}
}

func TestReadsOfStopsAreReported(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	a, b := start(t, dsn, "a", false), start(t, dsn, "b", false)
	before, err := a.store.Stop(t.Context(), pat.Stop{Kind: pat.StopConsent, By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.replica.Run(ctx) }()
	a.refresh()
	reads := func(change int64) []store.StopRead {
		list, err := b.store.StopReads(t.Context(), []int64{change})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for len(reads(before.Change)) == 0 { // the report follows at once
		<-a.reported
	}
	got := reads(before.Change)
	if len(got) != 1 || got[0].Process != a.replica.ID() || got[0].At.Before(before.At) || got[0].At.Sub(before.At) > time.Minute {
		t.Errorf("got %+v; the stop is of %s", got, before.At)
	}
	end()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// A process that starts has read the stops in force.
	c := start(t, dsn, "c", false)
	c.report()
	list, _, err := c.store.Processes(t.Context())
	if err != nil || len(list) != 1 || list[0].Read < before.Change || len(reads(before.Change)) != 1 {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestAFailedReportIsRepeated(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir()+"/state.db", "a", true)
	a.report()
	stop, err := a.store.Stop(t.Context(), pat.Stop{Kind: pat.StopConsent, By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	a.calls(2)
	a.refresh()
	a.fails = errors.New("the store is away")
	for range 2 {
		if err := a.replica.Report(t.Context()); !errors.Is(err, a.fails) {
			t.Errorf("got %v", err)
		}
	}
	a.fails = nil
	a.report()
	reads, err := a.store.StopReads(t.Context(), []int64{stop.Change})
	if err != nil || len(reads) != 1 {
		t.Errorf("got %+v, %v", reads, err)
	}
	if calls, _ := a.hour(""); calls != 2 {
		t.Errorf("%d calls; want 2", calls)
	}
	var lines []string
	for _, e := range a.logs.All() {
		lines = append(lines, e.Level.String())
	}
	if d := cmp.Diff([]string{"warn", "info"}, lines); d != "" {
		t.Errorf("the log differs (-want +got):\n%s", d)
	}
}

// The only process of a database writes nothing while nothing happens.
func TestAnIdleProcessIsQuiet(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir()+"/state.db", "a", true)
	a.report()
	a.fails = errors.New("written")
	a.report()
	a.calls(1)
	if err := a.replica.Report(t.Context()); !errors.Is(err, a.fails) {
		t.Errorf("got %v; want a report of the call", err)
	}
}
