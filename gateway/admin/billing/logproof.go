package billing

import (
	"context"
	"errors"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/store"
)

// Logs reads the logs of services.
type Logs interface {
	HeadOf(ctx context.Context, service string, epoch int64) (store.LogHead, error)
	Tile(ctx context.Context, service string, epoch int64, level int, n int64) ([]byte, error)
	// Index returns the number of the leaf of a ledger entry in its log. The error is store.ErrNotLogged if it is not in the log yet.
	Index(ctx context.Context, service string, epoch, seq int64, leaf evidence.Hash) (int64, error)
	// LogEntries returns the entries of a service that belong to no account, in the order of their numbers.
	LogEntries(ctx context.Context, service string) ([]store.LogEntry, error)
}

// A Consistency shows that the log of size New begins with that of size Old. See RFC 6962, section 2.1.2.
type Consistency struct {
	Epoch  int64           `json:"epoch"`
	Old    int64           `json:"old"`
	New    int64           `json:"new"`
	Hashes []evidence.Hash `json:"hashes"`
}

// A prover makes proofs for the entries on one page. All proofs of one epoch are for the same size of the log.
type prover struct {
	ctx     context.Context //nolint:containedctx // of the request
	logs    Logs
	service string
	heads   map[int64]store.LogHead
}

func (p *prover) tiles(epoch int64) log.Reader {
	return func(level int, n int64) ([]byte, error) { return p.logs.Tile(p.ctx, p.service, epoch, level, n) }
}

// prove returns the proof that an entry is in the log, with the checkpoint. It returns an empty string if the entry is not in the log yet.
func (p *prover) prove(e store.LedgerEntry) (string, error) {
	head, known := p.heads[e.Epoch]
	if !known {
		var err error
		if head, err = p.logs.HeadOf(p.ctx, p.service, e.Epoch); err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
		p.heads[e.Epoch] = head
	}
	if len(head.Checkpoint) == 0 || e.Seq > head.Seq {
		return "", nil
	}
	index, err := p.logs.Index(p.ctx, p.service, e.Epoch, e.Seq, e.Leaf)
	if errors.Is(err, store.ErrNotLogged) || err == nil && index >= head.Size {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	hashes, err := p.tiles(e.Epoch).Inclusion(head.Size, index)
	if err != nil {
		return "", err
	}
	return string(log.Proof{Index: index, Hashes: hashes, Checkpoint: head.Checkpoint}.Text()), nil
}

// entries returns the entries that belong to no account, which introduce keys and begin epochs, and the newest checkpoint. The checkpoint
// is empty if there is none.
func (p *prover) entries() (out []EvidenceLine, checkpoint string, err error) {
	list, err := p.logs.LogEntries(p.ctx, p.service)
	if err != nil {
		return nil, "", err
	}
	for _, e := range list {
		line := EvidenceLine{Receipt: e.Receipt}
		if line.Logged, err = p.prove(store.LedgerEntry{Seq: e.Seq, Epoch: e.Epoch, Leaf: e.Leaf}); err != nil {
			return nil, "", err
		}
		if line.Logged != "" {
			checkpoint = string(p.heads[e.Epoch].Checkpoint)
		}
		out = append(out, line)
	}
	return out, checkpoint, nil
}

// since returns a proof for each epoch whose log has grown since the previous page. sizes are those of the checkpoints
// of that page, by epoch.
func (p *prover) since(sizes map[int64]int64) (out []Consistency, err error) {
	for epoch, head := range p.heads {
		old, known := sizes[epoch]
		if !known || old <= 0 || old >= head.Size {
			continue
		}
		c := Consistency{Epoch: epoch, Old: old, New: head.Size}
		if c.Hashes, err = p.tiles(epoch).Consistency(old, head.Size); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}
