package receipts

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
)

const (
	// mergeDelay is the time after which an entry must be in the log, and skew is how much the clocks of service and agent may differ.
	mergeDelay, skew = 10 * time.Second, 50 * time.Second
	// maxProofs is the maximum number of proofs that one Reconcile fetches. The next Reconcile fetches the others.
	maxProofs = 1000
)

// A LogSource fetches a resource of the logs of a service, as section "log" of the specification names them, with a query. If the service
// refuses the request, the error wraps ErrRefused. If the service has deleted the entry, the error wraps ErrExpired.
type LogSource func(ctx context.Context, path string, query url.Values) ([]byte, error)

// The errors of a LogSource.
var (
	// ErrRefused means that a service refused a request of a LogSource.
	ErrRefused = errors.New("the service refused")
	// ErrExpired means that a service has deleted an entry, because it keeps its ledger only for some time.
	ErrExpired = errors.New("the service has deleted the entry")
)

// A logCheck compares a book with the logs of the service.
type logCheck struct {
	a       *audit
	from    LogSource
	issuer  string
	now     time.Time
	records []Record                   // records to be added to the book
	epochs  map[int64]*knownCheckpoint // the newest checkpoint of each epoch; nil if none verifies
}

func (l *logCheck) report(name evidence.ProblemName, where, format string, args ...any) {
	l.a.found(evidence.Problem{Name: name, Where: where, Detail: fmt.Sprintf(format, args...)})
}

// read fetches a resource with a query of names and values.
func (l *logCheck) read(ctx context.Context, path string, pairs ...any) ([]byte, error) {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		query.Set(fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1]))
	}
	return l.from(ctx, path, query)
}

// run fetches the newest checkpoint and compares it with the last one, and looks for the entries of the period in the logs. It returns the
// number of entries that it did not look for, because there are too many.
func (l *logCheck) run(ctx context.Context, b *Book) (left int, err error) {
	list, err := b.signed(l.a)
	if err != nil {
		return 0, err
	}
	newest, err := l.newest(ctx, slices.ContainsFunc(list, func(r evidence.Receipt) bool { return l.due(&r, time.Time{}) }))
	if err != nil || newest == nil {
		return 0, err
	}
	l.epochs = map[int64]*knownCheckpoint{newest.epoch: newest}
	slices.Reverse(list) // the newest first
	wanted := slices.DeleteFunc(list, func(r evidence.Receipt) bool {
		return r.Entry.Account == (evidence.Account{}) || r.Entry.Epoch > newest.epoch || l.a.proofOf(&r) != ""
	})
	for i, r := range wanted {
		if i == maxProofs {
			left = len(wanted) - i
			break
		}
		in, err := l.epoch(ctx, r.Entry.Epoch)
		if err != nil {
			return 0, err
		}
		if in == nil {
			continue
		}
		if err := l.find(ctx, &r, in.Checkpoint); err != nil {
			return 0, err
		}
	}
	if len(l.records) == 0 {
		return left, nil
	}
	return left, b.put(ctx, l.records...)
}

// due reports whether an entry of an account must be in the log. newest is the time of the newest checkpoint of the log; it is zero if
// there is none. If only the checkpoint is from the future, the clock of the service was set back after it signed the checkpoint. The time
// of the checkpoint then proves nothing about the entry.
func (l *logCheck) due(r *evidence.Receipt, newest time.Time) bool {
	at := r.Entry.At
	setBack := newest.After(l.now.Add(skew)) && !at.After(l.now)
	return !setBack && !at.After(newest.Add(-mergeDelay)) || !at.After(l.now.Add(-mergeDelay-skew))
}

// open verifies a checkpoint of the service.
func (l *logCheck) open(text []byte) (*knownCheckpoint, error) {
	c, err := openCheckpoint(l.a.keys, string(text))
	if err == nil && c.Origin != log.Origin(l.issuer, c.epoch) {
		return nil, fmt.Errorf("%w: it belongs to another log", log.ErrCheckpoint)
	}
	return c, err
}

// newest fetches the newest checkpoint. It returns nil if there is none, or if the checkpoint does not verify or contradicts the last one.
// due is true if the log must have entries by now.
func (l *logCheck) newest(ctx context.Context, due bool) (*knownCheckpoint, error) {
	last := l.a.last(-1)
	text, err := l.read(ctx, "checkpoint")
	if errors.Is(err, ErrRefused) {
		if due || last != nil {
			l.report(evidence.ProblemLog, "", "the service did not send a checkpoint of its log")
		}
		return nil, nil //nolint:nilnil // the problem is reported
	}
	if err != nil {
		return nil, err
	}
	c, err := l.open(text)
	if err != nil {
		l.report(evidence.ProblemLog, "", "the checkpoint of the log does not verify: %v", err)
		return nil, nil //nolint:nilnil // as above
	}
	return l.follow(ctx, last, c)
}

// epoch returns the newest checkpoint of an epoch. If none verifies, it reports that and returns nil.
func (l *logCheck) epoch(ctx context.Context, epoch int64) (*knownCheckpoint, error) {
	if c, known := l.epochs[epoch]; known {
		return c, nil
	}
	text, err := l.read(ctx, "checkpoint", "epoch", epoch)
	if err != nil && !errors.Is(err, ErrRefused) {
		return nil, err
	}
	var c *knownCheckpoint
	if err == nil {
		c, err = l.open(text)
	}
	if err == nil && c.epoch != epoch {
		err = fmt.Errorf("%w: it belongs to epoch %d", log.ErrCheckpoint, c.epoch)
	}
	if err != nil {
		c = nil
		l.report(evidence.ProblemLog, log.Origin(l.issuer, epoch), "the service did not send a checkpoint of the earlier log: %v", err)
	} else if c, err = l.follow(ctx, l.a.last(epoch), c); err != nil {
		return nil, err
	}
	l.epochs[epoch] = c
	return c, nil
}

// follow compares a checkpoint with the last one in the book, and records it. It returns nil if the log does not contain the last one.
func (l *logCheck) follow(ctx context.Context, last, c *knownCheckpoint) (*knownCheckpoint, error) {
	where := fmt.Sprintf("%s %d", c.Origin, c.Size)
	record := Record{Type: typeCheckpoint, At: l.now, Checkpoint: c.text}
	switch {
	case last == nil:
	case c.epoch > last.epoch:
		l.report(evidence.ProblemEpoch, where, "the service has restored an earlier state or changed its issuer, and began another log")
	case c.epoch < last.epoch || c.Size < last.Size:
		l.report(evidence.ProblemFork, where, "the log is older than the one with %d entries that the agent knows", last.Size)
		return nil, nil //nolint:nilnil // the problem is reported
	default:
		hashes, err := l.consistency(ctx, c.epoch, last.Size, c.Size)
		if err != nil {
			return nil, err
		}
		if log.CheckConsistency(last.Checkpoint, c.Checkpoint, hashes) != nil {
			l.report(evidence.ProblemFork, where, "the log does not contain the one with %d entries that the agent knows", last.Size)
			return nil, nil //nolint:nilnil,nilerr // as above
		}
		if last.Size == c.Size {
			return last, nil
		}
		record.Old, record.Hashes = last.Size, hashes
	}
	l.records = append(l.records, record)
	return c, nil
}

// consistency fetches a proof of consistency. It returns an empty one if none is needed, or if the service does not send one.
func (l *logCheck) consistency(ctx context.Context, epoch, before, after int64) ([]evidence.Hash, error) {
	if before == 0 || before == after {
		return nil, nil
	}
	text, err := l.read(ctx, "consistency", "epoch", epoch, "old", before, "new", after)
	if errors.Is(err, ErrRefused) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hashes, err := log.ParseHashLines(text)
	if errors.Is(err, log.ErrProof) {
		return nil, nil
	}
	return hashes, err
}

// find looks for an entry in the log.
func (l *logCheck) find(ctx context.Context, r *evidence.Receipt, newest log.Checkpoint) error {
	e := &r.Entry
	text, err := l.read(ctx, "proof", "epoch", e.Epoch, "k", e.K, "size", newest.Size, "currency", e.Account.Currency)
	switch {
	case errors.Is(err, ErrExpired):
		return nil
	case err != nil && !errors.Is(err, ErrRefused):
		return err
	}
	var p log.Proof
	if err == nil {
		if p, err = log.ParseProof(text); err == nil {
			err = p.Verify(newest, r.Leaf)
		}
	}
	if err != nil && !l.due(r, newest.Time) {
		return nil // the next Reconcile looks for it again
	}
	if err != nil {
		l.report(evidence.ProblemNotLogged, evidence.NewChain(e.Account).Where(e.K), "the log does not contain the entry of %s: %v",
			e.At.Format(time.RFC3339), err)
		return nil
	}
	p.Checkpoint = nil
	l.records = append(l.records, Record{Type: typeLogged, At: l.now, Leaf: r.Leaf.String(), Proof: string(p.Text()), Size: newest.Size})
	return nil
}
