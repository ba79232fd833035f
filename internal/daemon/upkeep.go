package daemon

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/problem"
)

const (
	sweepEvery = 5 * time.Second
	purgeEvery = time.Minute
	purgeAgain = 1000 // rows; a purge that removed this many is followed by another
	// Memory is returned if this many connections have been parked since the last time, and are parked now; at most at this interval.
	parkedMany    = 1000
	giveBackEvery = time.Minute
)

// sweep marks forgotten calls as unresolved, until ctx ends.
func (p *process) sweep(ctx context.Context) error {
	return every(ctx, sweepEvery, func() {
		n, err := p.store.Sweep(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			p.Log.Warn("sweep", zap.Error(err))
		case n > 0:
			p.Log.Warn("calls of unknown outcome: see uimgate usage", zap.Int("unresolved", n))
		}
	})
}

// verify checks once that the accounts are the sums over the ledger.
func (p *process) verify(ctx context.Context) error {
	if err := p.store.CheckBalance(ctx); err != nil && ctx.Err() == nil {
		p.Log.Error("the ledger does not add up: see uimgate verify-ledger", zap.Error(err))
	}
	return nil
}

// stepped reports that the clock of the database was set.
func (p *process) stepped(by time.Duration) {
	p.metrics.ClockStepped(by)
	p.Log.Error("the clock of the database was set: limits are held back, each for up to its period", zap.Duration("by", by))
}

// setBack reports that the database lacks commits that this process has acknowledged.
func (p *process) setBack(missing int64) {
	p.metrics.CommitsLost(missing)
	p.Log.Error("the database lacks commits that were acknowledged: a standby without them was promoted, or a copy took its place; "+
		"every PAT issued before has ended, and limits are held, each for up to its period", zap.Int64("missing", missing))
}

// serverChanged reports that the database has another server.
func (p *process) serverChanged() {
	p.Log.Warn("the database has another server or timeline than before: a standby was promoted, or it was restored; if it may lack commits " +
		"of processes that have ended, stop every gateway, run uimgate restore --after-external, and start them")
}

// reconcile asks services for the outcome of calls of unknown outcome, if they support it, until ctx ends.
func (p *process) reconcile(ctx context.Context) error {
	r := execute.NewReconciler(p.store, p.store.Counted)
	return every(ctx, sweepEvery, func() {
		for _, s := range p.directory.Current().Services() {
			settled, err := r.Round(ctx, s)
			if err != nil && ctx.Err() == nil {
				p.Log.Warn("asking for the outcome of calls", zap.String("service", s.ID), zap.Error(err))
			}
			if settled > 0 {
				p.Log.Info("calls of unknown outcome settled by the service", zap.String("service", s.ID), zap.Int("settled", settled))
			}
		}
	})
}

// purge deletes expired records until ctx ends. If a purge reaches its bound, the next one follows at once.
func (p *process) purge(ctx context.Context) error {
	return every(ctx, purgeEvery, func() {
		for n := purgeAgain; n >= purgeAgain && ctx.Err() == nil; {
			var err error
			if n, err = p.store.Purge(ctx); err != nil && ctx.Err() == nil {
				p.Log.Warn("purge", zap.Error(err))
				return
			}
		}
	})
}

// giveBack makes the runtime return memory to the system that many connections held before they were parked, until ctx ends. Otherwise
// the runtime would keep most of it as long as there is no traffic: nothing is allocated then, so no collection begins. If more
// connections are served than parked, the regular collections suffice.
func (p *process) giveBack(ctx context.Context) error {
	before := 0 // how often a connection had been parked when memory was last returned
	rest := 0   // sweeps until the next time
	return every(ctx, sweepEvery, func() {
		rest = max(0, rest-1)
		now, ever := p.bounded.Parked()
		if rest == 0 && ever-before >= parkedMany && mostAreParked(now, p.bounded.Open()) {
			membudget.GiveBack()
			before, rest = ever, int(giveBackEvery/sweepEvery)
		}
	})
}

// mostAreParked reports whether many connections are parked, and more than are served.
func mostAreParked(parked, open int) bool { return parked >= parkedMany && parked > open-parked }

func every(ctx context.Context, d time.Duration, do func()) error {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			do()
		}
	}
}

// reloads takes over a changed configuration, on request and when one of its files changes.
func (p *process) reloads(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	for again := false; ; again = true {
		files := p.files()
		stop := p.watch(ctx, files, changed)
		// Because the files are already watched during a reload, no change is missed.
		if again {
			p.reload(ctx)
		}
		if slices.Equal(files, p.files()) {
			select {
			case <-ctx.Done():
			case <-changed:
			case <-p.Reload:
			}
		}
		stop()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // ending is what was asked for
		}
	}
}

// watch sends on changed after changes until stop is called, which waits for it to end.
func (p *process) watch(ctx context.Context, files []string, changed chan<- struct{}) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := config.Watch(ctx, files, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
		if err != nil && ctx.Err() == nil {
			p.Log.Warn("files are not watched; SIGHUP reloads", zap.Error(err))
		}
	}()
	return func() { cancel(); <-done }
}

func (p *process) files() []string {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	return p.config.Files()
}

// reload applies the configuration on disk, or keeps the old one and logs why. Either way the audit stream continues in the file that has
// its name now.
func (p *process) reload(ctx context.Context) config.Problems {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	p.enter(Reloading)
	defer p.enter(Serving)
	p.audit.Reopen()
	next, problems := p.Load()
	if next == nil {
		return p.refused(problems)
	}
	loaded, more := p.load(ctx, next)
	problems = append(problems, more...)
	if loaded == nil {
		return p.refused(problems)
	}
	settings, err := p.liveFrom(next)
	if err == nil {
		more, err = p.compareServices(ctx, next, loaded)
		problems = append(problems, more...)
	}
	if more.Failed() {
		return p.refused(problems)
	}
	if err == nil {
		err = p.directory.Replace(ctx, loaded)
	}
	if err != nil {
		return p.refused(append(problems, config.Problem{File: next.Source.Path, Level: problem.Error, Message: err.Error()}))
	}
	p.metrics.Reloaded(p.Now())
	problems = append(problems, heldByOthers(ctx, next, loaded, p.store)...)
	p.refusal.Store(nil)
	p.report(problems)
	p.config = next
	p.takeOver(next, settings)
	if err := p.openDoors(ctx); err != nil { // the other settings are in use
		shut := config.Problem{File: next.Source.Path, Level: problem.Warning, Message: "a door stays shut: " + err.Error()}
		p.report(config.Problems{shut})
		problems = append(problems, shut)
	}
	p.Log.Info("configuration taken over", zap.Array("files", digests(next.Digests())))
	return problems
}

func (p *process) refused(problems config.Problems) config.Problems {
	p.metrics.ReloadRefused()
	p.refusal.Store(admin.RefusedAt(p.Now(), problems))
	for _, problem := range problems {
		p.Log.Error("configuration not taken over", zap.String("problem", problem.String()))
	}
	return problems
}

// digests logs the files of a configuration.
type digests []config.File

// MarshalLogArray writes path=sha256 of each.
func (d digests) MarshalLogArray(enc zapcore.ArrayEncoder) error {
	for _, f := range d {
		enc.AppendString(f.Path + "=" + f.SHA256)
	}
	return nil
}
