package receipts

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
)

const (
	// mergeDelay is the time after which an entry must be in the log, and skew how much the clocks of service and agent may differ.
	mergeDelay, skew = 10 * time.Second, 50 * time.Second
	// maxProofs is how many proofs one Reconcile fetches. Further receipts are left for the next one.
	maxProofs = 1000
)

// A LogSource fetches from the log of a service. Errors for what the service refuses wrap ErrRefused.
type LogSource interface {
	// Checkpoint returns the newest checkpoint, a signed note.
	Checkpoint(ctx context.Context) ([]byte, error)
	// Consistency returns the proof that the log of one size contains that of a smaller one.
	Consistency(ctx context.Context, before, after int64) ([]byte, error)
	// Inclusion returns the proof, without a checkpoint, that the entry of an execution with a state is in the log of the given size.
	Inclusion(ctx context.Context, execution, state string, size int64) ([]byte, error)
}

// ErrRefused means that a service did not send what a LogSource requested.
var ErrRefused = errors.New("the service refused")

// A logCheck compares a book with the log of the service.
type logCheck struct {
	a       *audit
	from    LogSource
	issuer  string
	now     time.Time
	records []Record // to be added to the book
}

func (l *logCheck) report(name evidence.ProblemName, where, format string, args ...any) {
	l.a.found(evidence.Problem{Name: name, Where: where, Detail: fmt.Sprintf(format, args...)})
}

// run fetches the newest checkpoint and compares it with the last one, and looks for the receipts of the period in the log. It returns how
// many receipts it did not look for, because there are too many or the log may still lack them.
func (l *logCheck) run(ctx context.Context, b *Book) (left int, err error) {
	list, err := b.signed(l.a)
	if err != nil {
		return 0, err
	}
	newest, err := l.checkpoint(ctx, slices.ContainsFunc(list, func(r evidence.Receipt) bool { return l.due(&r, time.Time{}) }))
	if err != nil || newest == nil {
		return 0, err
	}
	slices.Reverse(list) // the newest first
	wanted := slices.DeleteFunc(list, func(r evidence.Receipt) bool {
		return r.Entry.Kind != evidence.KindCharge || r.Entry.Epoch != newest.epoch || l.a.logged[r.Leaf.String()]
	})
	for i, r := range wanted {
		if i == maxProofs {
			left = len(wanted) - i
			break
		}
		if err := l.find(ctx, &r, newest.Checkpoint); err != nil {
			return 0, err
		}
	}
	if len(l.records) == 0 {
		return left, nil
	}
	return left, b.put(ctx, l.records...)
}

// due reports whether an entry of a call must be in the log whose newest checkpoint has the given time, which is zero if there is none.
func (l *logCheck) due(r *evidence.Receipt, newest time.Time) bool {
	at := r.Entry.At
	return r.Entry.Kind == evidence.KindCharge && (!at.After(newest.Add(-mergeDelay)) || !at.After(l.now.Add(-mergeDelay-skew)))
}

// A knownCheckpoint is a checkpoint with a verified signature.
type knownCheckpoint struct {
	log.Checkpoint

	epoch int64
}

// open verifies a checkpoint with the keys that the agent trusts.
func (l *logCheck) open(text []byte) (*knownCheckpoint, error) {
	c, err := log.ReadCheckpoint(text)
	if err != nil {
		return nil, err
	}
	number, ours := strings.CutPrefix(c.Origin, strings.TrimSuffix(log.Origin(l.issuer, 0), "0"))
	epoch, err := strconv.ParseInt(number, 10, 64)
	if !ours || err != nil || log.Origin(l.issuer, epoch) != c.Origin {
		return nil, fmt.Errorf("%w: it is of another log", log.ErrCheckpoint)
	}
	var verifiers []note.Verifier
	for _, key := range l.a.keys.All(evidence.PurposeLog) {
		if public, ok := key.Public().(ed25519.PublicKey); ok {
			if v, err := log.NewVerifier(c.Origin, public); err == nil {
				verifiers = append(verifiers, v)
			}
		}
	}
	opened, err := log.OpenCheckpoint(text, verifiers...)
	if err != nil {
		return nil, err
	}
	return &knownCheckpoint{opened.Checkpoint, epoch}, nil
}

// checkpoint fetches the newest checkpoint. It returns nil if there is none, or if that does not verify or contradicts the last one. due
// means that the log must have entries by now.
func (l *logCheck) checkpoint(ctx context.Context, due bool) (*knownCheckpoint, error) {
	text, err := l.from.Checkpoint(ctx)
	if errors.Is(err, ErrRefused) {
		if due || l.a.newest != "" {
			l.report(evidence.ProblemLog, "", "the service did not send a checkpoint of its log")
		}
		return nil, nil //nolint:nilnil // the problem is reported
	}
	if err != nil {
		return nil, err
	}
	newest, err := l.open(text)
	if err != nil {
		l.report(evidence.ProblemLog, "", "the checkpoint of the log does not verify: %v", err)
		return nil, nil //nolint:nilnil // as above
	}
	if last, err := l.open([]byte(l.a.newest)); err == nil {
		consistent, err := l.consistent(ctx, last, newest)
		if err != nil || !consistent {
			return nil, err
		}
		if last.Size == newest.Size && last.epoch == newest.epoch {
			return newest, nil
		}
	}
	l.records = append(l.records, Record{Type: typeCheckpoint, At: l.now, Checkpoint: string(text)})
	return newest, nil
}

// consistent reports whether the log at newest contains that at last.
func (l *logCheck) consistent(ctx context.Context, last, newest *knownCheckpoint) (bool, error) {
	where := fmt.Sprintf("%s %d", newest.Origin, newest.Size)
	switch {
	case newest.epoch > last.epoch:
		l.report(evidence.ProblemEpoch, where, "the service has restored an earlier state or changed its issuer, and began another log")
		return true, nil
	case newest.epoch < last.epoch || newest.Size < last.Size:
		l.report(evidence.ProblemFork, where, "the log is older than the one with %d entries that the agent knows", last.Size)
		return false, nil
	}
	hashes, err := l.consistency(ctx, last.Size, newest.Size)
	if err != nil {
		return false, err
	}
	if log.CheckConsistency(last.Checkpoint, newest.Checkpoint, hashes) != nil {
		l.report(evidence.ProblemFork, where, "the log does not contain the one with %d entries that the agent knows", last.Size)
		return false, nil //nolint:nilerr // the problem is reported
	}
	return true, nil
}

// consistency fetches a proof of consistency. It returns an empty one if none is needed, or if the service does not send one.
func (l *logCheck) consistency(ctx context.Context, before, after int64) ([]evidence.Hash, error) {
	if before == 0 || before == after {
		return nil, nil
	}
	text, err := l.from.Consistency(ctx, before, after)
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
	text, err := l.from.Inclusion(ctx, e.ID, e.To, newest.Size)
	if err != nil && !errors.Is(err, ErrRefused) {
		return err
	}
	if err == nil {
		var p log.Proof
		if p, err = log.ParseProof(text); err == nil {
			err = p.Verify(newest, r.Leaf)
		}
	}
	if err != nil && !l.due(r, newest.Time) {
		return nil // the next Reconcile looks again
	}
	if err != nil {
		l.report(evidence.ProblemNotLogged, evidence.NewChain(e.Account).Where(e.K), "the log does not contain the entry of %s: %v",
			e.At.Format(time.RFC3339), err)
		return nil
	}
	l.records = append(l.records, Record{Type: typeLogged, At: l.now, Leaf: r.Leaf.String()})
	return nil
}
