package record_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/record"
)

// A disk takes half of what it gets while it is full.
type disk struct {
	bytes.Buffer
	full bool
}

var errFull = errors.New("no space left")

func (d *disk) Write(p []byte) (int, error) {
	if !d.full {
		return d.Buffer.Write(p)
	}
	n, _ := d.Buffer.Write(p[:len(p)/2])
	return n, errFull
}

func TestTheAuditStreamGoesOnAfterAFullDisk(t *testing.T) {
	d := &disk{}
	a := record.NewAudit(d, false)
	record := func(id string) { a.Record(&execute.Event{RequestID: execute.RequestID(id), AgentID: "agent-1"}) }
	a.Record(&execute.Event{RequestID: "stranger"}) // nobody's: it is not of this stream
	record("r-1")
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	d.full = true
	record("r-2")
	if err := a.Flush(); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	record("r-3")
	d.full = false
	if err := a.Flush(); err != nil {
		t.Errorf("once there is space again: %v", err)
	}
	record("r-4")
	if err := a.Flush(); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(d.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%q", lines)
	}
	for i, line := range lines {
		if want := `"request_id":"r-` + string(rune('1'+i)) + `"`; !strings.HasPrefix(line, `{"at":`) || !strings.Contains(line,
			want) || !strings.HasSuffix(line, "}") {
			t.Errorf("line %d: %s", i, line)
		}
	}
	d.full = true // for long: what waits is bounded, and the loss is reported
	long := strings.Repeat("x", 1000)
	for range 10_000 {
		record(long)
	}
	if err := a.Flush(); err == nil {
		t.Error("lost records are not told")
	}
	d.full = false
	before := d.Len()
	if err := a.Flush(); err != nil || d.Len()-before > 5<<20 {
		t.Errorf("%v, %d bytes waited", err, d.Len()-before)
	}
}
