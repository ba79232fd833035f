package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/record"
)

// A disk writes only half of its input while it is full.
type disk struct {
	mu sync.Mutex
	bytes.Buffer
	full   bool
	writes int
	synced int // bytes
}

var errFull = errors.New("no space left")

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	if !d.full {
		return d.Buffer.Write(p)
	}
	n, _ := d.Buffer.Write(p[:len(p)/2])
	return n, errFull
}

func (d *disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = d.Len()
	return nil
}

func (d *disk) Close() error { return nil }

func (d *disk) holds(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Contains(d.String(), text)
}

// newAudit returns an Audit that writes to the files from open, and its log.
func newAudit(open func() (record.File, error)) (*record.Audit, *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.DebugLevel)
	return record.NewAudit(record.AuditOptions{Open: open, Log: zap.New(core), Metrics: record.NewMetrics()}), logs
}

func recordEvent(id string) *execute.Event {
	return &execute.Event{RequestID: execute.RequestID(id), AgentID: "agent-1"}
}

func TestAuditContinuesAfterFullDisk(t *testing.T) {
	d := &disk{}
	a, logs := newAudit(func() (record.File, error) { return d, nil })
	record := func(id string) { a.Record(recordEvent(id)) }
	a.Record(&execute.Event{RequestID: "stranger"}) // an event without an agent is not written
	record("r-1")
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	d.full = true
	record("r-2")
	if err := a.Flush(); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
	record("r-3")
	d.full = false
	if err := a.Flush(); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
	record("r-4")
	if err := a.Flush(); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(d.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("got %q, want length 4", lines)
	}
	for i, line := range lines {
		if want := `"request_id":"r-` + string(rune('1'+i)) + `"`; !strings.HasPrefix(line, `{"at":`) || !strings.Contains(line,
			want) || !strings.HasSuffix(line, "}") {
			t.Errorf("line %d: %s", i, line)
		}
	}
	d.full = true // a long outage: the queue is bounded, and Flush reports the loss
	long := strings.Repeat("x", 1000)
	for range 10_000 {
		record(long)
	}
	if err := a.Flush(); err == nil {
		t.Error("Flush does not report lost records")
	}
	d.full = false
	before := d.Len()
	if err := a.Flush(); err != nil || d.Len()-before > 5<<20 {
		t.Errorf("%v, %d bytes waited; want no error and at most %v", err, d.Len()-before, 5<<20)
	}
	if n := logs.FilterMessage("audit records cannot be written").Len(); n != 2 {
		t.Errorf("two outages were logged %d times", n)
	}
	over := logs.FilterMessage("audit records are written again").All()
	if len(over) != 2 || over[0].ContextMap()["lost"] != int64(0) || over[1].ContextMap()["lost"] == int64(0) {
		t.Errorf("got %v", over)
	}
}

func TestRecordsAreCompleteAfterReopen(t *testing.T) {
	files := []*disk{{full: true}, {}}
	opened := 0
	a, _ := newAudit(func() (record.File, error) { opened++; return files[opened-1], nil })
	a.Record(recordEvent("r-1"))
	if err := a.Flush(); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
	a.Reopen()
	a.Record(recordEvent("r-2"))
	if err := a.Flush(); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(files[1].String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"at":`) || !strings.Contains(lines[0], "r-1") || !strings.Contains(lines[1], "r-2") {
		t.Errorf("got %q", lines)
	}
}

func TestOpeningTheFileIsRetried(t *testing.T) {
	d, away := &disk{}, true
	a, logs := newAudit(func() (record.File, error) {
		if away {
			return nil, errFull
		}
		return d, nil
	})
	if err := a.Flush(); !errors.Is(err, errFull) || !errors.Is(a.Outage(), errFull) {
		t.Errorf("got %v", err)
	}
	a.Record(recordEvent("r-1"))
	_ = a.Flush()
	if n := logs.FilterMessage("audit records cannot be written").Len(); n != 1 {
		t.Errorf("one outage was logged %d times", n)
	}
	away = false
	if err := a.Flush(); err != nil || a.Outage() != nil || !d.holds("r-1") {
		t.Errorf("got %v, %v, %s", err, a.Outage(), d)
	}
}

// If a duty or the configuration requires a record, it is written before Record returns. Concurrent records share writes.
func TestRecordsForDutiesAreWrittenAtOnce(t *testing.T) {
	for _, required := range []bool{false, true} {
		d := &disk{}
		a, _ := newAudit(func() (record.File, error) { return d, nil })
		a.Configure(false, required)
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				v := recordEvent(fmt.Sprintf("r-%d-", i))
				if v.Owed = !required; required {
					if err := a.Begin(recordEvent("b" + string(v.RequestID))); err != nil || !d.holds("br") {
						t.Error(err)
					}
				}
				a.Record(v)
				if !d.holds(`"` + string(v.RequestID)) {
					t.Errorf("required %v: %s is not written when Record returns", required, v.RequestID)
				}
			})
		}
		all.Wait()
		if required && d.synced != d.Len() {
			t.Errorf("%d of %d bytes are on the disk", d.synced, d.Len())
		}
		if lines := strings.Count(d.String(), "\n"); d.writes > lines {
			t.Errorf("%d writes for %d records", d.writes, lines)
		}
	}
}

func TestCallsFailWithoutRequiredRecord(t *testing.T) {
	d := &disk{full: true}
	a, _ := newAudit(func() (record.File, error) { return d, nil })
	begin := func() error { return a.Begin(recordEvent("begun")) }
	if err := begin(); err != nil {
		t.Errorf("records are not required: %v", err)
	}
	a.Configure(false, true)
	for range 10_000 {
		if err := begin(); !errors.Is(err, errFull) {
			t.Fatalf("got %v, want %v", err, errFull)
		}
	}
	d.full = false
	if err := begin(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(d.String(), "begun\",\"service"); n > 2 {
		t.Errorf("got %d records of refused calls, want at most 2", n)
	}
}
