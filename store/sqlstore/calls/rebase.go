package calls

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// lastCounted returns a time that the clock had reached when a limit was last counted. Because rebaseCounters rounds up, the newest slot of
// a rolling period may begin up to one slot after the time of the clock, so lastCounted uses the slot before.
func (c *Calls) lastCounted(ctx context.Context) (last time.Time, err error) {
	err = c.db.List(ctx, "SELECT period, MAX(slot) FROM counters GROUP BY period", nil, func(scan engine.Scan) error {
		var w window.Window
		if err := scan(&w.Period, &w.Slot); err != nil {
			return err
		}
		slot := w.Slot
		if w.Period.Rolling() {
			slot--
		}
		if at := w.Period.Begins(slot); at.After(last) {
			last = at
		}
		return nil
	})
	return last, err
}

// rebase moves deadlines to the new clock and, if r.Counted is set, counters.
func rebase(ctx context.Context, t *engine.Tx, r engine.Rebase) {
	by := int64(r.At.Sub(r.Before))
	for _, query := range []string{
		"UPDATE executions SET deadline = deadline + ? WHERE state = 'held'",
		"UPDATE executions SET forget_at = forget_at + ? WHERE forget_at > 0",
		"UPDATE idempotency SET until = until + ?",
	} {
		t.Run(ctx, query, by)
	}
	if r.Counted {
		rebaseCounters(ctx, t, r)
	}
}

// rebaseCounters moves the slots of rolling periods by as many slots as the clock moves, rounded up, but not beyond the slot
// after the present one. It moves counters of calendar periods only if the clock moves to another period.
func rebaseCounters(ctx context.Context, t *engine.Tx, r engine.Rebase) {
	for _, p := range []limit.Period{limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week} {
		length := p.SlotLength()
		slots := int64((r.At.Sub(r.Before) + length - 1) / length)
		t.Run(ctx, `UPDATE counters SET slot = min(slot + ?1, ?2), dispatch_slot = dispatch_slot + min(?1, ?2 - slot),
			frees_at = CASE WHEN frees_at > 0 THEN frees_at + ?1 * ?3 ELSE 0 END WHERE period = ?4`,
			slots, p.Slot(r.At)+1, int64(length), string(p))
	}
	for _, p := range []limit.Period{limit.Month, limit.Year} {
		was, is := p.Slot(r.Before), p.Slot(r.At)
		if was != is {
			t.Run(ctx, "UPDATE counters SET slot = ?, frees_at = ? WHERE period = ? AND slot = ?",
				is, engine.Nanos(p.Frees(is)), string(p), was)
		}
	}
}
