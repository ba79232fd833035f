package daemon

import (
	"context"
	"maps"
	"runtime"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// stateWithin is the maximum time that the metrics wait for the store.
const stateWithin = 2 * time.Second

// state returns the current state of the process, for its metrics.
func (p *process) state() record.State {
	ctx, cancel := context.WithTimeout(context.Background(), stateWithin)
	defer cancel()
	snapshot := p.directory.Current()
	out := record.State{Log: p.logFigures(ctx), Version: p.Version, Commit: p.Commit, Go: runtime.Version(), ConfigHash: snapshot.Hash}
	out.Stops = map[string]int{}
	for _, s := range p.view.Stops() {
		out.Stops[string(s.Kind)]++
	}
	out.CertificateExpires, _ = p.expires()
	for _, s := range snapshot.Services() {
		one := record.ServiceState{ID: s.ID, Breakers: map[string]int{}, Concealed: s.Upstream.Concealed()}
		if report, ok := s.Upstream.ToolsReport(); ok {
			one.Tools = &report
		}
		one.UnderWay, one.Waiting = s.Upstream.UnderWay()
		approved, stopped, _ := s.Upstream.Breakers()
		maps.Copy(stopped, approved)
		for _, state := range stopped {
			one.Breakers[state]++
		}
		if backlog, err := p.store.Backlog(ctx, s.ID); err == nil {
			one.Backlog = &backlog
		} else {
			p.Log.Warn("the items that wait for the operator cannot be read", zap.String("service", s.ID), zap.Error(err))
		}
		out.Services = append(out.Services, one)
	}
	return out
}

// underWay returns how many calls to services are in progress.
func (p *process) underWay() (calls int) {
	for _, s := range p.directory.Current().Services() {
		n, _ := s.Upstream.UnderWay()
		calls += n
	}
	return calls
}

// A timedStore is a store that measures the duration of operations for which calls wait.
type timedStore struct {
	*sqlstore.Store
	took func(operation string, took time.Duration)
	now  func() time.Time
}

func (s timedStore) since(operation string, began time.Time) { s.took(operation, s.now().Sub(began)) }

// Begin measures Store.Begin.
func (s timedStore) Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	defer s.since("begin", s.now())
	return s.Store.Begin(ctx, r)
}

// Settle measures Store.Settle. A call without a record is not stored, so it is not measured.
func (s timedStore) Settle(ctx context.Context, a store.Admission, to store.Settlement) (store.Execution, error) {
	if a.Recorded {
		defer s.since("settle", s.now())
	}
	return s.Store.Settle(ctx, a, to)
}

// Lease measures Store.Lease.
func (s timedStore) Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error) {
	defer s.since("lease", s.now())
	return s.Store.Lease(ctx, r)
}
