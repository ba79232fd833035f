package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

type processes interface {
	ReportProcess(ctx context.Context, r store.ProcessReport) error
	EndProcess(ctx context.Context, id string) error
	Processes(ctx context.Context) (list []store.Process, open int, err error)
	StopReads(ctx context.Context, changes []int64) ([]store.StopRead, error)
	EndedStops(ctx context.Context, limit int) ([]pat.Stop, error)
	AddReload(ctx context.Context, r store.Reload) error
	Reloads(ctx context.Context, limit int) ([]store.Reload, error)
	CallFigures(ctx context.Context, length time.Duration, from time.Time, except string) ([]store.CallFigures, error)
}

func testProcesses(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a process has one record":                 processKept,
		"the records of processes expire":          processExpires,
		"the first read of a stop is kept":         stopReadsKept,
		"the reads of a process are bounded":       stopReadsBounded,
		"ended stops are listed by their end":      endedStopsListed,
		"figures of a period replace earlier ones": figuresKept,
		"figures are kept as long as displayed":    figuresExpire,
		"the newest reloads are kept":              reloadsKept,
	})
}

func processOf(id string) store.Process {
	return store.Process{ID: id, Name: "host:" + id, Version: "v1", Configuration: "c1", StartedAt: start.UTC(), Read: 3}
}

func (b *suite) report(r store.ProcessReport) {
	b.Helper()
	b.must(b.ReportProcess(b.Context(), r))
}

// listed returns the processes that have a record.
func (b *suite) listed() (names []string) {
	b.Helper()
	list, open, err := b.Processes(b.Context())
	b.must(err)
	if open < 1 {
		b.Errorf("%d processes have the database open; want at least 1", open)
	}
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names
}

func processKept(b *suite) {
	want := processOf("1")
	b.report(store.ProcessReport{Process: want})
	b.clock.Advance(time.Minute)
	want.Configuration, want.Read = "c2", 4
	b.report(store.ProcessReport{Process: want})
	b.reopen()
	list, open, err := b.Processes(b.Context())
	for n := 0; err == nil && open > 1 && n < 10000; n++ { // the server may still be ending the connection that reopen closed
		list, open, err = b.Processes(b.Context())
	}
	b.must(err)
	if d := cmp.Diff([]store.Process{want}, list, cmpopts.IgnoreFields(store.Process{}, "ReportedAt")); d != "" || open != 1 {
		b.Errorf("%d open; differs (-want +got):\n%s", open, d)
	}
	if now := b.clock.Now(); !list[0].Alive(now) || list[0].Alive(now.Add(time.Minute)) {
		b.Errorf("the process reported at %s, now it is %s", list[0].ReportedAt, now)
	}
	b.must(b.EndProcess(b.Context(), "1"))
	b.must(b.EndProcess(b.Context(), "1"))
	if names := b.listed(); len(names) != 0 {
		b.Errorf("after its end: %v", names)
	}
}

func processExpires(b *suite) {
	b.report(store.ProcessReport{Process: processOf("1")})
	b.clock.Advance(store.ProcessesKept - time.Minute)
	if n := b.purge(); n != 0 {
		b.Errorf("%d rows were purged, want 0", n)
	}
	b.clock.Advance(2 * time.Minute)
	if n := b.purge(); n != 1 {
		b.Errorf("%d rows were purged, want 1", n)
	}
	if names := b.listed(); len(names) != 0 {
		b.Errorf("got %v", names)
	}
}

func stopReadsKept(b *suite) {
	b.report(store.ProcessReport{Process: processOf("1"), Stops: []store.StopRead{{Change: 7, At: start.UTC()}, {Change: 8, At: start.UTC()}}})
	b.report(store.ProcessReport{Process: processOf("1"), Stops: []store.StopRead{{Change: 8, At: start.Add(time.Second).UTC()}}})
	got, err := b.StopReads(b.Context(), []int64{8, 9})
	b.must(err)
	if d := cmp.Diff([]store.StopRead{{Change: 8, Process: "1", At: start.UTC()}}, got); d != "" {
		b.Errorf("differs (-want +got):\n%s", d)
	}
	if got, err := b.StopReads(b.Context(), nil); err != nil || len(got) != 0 {
		b.Errorf("got %v, %v", got, err)
	}
	b.must(b.EndProcess(b.Context(), "1"))
	b.clock.Advance(store.StopReadsKept + time.Minute)
	if n := b.purge(); n != 2 {
		b.Errorf("%d rows were purged, want 2", n)
	}
}

func stopReadsBounded(b *suite) {
	var list []store.StopRead
	for i := range store.MostStopReads + 5 {
		list = append(list, store.StopRead{Change: int64(i + 1), At: start.UTC()})
	}
	b.report(store.ProcessReport{Process: processOf("1"), Stops: list})
	got, err := b.StopReads(b.Context(), []int64{1, 5, 6, int64(len(list))})
	b.must(err)
	if len(got) != 2 {
		b.Errorf("got %v; want the changes 6 and %d", got, len(list))
	}
}

func endedStopsListed(b *suite) {
	for i := range 3 {
		s := pat.Stop{Kind: pat.StopDoor, Subject: fmt.Sprint(i), By: "ann"}
		made := b.stopped(s)
		b.clock.Advance(time.Second)
		ended, err := b.Resume(b.Context(), s)
		b.must(err)
		if ended.Change <= made.Change || made.Change == 0 {
			b.Errorf("the stop is change %d, and its end %d", made.Change, ended.Change)
		}
	}
	list, err := b.EndedStops(b.Context(), 2)
	b.must(err)
	if len(list) != 2 || list[0].Subject != "2" || list[1].Subject != "1" || list[0].Change <= list[1].Change {
		b.Errorf("got %+v", list)
	}
}

func (b *suite) wantFigures(from time.Time, except string, want ...store.CallFigures) {
	b.Helper()
	got, err := b.CallFigures(b.Context(), time.Minute, from, except)
	b.must(err)
	byProcess := cmpopts.SortSlices(func(a, c store.CallFigures) bool { return a.Process < c.Process })
	if d := cmp.Diff(want, got, byProcess, cmpopts.EquateEmpty()); d != "" {
		b.Errorf("differs (-want +got):\n%s", d)
	}
}

func minuteFigures(process, sums string) store.CallFigures {
	return store.CallFigures{Length: time.Minute, At: start.UTC().Truncate(time.Minute), Process: process, Sums: []byte(sums)}
}

func figuresKept(b *suite) {
	hour := minuteFigures("1", `{"calls":9}`)
	hour.Length, hour.At = time.Hour, start.UTC().Truncate(time.Hour)
	one := minuteFigures("1", `{"calls":1}`)
	two, other := minuteFigures("1", `{"calls":2}`), minuteFigures("2", `{"calls":5}`)
	b.report(store.ProcessReport{Process: processOf("1"), Figures: []store.CallFigures{one, hour}})
	b.wantFigures(one.At, "", one)
	b.report(store.ProcessReport{Process: processOf("1"), Figures: []store.CallFigures{two}})
	b.report(store.ProcessReport{Process: processOf("2"), Figures: []store.CallFigures{other}})
	b.wantFigures(one.At, "", two, other)
	b.wantFigures(one.At, "1", other)
	b.wantFigures(one.At.Add(time.Minute), "")
}

func figuresExpire(b *suite) {
	one := minuteFigures("1", `{"calls":1}`)
	hour := minuteFigures("1", `{"calls":1}`)
	hour.Length, hour.At = time.Hour, start.UTC().Truncate(time.Hour)
	b.report(store.ProcessReport{Process: processOf("1"), Figures: []store.CallFigures{one, hour}})
	b.must(b.EndProcess(b.Context(), "1"))
	for _, after := range []time.Duration{store.MinuteFiguresKept + time.Minute, store.HourFiguresKept} {
		b.clock.Advance(after)
		if n := b.purge(); n != 1 {
			b.Errorf("after %s: %d rows were purged, want 1", after, n)
		}
	}
}

func reloadsKept(b *suite) {
	for i := range store.MostReloads + 2 {
		b.must(b.AddReload(b.Context(), store.Reload{At: start.Add(time.Duration(i) * time.Second), Process: "a", Record: []byte(`{}`)}))
	}
	last := store.Reload{At: start.Add(time.Hour).UTC(), Process: "b", Record: []byte(`{"by":"ann"}`)}
	b.must(b.AddReload(b.Context(), last))
	list, err := b.Reloads(b.Context(), 2*store.MostReloads)
	b.must(err)
	if d := cmp.Diff(last, list[0]); d != "" || len(list) != store.MostReloads {
		b.Errorf("%d reloads; the newest differs (-want +got):\n%s", len(list), d)
	}
	list, err = b.Reloads(b.Context(), 1)
	b.must(err)
	if len(list) != 1 {
		b.Errorf("got %+v", list)
	}
}
