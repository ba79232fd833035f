package ledgerlog

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/store"
)

const (
	// cosignWithin limits how long new lines wait for slow witnesses.
	cosignWithin = 2 * time.Second
	// pauseAfter is the pause after a request to a witness failed. It doubles with each failure, up to longestPause.
	pauseAfter   = 2 * time.Second
	longestPause = time.Minute
	atOnce       = 16 // the number of requests to witnesses at a time
)

// witnesses holds the configured witnesses.
type witnesses struct {
	log      *zap.Logger
	now      func() time.Time
	settings []config.Witness
	list     []*witness
}

// A witness is the client for a witness, with a record of its cosignatures.
type witness struct {
	*log.Witness

	open bool // it has not cosigned all checkpoints

	mu       sync.Mutex
	failures int
	until    time.Time       // the earliest time of the next request
	cosigned map[place]int64 // the size of the last checkpoint that it has cosigned
}

// asks reports whether the witness has not cosigned the checkpoint of a log, and whether it may be asked now.
func (w *witness) asks(h *store.LogHead, now time.Time) (lacks, may bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := place{h.Service, h.Epoch}
	if w.cosigned[at] != h.Size && w.HasCosigned(h.Checkpoint) { // before this process started
		w.cosigned[at] = h.Size
	}
	return w.cosigned[at] != h.Size, w.mayAsk(now)
}

// mayAsk reports whether the pause after a failure is over. A pause that is longer than longestPause also counts as over, because the clock
// was set back. The caller must hold mu.
func (w *witness) mayAsk(now time.Time) bool {
	left := w.until.Sub(now)
	return left <= 0 || left > longestPause
}

func (w *witnesses) close() {
	for _, one := range w.list {
		one.Close()
	}
	w.list, w.settings = nil, nil
}

// configure replaces the list of witnesses.
func (w *witnesses) configure(settings []config.Witness) {
	if slices.Equal(w.settings, settings) {
		return
	}
	w.close()
	for _, one := range settings {
		client, err := log.NewWitness(string(one.Key), one.URL, one.Private)
		if err != nil { // config.Load has checked the key
			w.log.Error("a witness cannot be used", zap.Error(err))
			continue
		}
		w.list = append(w.list, &witness{Witness: client, cosigned: map[place]int64{}, open: true})
	}
	w.settings = settings
}

// due reports whether a witness must be asked about checkpoints that it has not cosigned.
func (w *witnesses) due(settings config.Evidence) bool {
	w.configure(settings.Witnesses)
	return slices.ContainsFunc(w.list, func(one *witness) bool {
		one.mu.Lock()
		defer one.mu.Unlock()
		return one.open && one.mayAsk(w.now())
	})
}

// cosign asks the witnesses to cosign the checkpoints of logs, and stores the checkpoints that got cosignatures. If a witness does not
// respond, a later call asks it again.
func (w *witnesses) cosign(ctx context.Context, settings config.Evidence, st Store, heads []*store.LogHead) error {
	w.configure(settings.Witnesses)
	if len(w.list) == 0 {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, cosignWithin)
	defer cancel()
	added := make([][][]byte, len(heads))
	newest := make([]time.Time, len(heads))
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, one := range w.list {
		for i, h := range heads {
			if lacks, may := one.asks(h, w.now()); !lacks || !may {
				continue
			}
			group.Go(func() error {
				lines, at := w.ask(within, one, st, *h)
				mu.Lock()
				defer mu.Unlock()
				if len(lines) > 0 {
					added[i] = append(added[i], lines)
				}
				if at.After(newest[i]) {
					newest[i] = at
				}
				return nil
			})
		}
	}
	_ = group.Wait()
	for _, one := range w.list {
		one.open = slices.ContainsFunc(heads, func(h *store.LogHead) bool {
			lacks, _ := one.asks(h, w.now())
			return lacks
		})
	}
	for i, h := range heads {
		if len(added[i]) == 0 {
			continue
		}
		h.Checkpoint, h.CosignedAt = append(bytes.Clone(h.Checkpoint), bytes.Join(added[i], nil)...), newest[i]
		if err := st.SetCosigned(ctx, *h); err != nil {
			return err
		}
	}
	return nil
}

// ask asks a witness to cosign the checkpoint of a log. If the witness does not cosign it, ask returns no lines.
func (w *witnesses) ask(ctx context.Context, one *witness, st Store, h store.LogHead) ([]byte, time.Time) {
	lines, at, err := one.Cosign(ctx, h.Checkpoint, func(before int64) ([]evidence.Hash, error) {
		read := log.Reader(func(level int, n int64) ([]byte, error) { return st.Tile(ctx, h.Service, h.Epoch, level, n) })
		return read.Consistency(before, h.Size)
	})
	one.mu.Lock()
	defer one.mu.Unlock()
	if err == nil {
		if one.failures > 0 {
			w.log.Info("a witness cosigns again", zap.String("witness", one.Name()))
		}
		one.failures, one.until, one.cosigned[place{h.Service, h.Epoch}] = 0, time.Time{}, h.Size
		return lines, at
	}
	if one.failures == 0 {
		w.log.Warn("a witness has not cosigned a checkpoint: the checkpoint is published without it", zap.String("witness", one.Name()),
			zap.String("service", h.Service), zap.Error(err))
	}
	one.until = w.now().Add(min(pauseAfter<<min(one.failures, 10), longestPause))
	one.failures++
	return nil, time.Time{}
}
