package record

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
)

// An Index records an Explanation of requests in the store, so that an operator finds it by the id of the request, whichever process
// handled it. No request waits for it, and it records at most a configured number of requests in a period. Of these, at most half are
// permitted calls, a quarter are requests without an accepted PAT, and a quarter are requests of one agent.
//
// An Index is safe for concurrent use.
type Index struct {
	store   IndexStore
	log     *zap.Logger
	metrics *Metrics
	now     func() time.Time
	process string

	mu      sync.Mutex
	retain  time.Duration // 0: nothing is recorded
	most    limit.Rate
	since   time.Time // the start of the period of counts
	counts  indexCounts
	number  int64 // the number of records so far
	waiting []store.IndexedRequest
	failing bool // the last write failed

	writing sync.Mutex // held during a write, and acquired before mu
}

// indexCounts holds the numbers of requests that were recorded in the current period.
type indexCounts struct {
	all, permitted, unknown int64
	agents                  map[string]int64
}

// An IndexStore stores the records of an Index. After an error that wraps store.ErrUnavailable, the Index writes the same records again.
type IndexStore interface {
	IndexRequests(ctx context.Context, list []store.IndexedRequest) error
}

// IndexOptions configure an Index. All fields are required.
type IndexOptions struct {
	Store   IndexStore
	Log     *zap.Logger
	Metrics *Metrics
	Now     func() time.Time // the clock of the store
	Process string           // the name of this process for operators
}

const (
	maxIndexWaiting = 4096 // the maximum number of records that wait to be written; further records are dropped
	indexAtOnce     = 512  // the maximum number of records in one transaction
	lastIndexWrite  = 2 * time.Second
)

// NewIndex returns an Index that records nothing until Configure is called.
func NewIndex(o IndexOptions) *Index {
	return &Index{store: o.Store, log: o.Log, metrics: o.Metrics, now: o.Now, process: o.Process}
}

// Configure sets how long records are kept and how many requests are recorded in a period, which begins with the first request after the
// previous period. If retain is 0, nothing is recorded.
func (x *Index) Configure(retain time.Duration, most limit.Rate) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.retain, x.most = retain, most
}

// Record implements execute.Recorder.
func (x *Index) Record(v *execute.Event) {
	if x.admit(v.AgentID, v.Reason != "") {
		e := explain(v)
		x.add(&e)
	}
}

// RecordExchange records a request that was handled without the steps of a call.
func (x *Index) RecordExchange(h *Exchange) {
	agent := ""
	if h.Agreement != nil {
		agent = string(h.Agreement.AgentID)
	}
	if x.admit(agent, h.Refusal != nil) {
		e := explainExchange(h)
		x.add(&e)
	}
}

// admit reports whether one more request may be recorded. If so, it counts the request.
func (x *Index) admit(agent string, refused bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.retain <= 0 {
		return false
	}
	now := x.now()
	if period := time.Duration(x.most.Period.Seconds()) * time.Second; x.counts.agents == nil || now.Sub(x.since).Abs() >= period {
		x.since, x.counts = now, indexCounts{agents: map[string]int64{}}
	}
	part := max(1, x.most.Max/4)
	c := &x.counts
	switch {
	case c.all >= x.most.Max, len(x.waiting) >= maxIndexWaiting, !refused && c.permitted >= max(1, x.most.Max/2),
		agent == "" && c.unknown >= part, agent != "" && c.agents[agent] >= part:
		x.metrics.indexSkipped.Inc()
		return false
	}
	c.all++
	if !refused {
		c.permitted++
	}
	if agent == "" {
		c.unknown++
	} else {
		c.agents[agent]++
	}
	return true
}

// add appends the record of an Explanation to waiting.
func (x *Index) add(e *Explanation) {
	e.Process = x.process
	text := e.encode()
	x.mu.Lock()
	defer x.mu.Unlock()
	if text == nil || len(x.waiting) >= maxIndexWaiting {
		x.metrics.indexSkipped.Inc()
		return
	}
	x.number++
	x.waiting = append(x.waiting, store.IndexedRequest{
		ID: e.RequestID, At: e.At, Process: x.process, Number: x.number, Record: text, Until: x.now().Add(x.retain),
		RequestKind: store.RequestKind{
			Service: e.Service, Agent: e.Agent, Intent: e.Intent, Decision: e.Decision, Reason: string(e.Reason), Outcome: e.Outcome,
		},
	})
}

// Flush writes the waiting records to the store. If the store is unavailable, it returns the error, and the next Flush tries again. After
// any other error, it drops the records that it tried to write.
func (x *Index) Flush(ctx context.Context) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	for {
		x.mu.Lock()
		batch := x.waiting[:min(len(x.waiting), indexAtOnce)]
		x.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		err := x.store.IndexRequests(ctx, batch)
		x.note(err)
		if errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			x.metrics.indexSkipped.Add(float64(len(batch)))
		}
		x.mu.Lock()
		if x.waiting = x.waiting[len(batch):]; len(x.waiting) == 0 {
			x.waiting = nil
		}
		x.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// note logs the first of several failures.
func (x *Index) note(err error) {
	x.mu.Lock()
	before := x.failing
	x.failing = err != nil
	x.mu.Unlock()
	if err != nil && !before {
		x.log.Warn("the index of requests cannot be written: uimgate why does not find the latest requests", zap.Error(err))
	}
}

// Run flushes every second until ctx ends, and then once more.
func (x *Index) Run(ctx context.Context) error {
	for delay.For(ctx, time.Second) == nil {
		_ = x.Flush(ctx) // note has logged the error
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastIndexWrite)
	defer cancel()
	_ = x.Flush(last)
	return nil
}
