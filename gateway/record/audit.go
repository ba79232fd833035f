package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/delay"
)

// An Audit writes one line of JSON for each decision: the agent, the call, the agreement, the rule that decided, and the facts. The audit
// stream is separate from the log. It contains the SHA-256 of the JSON of the parameters, with sorted members, or, if the operator
// configures this, the parameters themselves.
//
// If a duty of the policy requires a record, Record writes it to the file before it returns. If the operator requires every record, Record
// writes each record and syncs it to disk, and Begin records each call before the gateway makes it. All other records are buffered for up
// to a second. If writing fails, up to maxWaiting bytes of records wait in memory, and Run retries every second; further records are lost.
//
// An Audit is safe for concurrent use.
type Audit struct {
	open             func() (File, error)
	log              *zap.Logger
	metrics          *Metrics
	values, required atomic.Bool

	mu      sync.Mutex
	waiting []byte // complete records, added since the last write began
	added   uint64 // number of records added so far
	held    int    // bytes of the batch that are not yet written
	lost    int    // number of records lost since the outage began
	outage  error  // error of the last write; nil: the last write succeeded
	moved   bool   // the next write must open the file again

	writing sync.Mutex // held while writing, and acquired before mu
	file    File       // nil: not open
	batch   []byte     // complete records
	done    int        // bytes of the batch that are in the file
	written uint64     // number of records in the files
}

// A File is the destination of records.
type File interface {
	io.WriteCloser
	Sync() error
}

// AuditOptions configure an Audit. Open, Log and Metrics are required.
type AuditOptions struct {
	Open       func() (File, error) // opens the file of the stream for appending, by its current name
	Log        *zap.Logger
	Metrics    *Metrics
	Parameters bool // write the parameters as they were sent, instead of their digest
	Required   bool // refuse calls that cannot be recorded
}

const (
	// enoughWaiting is a number of bytes. Once at least this number is waiting, Record writes the bytes instead of leaving them to Run.
	enoughWaiting = 64 << 10
	// maxWaiting is the maximum size, in bytes, of the records that wait to be written. Further records are lost.
	maxWaiting = 4 << 20
)

var errAuditLost = errors.New("too many records wait to be written")

// NewAudit returns an Audit. The first write opens the file.
func NewAudit(o AuditOptions) *Audit {
	a := &Audit{open: o.Open, log: o.Log, metrics: o.Metrics}
	a.Configure(o.Parameters, o.Required)
	return a
}

// Configure changes AuditOptions.Parameters and AuditOptions.Required.
func (a *Audit) Configure(parameters, required bool) {
	a.values.Store(parameters)
	a.required.Store(required)
}

// Reopen makes the next write open the file again. Call it after the file was moved.
func (a *Audit) Reopen() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.moved = true
}

// Begin implements execute.Journal: it records a call before the gateway makes it, and returns an error if the record cannot be written. It
// sets v.Decision to Begun and v.Reproduction to nil. It does nothing if records are not required.
func (a *Audit) Begin(v *execute.Event) error {
	if !a.required.Load() { // reconfigured since the caller checked
		return nil
	}
	if a.Outage() != nil { // if the outage is not over, refuse the call without adding a record
		if err := a.Flush(); err != nil {
			return err
		}
	}
	v.Decision, v.Reproduction = Begun, nil
	n, err := a.add(v)
	if err != nil {
		return err
	}
	return a.flush(n)
}

// Record implements execute.Recorder: it records a call. It ignores calls without an accepted PAT, because unauthenticated clients must not
// fill the stream; the log and the metrics include them.
func (a *Audit) Record(v *execute.Event) {
	if v.AgentID == "" || v.Unaccepted {
		return
	}
	n, err := a.add(v)
	if err != nil {
		return // add has counted the lost record
	}
	if v.Owed || a.required.Load() || a.enough() {
		_ = a.flush(n) // flush has logged the error; the call has been made, and Run retries its record
	}
}

// lines are buffers for encoding records.
var lines = sync.Pool{New: func() any { return &[]byte{} }}

// maxKept is the maximum size, in bytes, of a buffer that is reused.
const maxKept = 64 << 10

// add encodes the record of an event and appends it to waiting. It returns the number of the record, or an error if the record is lost.
func (a *Audit) add(v *execute.Event) (uint64, error) {
	buffer, _ := lines.Get().(*[]byte)
	defer lines.Put(buffer)
	record := line(v, a.values.Load(), *buffer)
	text, err := record.AppendJSON((*buffer)[:0])
	text = append(text, '\n')
	if cap(text) <= maxKept {
		*buffer = text
	}
	return a.append(text, err)
}

// append appends a record to waiting, and returns its number. err is the error of encoding the record, if there was one. If append returns
// an error, the record is lost.
func (a *Audit) append(text []byte, err error) (uint64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && a.held+len(a.waiting)+len(text) > maxWaiting {
		err = errAuditLost
	}
	if err != nil {
		a.lost++
		a.metrics.auditLost.Inc()
		return 0, fmt.Errorf("audit record: %w", err)
	}
	a.waiting = append(a.waiting, text...)
	a.added++
	return a.added, nil
}

// enough reports whether Record should write the waiting records now. During an outage, only Run retries.
func (a *Audit) enough() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting) >= enoughWaiting && a.outage == nil
}

// Flush writes the waiting records to the file, and syncs the file if records are required. If that fails, it returns the error, and the
// next Flush retries. A Flush that succeeds ends an outage.
func (a *Audit) Flush() error { return a.flush(0) }

// flush writes all waiting records. If n is not 0 and record n has already been written, flush does nothing: of several concurrent callers,
// one writes the records of all.
func (a *Audit) flush(n uint64) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	if n > 0 && a.written >= n {
		return nil
	}
	whole := bytes.LastIndexByte(a.batch[:a.done], '\n') + 1
	a.batch, a.done = a.batch[:copy(a.batch, a.batch[whole:])], a.done-whole
	a.mu.Lock()
	a.batch, a.waiting = append(a.batch, a.waiting...), a.waiting[:0]
	a.held = len(a.batch) - a.done
	added, moved := a.added, a.moved
	a.moved = false
	a.mu.Unlock()
	err := a.write(moved)
	if err == nil {
		a.written = added
	}
	a.note(err)
	return err
}

// write writes the batch. After an error, done is the number of bytes that were written. The caller holds writing.
func (a *Audit) write(moved bool) error {
	if a.file == nil || moved {
		if err := a.reopen(); err != nil {
			a.Reopen()
			return err
		}
	}
	if a.done == len(a.batch) {
		return nil
	}
	n, err := a.file.Write(a.batch[a.done:])
	a.done += n
	if err != nil {
		return err
	}
	a.batch, a.done = a.batch[:0], 0
	if !a.required.Load() {
		return nil
	}
	if err := a.file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // EINVAL: devices and pipes cannot be synced
		return err
	}
	return nil
}

// reopen opens the file. If a part of a record is in the previous file, write writes the complete record to the new file.
func (a *Audit) reopen() error {
	file, err := a.open()
	if err != nil {
		return err
	}
	if a.file != nil {
		err = a.file.Close()
	}
	a.file, a.done = file, 0
	return err
}

// note records the result of a write: it counts a failure, and logs the beginning and the end of an outage.
func (a *Audit) note(err error) {
	a.mu.Lock()
	before, lost := a.outage, a.lost
	a.outage, a.held = err, len(a.batch)-a.done
	if err == nil {
		a.lost = 0
	}
	a.mu.Unlock()
	switch {
	case err != nil:
		a.metrics.auditFailed.Inc()
		if before == nil {
			a.log.Error("audit records cannot be written", zap.Error(err))
		}
	case before != nil || lost > 0:
		a.log.Warn("audit records are written again", zap.Int("lost", lost))
	}
}

// Outage returns the error of the last write, or nil if the last write succeeded.
func (a *Audit) Outage() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.outage
}

// Required implements execute.Journal: it reports AuditOptions.Required.
func (a *Audit) Required() bool { return a.required.Load() }

// Run flushes every second until ctx ends, and then once more. It returns the error of the last flush.
func (a *Audit) Run(ctx context.Context) error {
	for delay.For(ctx, time.Second) == nil {
		_ = a.Flush() // note has logged the error
	}
	if err := a.Flush(); err != nil {
		return fmt.Errorf("writing the last audit records: %w", err)
	}
	return nil
}

// Close closes the file. It does not write the waiting records, and a later write opens the file again.
func (a *Audit) Close() error {
	a.writing.Lock()
	defer a.writing.Unlock()
	if a.file == nil {
		return nil
	}
	file := a.file
	a.file = nil
	return file.Close()
}
