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
)

// An Audit writes one line of JSON for each decision: the agent, the call, the agreement, and which rule decided on which facts. It is a
// separate stream, apart from the log. The parameters of a call are written as the SHA-256 of their JSON, with sorted members, unless the
// operator configures the values.
//
// Record hands a record that a duty of the policy requires to the operating system before it returns. If the operator requires every
// record, Record hands over each one and flushes it to the disk, and a call is also recorded before it is made. Other records are
// buffered for up to a second. Records that cannot be written wait in memory, up to maxWaiting, and are retried each second.
type Audit struct {
	open             func() (File, error)
	log              *zap.Logger
	metrics          *Metrics
	values, required atomic.Bool

	mu      sync.Mutex
	waiting []byte // whole records, added since the last write began
	added   uint64 // records so far
	held    int    // bytes of the batch that wait to be written
	lost    int    // records, since the outage began
	outage  error  // of the last write; nil: it succeeded
	moved   bool   // the file must be opened again

	writing sync.Mutex // held while writing, and acquired before mu
	file    File       // nil: not open
	batch   []byte     // whole records
	done    int        // bytes of the batch in the file
	written uint64     // records in the files
}

// A File is the destination of records.
type File interface {
	io.WriteCloser
	Sync() error
}

// AuditOptions configure the stream. All except the last two are required.
type AuditOptions struct {
	Open       func() (File, error) // opens the file with the present name of the stream, for appending
	Log        *zap.Logger
	Metrics    *Metrics
	Parameters bool // write parameters as they were sent
	Required   bool // no call is made without a record
}

const (
	// enough to be written at once
	enoughWaiting = 64 << 10
	// maxWaiting bounds the records that are kept while they cannot be written; further ones are lost.
	maxWaiting = 4 << 20
)

var errAuditLost = errors.New("too many records wait to be written")

// NewAudit returns a stream whose file is opened by the first Flush, and again after a failure.
func NewAudit(o AuditOptions) *Audit {
	a := &Audit{open: o.Open, log: o.Log, metrics: o.Metrics}
	a.Configure(o.Parameters, o.Required)
	return a
}

// Configure sets whether parameters are written as they were sent, and whether every record is required.
func (a *Audit) Configure(parameters, required bool) {
	a.values.Store(parameters)
	a.required.Store(required)
}

// Reopen makes the next write open the file with the name of the stream, because the old one was moved.
func (a *Audit) Reopen() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.moved = true
}

// Begin implements execute.Journal: it records a call that is about to be made.
func (a *Audit) Begin(v *execute.Event) error {
	if !a.required.Load() { // any more
		return nil
	}
	if a.Outage() != nil { // the outage may be over; otherwise records of refused calls are dropped
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

// Record writes one event. It skips a call without an accepted PAT: the log and the metrics have it, and unauthenticated clients must not
// fill this stream.
func (a *Audit) Record(v *execute.Event) {
	if v.AgentID == "" {
		return
	}
	n, err := a.add(v)
	if err != nil {
		return // counted
	}
	if v.Owed || a.required.Load() || a.enough() {
		_ = a.flush(n) // logged: the call has been made, and its record is retried
	}
}

// lines are buffers of records.
var lines = sync.Pool{New: func() any { return &[]byte{} }}

// maxKept bounds a buffer that is kept, in bytes.
const maxKept = 64 << 10

// add returns the number of the record that it added.
func (a *Audit) add(v *execute.Event) (uint64, error) {
	buffer, _ := lines.Get().(*[]byte)
	defer lines.Put(buffer)
	record := line(v, a.values.Load(), *buffer)
	text, err := record.AppendJSON((*buffer)[:0])
	text = append(text, '\n')
	if cap(text) <= maxKept {
		*buffer = text
	}
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

// enough reports whether the waiting records should be written now. While writing fails, they are retried once a second.
func (a *Audit) enough() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting) >= enoughWaiting && a.outage == nil
}

// Flush hands the waiting records to the operating system, and ends an outage that is over. The next Flush retries what cannot be
// written.
func (a *Audit) Flush() error { return a.flush(0) }

// flush writes all waiting records, unless another call wrote the n-th meanwhile: of concurrent callers, one writes for all. n = 0: all
// there are.
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

// write writes the batch, and keeps the rest. The caller holds writing.
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
	if err := a.file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // EINVAL: a device or a pipe
		return err
	}
	return nil
}

// reopen opens the file. A record that is partly in the previous file is written whole to this one.
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

// note counts a failed write, and logs when an outage begins and when it is over.
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

// Outage returns why records cannot be written at the moment; nil: they can.
func (a *Audit) Outage() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.outage
}

// Required reports whether no call is made without a record.
func (a *Audit) Required() bool { return a.required.Load() }

// Run flushes every second until ctx ends, and then once more.
func (a *Audit) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = a.Flush() // logged
		case <-ctx.Done():
			if err := a.Flush(); err != nil {
				return fmt.Errorf("the last audit records: %w", err)
			}
			return nil
		}
	}
}

// Close closes the file.
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
