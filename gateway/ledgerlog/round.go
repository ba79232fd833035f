package ledgerlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// A round is the state of one call to Sequencer.Round.
type round struct {
	s      *Sequencer
	signer *keys.PrivateKey
	heads  map[place]*store.LogHead
}

// A growth is a log to which the round appends lines.
type growth struct {
	tree   *log.Tree
	change store.LogChange
	firsts map[int64]int64 // by new tile of level 0: the ledger number of its first leaf
}

// append appends up to batch lines in one transaction, and reports whether there may be more.
func (r *round) append(ctx context.Context) (more bool, err error) {
	st := r.s.o.Store
	p, err := st.Progress(ctx) // read before the lines, which then include all lines up to p.Last
	if err != nil {
		return false, err
	}
	lines, err := st.NewLines(ctx, p.Logged, batch)
	if err != nil {
		return false, err
	}
	grown := map[place]*growth{}
	to := p.Logged
	for _, line := range lines {
		to = line.Seq
		at := place{line.Service, line.Epoch}
		if h := r.heads[at]; line.Own && h != nil && h.Epoch > 0 && line.Seq == h.FirstSeq {
			continue // the first leaf, which open has appended
		}
		if grown[at] == nil {
			if grown[at], err = r.open(ctx, at, grown); err != nil {
				return false, err
			}
		}
		grown[at].add(line.Seq, line.Leaf)
	}
	if more = len(lines) == batch; !more {
		to = max(to, p.Last)
		for at, h := range r.heads {
			if h.Epoch > 0 && h.Size == 0 && grown[at] == nil { // the epoch has begun, so its log begins too, even without lines
				if grown[at], err = r.open(ctx, at, grown); err != nil {
					return false, err
				}
			}
		}
	}
	if len(grown) == 0 && to == p.Logged {
		return false, nil
	}
	changes := make([]store.LogChange, 0, len(grown))
	for _, g := range grown {
		change, err := r.finish(g)
		if err != nil {
			return false, err
		}
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(a, b store.LogChange) int {
		return cmp.Or(cmp.Compare(a.Head.Service, b.Head.Service), cmp.Compare(a.Head.Epoch, b.Head.Epoch))
	})
	if err := st.Grow(ctx, p.Logged, to, changes); err != nil {
		return false, err
	}
	for i := range changes {
		h := &changes[i].Head
		r.heads[place{h.Service, h.Epoch}] = h
	}
	return more, nil
}

// open returns a log to append to. grown are the other logs with their new lines: those of earlier epochs of the service are complete,
// because they have lower ledger numbers.
func (r *round) open(ctx context.Context, at place, grown map[place]*growth) (*growth, error) {
	h := r.heads[at]
	if h == nil { // the service is not recorded: see ledger.Epochs
		h = &store.LogHead{Service: at.service, Epoch: at.epoch, Issuer: at.service}
	}
	tree := r.s.trees[at]
	if tree == nil || tree.Size() != h.Size {
		var err error
		tree, err = log.OpenTree(h.Size, func(level int, n int64) ([]byte, error) {
			return r.s.o.Store.Tile(ctx, at.service, at.epoch, level, n)
		})
		if err != nil {
			return nil, fmt.Errorf("opening the log of %s: %w", at.service, err)
		}
		r.s.trees[at] = tree
	}
	g := &growth{tree: tree, change: store.LogChange{Before: h.Size, Head: *h}, firsts: map[int64]int64{}}
	if h.Epoch > 0 && h.Size == 0 {
		e, err := r.restored(h, grown)
		if err != nil {
			return nil, err
		}
		g.change.Entries = append(g.change.Entries, e)
		g.add(e.Seq, e.Leaf)
	}
	return g, nil
}

func (g *growth) add(seq int64, leaf evidence.Hash) {
	if size := g.tree.Size(); size%tileWidth == 0 {
		g.firsts[size/tileWidth] = seq
	}
	g.tree.Append(leaf)
	g.change.Head.Seq = seq
}

const tileWidth = 256

// finish signs the checkpoint of a log.
func (r *round) finish(g *growth) (store.LogChange, error) {
	h := &g.change.Head
	h.Size, h.At, h.KeyID = g.tree.Size(), r.s.o.Now(), r.signer.ID
	var err error
	if h.Root, err = g.tree.Root(); err != nil {
		return g.change, err
	}
	c := log.Checkpoint{Origin: log.Origin(h.Issuer, h.Epoch), Size: h.Size, Root: h.Root, Time: h.At}
	signer, err := log.NewSigner(c.Origin, r.signer.Private)
	if err != nil {
		return g.change, err
	}
	if h.Checkpoint, err = c.Sign(signer); err != nil {
		return g.change, err
	}
	for _, tile := range g.tree.Changed() {
		t := store.LogTile{Tile: tile}
		if tile.Level == 0 {
			t.FirstSeq = g.firsts[tile.N]
		}
		g.change.Tiles = append(g.change.Tiles, t)
	}
	return g.change, nil
}
