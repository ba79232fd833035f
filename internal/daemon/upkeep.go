package daemon

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/problem"
)

const (
	sweepEvery = 5 * time.Second
	purgeEvery = time.Minute
	purgeAgain = 1000 // rows: if a purge deletes at least this many, another follows immediately
	// Memory is returned to the system if at least parkedMany connections were parked since it was last returned, and as many are parked now,
	// but at most once per giveBackEvery.
	parkedMany    = 1000
	giveBackEvery = time.Minute
)

// sweep marks calls whose deadline has passed as unresolved, and ends the agreements that an agreement made in advance has replaced. It
// does both immediately and then repeatedly, until ctx is done. It sends to found when it has marked calls.
func (p *process) sweep(ctx context.Context, found chan<- struct{}) error {
	sweep := func() {
		if _, err := p.store.ReplacePlans(ctx); err != nil && ctx.Err() == nil {
			p.Log.Warn("agreements under earlier plans could not be ended", zap.Error(err))
		}
		n, err := p.store.Sweep(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			p.Log.Warn("overdue calls could not be marked as unresolved", zap.Error(err))
		case n > 0:
			p.Log.Warn("the outcome of some calls is unknown: see uimgate usage", zap.Int("unresolved", n))
			select {
			case found <- struct{}{}:
			default:
			}
		}
	}
	sweep()
	return every(ctx, sweepEvery, sweep)
}

// stepped reports that the clock of the database was set, and by how much.
func (p *process) stepped(by time.Duration) {
	p.metrics.ClockStepped(by)
	p.Log.Error("the clock of the database was set: each rolling limit is stricter for up to its period", zap.Duration("by", by))
}

// setBack reports that the database lacks commits that this process has acknowledged.
func (p *process) setBack(missing int64) {
	p.metrics.CommitsLost(missing)
	p.Log.Error("the database lacks commits that were acknowledged: a standby without them was promoted, or a copy replaced it; "+
		"all PATs that were issued before are invalid, and limits are held back: see uimgate status", zap.Int64("missing", missing))
}

// serverChanged reports that the database is now on another server or timeline.
func (p *process) serverChanged() {
	p.Log.Warn(
		"the server or timeline of the database has changed: a standby was promoted, or the database was restored; if it may lack commits " +
			"of processes that have ended, stop all gateways, run uimgate restore --after-external, and start them again",
	)
}

// reconcile requests the outcome of calls whose outcome is unknown from the services that support this, until ctx is done. It receives from
// found when there are further such calls.
func (p *process) reconcile(ctx context.Context, found <-chan struct{}) error {
	r := execute.NewReconciler(p.store, p.store.Counted)
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-found:
		case <-ticker.C:
		}
		for _, s := range p.directory.Current().Services() {
			settled, err := r.Round(ctx, s)
			if err != nil && ctx.Err() == nil {
				p.Log.Warn("the outcome of calls could not be requested", zap.String("service", s.ID), zap.Error(err))
			}
			if settled > 0 {
				p.Log.Info("the service reported the outcome of calls that were unresolved", zap.String("service", s.ID), zap.Int("settled", settled))
			}
		}
	}
}

// purge deletes expired records until ctx is done. If a purge deletes at least purgeAgain rows, the next one follows immediately.
func (p *process) purge(ctx context.Context) error {
	return every(ctx, purgeEvery, func() {
		for n := purgeAgain; n >= purgeAgain && ctx.Err() == nil; {
			var err error
			if n, err = p.store.Purge(ctx); err != nil && ctx.Err() == nil {
				p.Log.Warn("expired records could not be deleted", zap.Error(err))
				return
			}
		}
	})
}

// giveBack makes the runtime return to the system the memory that many connections used before they were parked, until ctx is done. Without
// traffic nothing is allocated, so no garbage collection starts, and the runtime would keep most of that memory. If more connections are
// being served than are parked, the regular collections suffice.
func (p *process) giveBack(ctx context.Context) error {
	before := 0 // the total number of parkings when memory was last returned
	rest := 0   // ticks until memory may be returned again
	return every(ctx, sweepEvery, func() {
		rest = max(0, rest-1)
		now, ever := p.bounded.Parked()
		if rest == 0 && ever-before >= parkedMany && mostAreParked(now, p.bounded.Open()) {
			membudget.GiveBack()
			before, rest = ever, int(giveBackEvery/sweepEvery)
		}
	})
}

// mostAreParked reports whether many connections are parked, and more than are being served.
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

// Until ctx is done, reloads reloads the configuration on request, when one of its files changes, and when the retire_after of an intent
// passes.
func (p *process) reloads(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	cause := reloads.ReloadByFile
	since := p.states() // of the files that this process started with
	for again := false; ; again, since = true, nil {
		files := p.files()
		stop := p.watch(ctx, files, since, changed)
		// The files are already watched while the reload reads them, so no change is missed.
		if again {
			p.reloadFor(ctx, cause, false)
		}
		cause = reloads.ReloadByFile
		if slices.Equal(files, p.files()) {
			retirement, cancel := p.nextRetirement()
			select {
			case <-ctx.Done():
			case <-changed:
			case <-p.Reload:
				cause = reloads.ReloadBySignal
			case <-retirement:
				cause = reloads.ReloadByRetirement
			}
			cancel()
		}
		stop()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the caller ended ctx
		}
	}
}

// nextRetirement returns a channel that receives when the next intent ends by its retire_after, so that a reload removes the intent from
// lists and searches. Calls end at that time even without a reload. The caller must call cancel.
func (p *process) nextRetirement() (at <-chan time.Time, cancel func()) {
	now := p.Now()
	var first time.Time
	for _, s := range p.directory.Current().Services() {
		for _, in := range s.Catalog.Intents() {
			if end := in.RetireAfter; !in.Retired && end.After(now) && (first.IsZero() || end.Before(first)) {
				first = end
			}
		}
	}
	if first.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(first.Sub(now))
	return timer.C, func() { timer.Stop() }
}

// watch sends on changed when one of the files changes, or has changed since the given states, until stop is called. stop waits for the
// watcher to end.
func (p *process) watch(ctx context.Context, files []string, since config.FileStates, changed chan<- struct{}) (stop func()) {
	w, err := config.NewWatch(files, since)
	if err != nil {
		p.Log.Warn("the files of the configuration cannot be watched: send SIGHUP after a change", zap.Error(err))
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	}()
	return func() { cancel(); <-done }
}

func (p *process) states() config.FileStates {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	return p.config.States()
}

func (p *process) files() []string {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	return p.config.Files()
}

// reload calls reloadFor at the request of the operator.
func (p *process) reload(ctx context.Context, force bool) config.Problems {
	return p.reloadFor(ctx, reloads.ReloadByRequest, force)
}

// reloadFor applies the configuration on disk. If that is not possible, it keeps the current configuration and logs the reason. In either
// case, it reopens the audit file, which may have been rotated. Unless force is true, it does not apply a configuration that ends the calls
// of agents: see endings.
func (p *process) reloadFor(ctx context.Context, cause reloads.ReloadCause, force bool) (problems config.Problems) {
	var change reloads.ReloadRecord
	defer func() { // after the lock: a store that does not respond must not delay other reloads
		change.Cause, change.Problems = cause, len(problems)
		p.noteReload(ctx, change)
	}()
	p.reloading.Lock()
	defer p.reloading.Unlock()
	p.enter(Reloading)
	defer p.enter(Serving)
	was, before := p.config, p.directory.Current()
	change.Before = before.Hash
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
	if err != nil {
		return p.refused(append(problems, next.Problemf(problem.Error, "admin.token", "%v", err)))
	}
	more, err = p.compareServices(ctx, next, loaded)
	if problems = append(problems, more...); more.Failed() {
		return p.refused(problems)
	}
	p.flushUses(ctx)
	ending := endings(ctx, next, loaded, p.directory.Current(), p.store, p.Now())
	if force {
		ending = Forced(ending)
	}
	problems = append(problems, ending...)
	if ending.Failed() {
		return p.refused(problems)
	}
	if err == nil {
		err = p.directory.Replace(ctx, loaded)
	}
	if err != nil {
		return p.refused(append(problems, config.Problem{File: next.Source.Path, Level: problem.Error, Message: err.Error()}))
	}
	change = compare(was, next, before, p.directory.Current())
	p.metrics.Reloaded(p.Now())
	problems = append(problems, heldByOthers(ctx, next, loaded, p.store)...)
	p.refusal.Store(nil)
	p.report(problems)
	p.config = next
	//nolint:contextcheck // certificates are obtained until the process ends
	p.takeOver(next, settings)
	if err := p.openDoors(ctx); err != nil { // all other settings are already in use
		shut := config.Problem{File: next.Source.Path, Level: problem.Warning, Message: "a door could not be opened: " + err.Error()}
		p.report(config.Problems{shut})
		problems = append(problems, shut)
	}
	p.Log.Info("configuration applied", zap.Array("files", digests(next.Digests())))
	return problems
}

func (p *process) refused(problems config.Problems) config.Problems {
	p.metrics.ReloadRefused()
	p.refusal.Store(reloads.RefusedAt(p.Now(), problems))
	for _, problem := range problems {
		p.Log.Error("configuration not applied", zap.String("problem", problem.String()))
	}
	return problems
}

// digests are the files of a configuration, as they are logged.
type digests []config.File

// MarshalLogArray writes path=sha256 for each file.
func (d digests) MarshalLogArray(enc zapcore.ArrayEncoder) error {
	for _, f := range d {
		enc.AppendString(f.Path + "=" + f.SHA256)
	}
	return nil
}
