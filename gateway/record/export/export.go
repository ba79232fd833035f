// Package export sends the audit stream to a collector of the operator, over HTTP, OTLP or syslog. The files of the stream remain
// authoritative. An Exporter reads them with a cursor that it keeps on disk. It therefore sends each record at least once, even after an
// outage of the collector or a restart. Calls of agents do not wait for the export.
package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/privatefile"
)

// Options configure an Exporter. All fields except Every are required.
type Options struct {
	Stream string // path of the current file of the audit stream
	Cursor string // path of the file with the Cursor
	Send   Sender
	Now    func() time.Time
	// Sent counts an attempt to send records: the number of records, and whether the collector accepted them.
	Sent func(records int, delivered bool)
	Log  *zap.Logger
	// Every is the pause after the stream had no new records, and after a first failed attempt. 0 means one second.
	Every time.Duration
}

// A Sender sends records to a collector.
type Sender interface {
	// Send sends records, and returns an error unless the collector has accepted all of them. After a *RejectedError, the records are not sent
	// again.
	Send(ctx context.Context, records []Record) error
	Close()
}

// A RejectedError means that the collector has accepted a batch except for some records that it will never accept.
type RejectedError struct{ Records int }

func (e *RejectedError) Error() string {
	return fmt.Sprintf("the collector rejected records; their number is %d", e.Records)
}

const (
	defaultEvery = time.Second
	maxPause     = 5 * time.Minute
	// A batch has at most batchRecords records and, unless it is a single record, about batchSize bytes.
	batchRecords = 500
	batchSize    = 1 << 20
	maxCursor    = 4 << 10
)

// An Exporter exports the audit stream.
type Exporter struct {
	o       Options
	cursor  Cursor       // where Run begins
	pending atomic.Int64 // time of the oldest record that was read but not delivered, in nanoseconds since 1970; 0: none
	skipped map[string]bool
}

// New returns an Exporter. It returns an error if the cursor cannot be read.
func New(o Options) (*Exporter, error) {
	o.Every = cmp.Or(o.Every, defaultEvery)
	e := &Exporter{o: o, skipped: map[string]bool{}}
	return e, e.load(&e.cursor)
}

// Lag returns the age of the oldest record that was read but that the collector has not accepted. 0 means that the collector has accepted
// all records that were read.
func (e *Exporter) Lag() time.Duration {
	at := e.pending.Load()
	if at == 0 {
		return 0
	}
	return max(0, e.o.Now().Sub(time.Unix(0, at)))
}

// Run exports the stream until ctx ends. It then closes Options.Send and returns nil. Call it at most once.
func (e *Exporter) Run(ctx context.Context) error {
	defer e.o.Send.Close()
	t := &tail{path: e.o.Stream, skipped: e.skip, cursor: e.cursor}
	defer t.close()
	for wait := time.Duration(0); delay.For(ctx, wait) == nil; {
		batch, err := t.next(batchRecords, batchSize)
		if err != nil {
			e.o.Log.Warn("the audit stream cannot be read for export", zap.Error(err))
		}
		if len(batch) == 0 {
			wait = e.o.Every
			continue
		}
		wait = 0
		if !e.deliver(ctx, batch) {
			return nil
		}
		if err := e.save(t.cursor); err != nil { // after a restart, records will be sent again
			e.o.Log.Warn("the cursor of the audit export cannot be stored", zap.Error(err))
		}
	}
	return nil
}

// deliver sends a batch again and again until the collector accepts it. It returns false if ctx ends first.
func (e *Exporter) deliver(ctx context.Context, batch []Record) bool {
	e.pending.Store(batch[0].At.UnixNano())
	for pause := e.o.Every; ; pause = min(2*pause, maxPause) {
		err := e.o.Send.Send(ctx, batch)
		if ctx.Err() != nil && err != nil {
			return false
		}
		if rejected, ok := errors.AsType[*RejectedError](err); ok {
			e.o.Log.Error("audit records are missing from the export", zap.Error(err))
			e.o.Sent(rejected.Records, false)
			batch, err = batch[rejected.Records:], nil
		}
		e.o.Sent(len(batch), err == nil)
		if err == nil {
			e.pending.Store(0)
			return true
		}
		e.o.Log.Warn("audit records cannot be exported", zap.Duration("again_in", pause), zap.Error(wire.Loggable(err)))
		if delay.For(ctx, pause) != nil {
			return false
		}
	}
}

// skip logs, once for each reason, that a part of the stream cannot be exported.
func (e *Exporter) skip(reason string) {
	if !e.skipped[reason] {
		e.o.Log.Error("audit records are missing from the export", zap.String("cause", reason))
	}
	e.skipped[reason] = true
}

func (e *Exporter) load(c *Cursor) error {
	text, err := privatefile.Read(e.o.Cursor, maxCursor)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, c)
	}
	if err != nil || c.Offset < 0 {
		return fmt.Errorf("the cursor of the audit export in %s cannot be read; delete the file to export the current audit stream from its "+
			"beginning: %w", e.o.Cursor, cmp.Or(err, errors.New("the offset is negative")))
	}
	return nil
}

func (e *Exporter) save(c Cursor) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return privatefile.Write(e.o.Cursor, append(text, '\n'))
}
