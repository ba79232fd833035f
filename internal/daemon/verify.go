package daemon

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// wholeEvery is how often a gateway checks the whole ledger. If it is restarted earlier, it checks only the entries after the point of its
// last check.
const wholeEvery = 24 * time.Hour

// recheckAfter is how long a gateway that could not read the ledger waits before it checks the ledger again.
const recheckAfter = 10 * time.Minute

// verify checks the ledger immediately, and the whole ledger every day, until ctx is done.
func (p *process) verify(ctx context.Context) error {
	for delay.For(ctx, p.checkLedger(ctx)) == nil {
	}
	return nil
}

// checkLedger checks the agreements of all charges, and the entries after the point of the last check or, if wholeEvery has passed, the
// whole ledger. It records the finding and the new point, and returns the time until the next check.
func (p *process) checkLedger(ctx context.Context) (next time.Duration) {
	last := p.lastPoint()
	now, err := p.checkAfter(ctx, last)
	if err == nil {
		err = p.store.CheckAgreements(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return wholeEvery
	case errors.Is(err, store.ErrUnbalanced), errors.Is(err, store.ErrAltered):
		p.alterations.Found(err)
		p.Log.Error("the ledger does not add up: see uimgate verify-ledger", zap.Error(err))
		return wholeEvery
	case err != nil:
		p.Log.Error("the ledger could not be checked: the gateway tries again", zap.Duration("in", recheckAfter), zap.Error(err))
		return recheckAfter
	}
	whole := last == nil || now.Whole.After(last.Whole)
	if whole {
		p.alterations.clear()
	}
	p.Log.Debug("the ledger was verified", zap.Bool("whole", whole), zap.Int64("to", now.Seq))
	if err := writePoint(p.data.VerifiedPath(), now); err != nil {
		p.Log.Warn("the point up to which the ledger was verified could not be written: the next start repeats this check", zap.Error(err))
	}
	return now.Whole.Add(wholeEvery).Sub(p.Now())
}

// lastPoint returns the point of the last check, or nil if there is none that fits the ledger of the configured services.
func (p *process) lastPoint() *verifiedPoint {
	last, err := readPoint(p.data.VerifiedPath())
	if err != nil {
		p.Log.Warn("the point up to which the ledger was verified could not be read: the whole ledger is checked", zap.Error(err))
		return nil
	}
	if last == nil || len(last.Logs) == 0 || last.Whole.After(p.Now()) {
		return nil
	}
	ids := map[string]bool{}
	for _, s := range p.directory.Current().Services() {
		ids[s.ID] = true
	}
	for _, l := range last.Logs {
		if !ids[l.Service] { // the service has another id now
			return nil
		}
	}
	return last
}

// checkAfter compares the ledger with the last point, which may be nil, and checks the later entries. It checks the whole ledger if there
// is no such point, if the state was restored since, or if the last check of the whole ledger is older than wholeEvery.
func (p *process) checkAfter(ctx context.Context, last *verifiedPoint) (verifiedPoint, error) {
	if last != nil {
		now, err := p.store.CheckSince(ctx, &last.VerifiedPoint)
		if err != nil && !errors.Is(err, sqlstore.ErrRestored) {
			return verifiedPoint{}, err
		}
		if err == nil && p.Now().Sub(last.Whole) < wholeEvery {
			return verifiedPoint{Whole: last.Whole, VerifiedPoint: now}, nil
		}
	}
	began := p.Now()
	now, err := p.store.CheckSince(ctx, nil)
	return verifiedPoint{Whole: began, VerifiedPoint: now}, err
}
