package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/limit"
	"github.com/uimgate/uimgate/store"
)

// A counterKey names one counter. The period belongs to it, so that a limit whose period was changed
// under the same id starts a window of its own instead of misreading the old one.
type counterKey struct {
	service, agentID, limitID string
	period                    limit.Period
}

func compareKeys(a, b counterKey) int {
	return cmp.Or(strings.Compare(a.service, b.service), strings.Compare(a.agentID, b.agentID),
		strings.Compare(a.limitID, b.limitID), strings.Compare(string(a.period), string(b.period)))
}

// A counter is a window inside a transaction.
type counter struct {
	window
	dirty bool
	err   error // what is stored makes no sense
}

// taken is one unit that the running operation took or gave back.
type taken struct {
	c     *counter
	slot  int64
	given bool
}

// undo leaves the counter as it was. The slot cannot have changed since: one transaction has one time.
func (u taken) undo() {
	if u.given {
		u.c.counts[u.c.slot-u.slot]++
		return
	}
	u.c.give(u.slot)
}

// loadCounters reads the counters of a whole batch, in the order of their keys, which is also the order
// in which they are locked where writers run at the same time.
func (t *tx) loadCounters(ctx context.Context, batch []*op) error {
	var keys []counterKey
	for _, o := range batch {
		keys = append(keys, o.keys...)
	}
	if len(keys) == 0 {
		return nil
	}
	slices.SortFunc(keys, compareKeys)
	keys = slices.Compact(keys)
	t.counters = make(map[counterKey]*counter, len(keys))
	for _, k := range keys {
		c, err := t.loadCounter(ctx, k)
		if err != nil {
			return err
		}
		t.counters[k] = c
	}
	return nil
}

func (t *tx) loadCounter(ctx context.Context, k counterKey) (*counter, error) {
	const q = "SELECT slot, counts FROM counters WHERE service = ? AND agent_id = ? AND limit_id = ? AND period = ? FOR UPDATE"
	c := &counter{window: window{period: k.period}}
	args := []any{k.service, k.agentID, k.limitID, string(k.period)}
	var counts []byte
	found, err := t.row(ctx, q, args, &c.slot, &counts)
	if err == nil && !found && t.w.s.dialect.concurrent {
		_, err = t.w.exec(ctx, `INSERT INTO counters (service, agent_id, limit_id, period, slot, counts, frees_at)
			VALUES (?, ?, ?, ?, 0, ?, 1) ON CONFLICT DO NOTHING`, append(args, []byte{})...)
		if err == nil {
			_, err = t.row(ctx, q, args, &c.slot, &counts)
		}
	}
	if err != nil {
		return nil, err
	}
	c.counts, c.err = decodeCounts(counts)
	c.reach(t.now)
	c.restore(t.w.s.floor.Load())
	return c, nil
}

// storeCounters writes what the batch changed.
func (t *tx) storeCounters(ctx context.Context) error {
	const q = `INSERT INTO counters (service, agent_id, limit_id, period, slot, counts, frees_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, agent_id, limit_id, period) DO UPDATE SET slot = excluded.slot, counts = excluded.counts, frees_at = excluded.frees_at`
	for k, c := range t.counters {
		if !c.dirty {
			continue
		}
		_, err := t.w.exec(ctx, q, k.service, k.agentID, k.limitID, string(k.period), c.slot, c.encode(), nanos(c.period.Frees(c.slot)))
		if err != nil {
			return err
		}
	}
	return nil
}

// A want is one unit of one counter, with the limit it is held to.
type want struct {
	key   counterKey
	limit limit.Limit
}

// wants joins reservations: two of one counter are one unit, held to the smaller Max.
func wants(service string, lists ...[]store.Reservation) ([]want, error) {
	var out []want
	for _, list := range lists {
		for _, r := range list {
			if !r.Period.Rolling() && !r.Period.Calendar() && r.Period != limit.Lifetime || r.Max < 0 || r.Max > limit.MaxCount {
				return nil, fmt.Errorf("limit %s: %s is no rate", r.ID, r.Rate)
			}
			k := counterKey{service, r.AgentID, r.ID, r.Period}
			if i := slices.IndexFunc(out, func(w want) bool { return w.key == k }); i >= 0 {
				out[i].limit.Max = min(out[i].limit.Max, r.Max)
				continue
			}
			out = append(out, want{k, r.Limit})
		}
	}
	return out, nil
}

// fit reports whether every limit admits one more call. If not, the refusal is that of the limit
// that stays used up longest, for only then may the call succeed.
func (t *tx) fit(ws []want) error {
	var refusal *store.LimitError
	for _, w := range ws {
		c := t.counters[w.key]
		if c.err != nil {
			return unavailable(fmt.Errorf("limit %s: %w", w.limit.ID, c.err))
		}
		if c.sum() < w.limit.Max {
			continue
		}
		e := &store.LimitError{Standing: t.standing(w), AgentID: w.key.agentID, RetryAfter: c.retry(w.limit.Max, t.now)}
		if refusal == nil || refusal.RetryAfter != 0 && (e.RetryAfter == 0 || e.RetryAfter > refusal.RetryAfter) {
			refusal = e
		}
	}
	if refusal == nil {
		return nil
	}
	return refusal
}

// take takes one unit of each limit, and says in which slots.
func (t *tx) take(ws []want) []store.TakenSlot {
	out := make([]store.TakenSlot, len(ws))
	for i, w := range ws {
		c := t.counters[w.key]
		c.take()
		c.dirty = true
		t.taken = append(t.taken, taken{c: c, slot: c.slot})
		out[i] = store.TakenSlot{AgentID: w.key.agentID, LimitID: w.key.limitID, Period: w.key.period, Slot: c.slot}
	}
	return out
}

// give gives units back, where they still count.
func (t *tx) give(service string, slots []store.TakenSlot) {
	for _, s := range slots {
		c := t.counters[counterKey{service, s.AgentID, s.LimitID, s.Period}]
		if c.err == nil && c.give(s.Slot) {
			c.dirty = true
			t.taken = append(t.taken, taken{c: c, slot: s.Slot, given: true})
		}
	}
}

func (t *tx) standing(w want) store.Standing {
	c := t.counters[w.key]
	return store.Standing{Limit: w.limit, Left: c.left(w.limit.Max), Resets: c.resets(t.now)}
}
