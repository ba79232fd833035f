package sqlmail

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

// A turn is one caller's request for the most frequent operations of relays, and its result.
type turn struct {
	guard *mail.Guard // a signature to record; nil: none
	touch time.Duration
	send  *mail.NewMessage // a message to accept; nil: none

	recipient mail.Key // that has received the messages
	delivered []string

	outcome
}

type outcome struct {
	agent    mail.Agent // of the guard
	isNew    bool
	taken    mail.Message
	repeated bool
	err      error // why nothing of the message, or of the guard, was accepted
}

// take carries out a turn, in a transaction with all others that wait.
func (s *Store) take(ctx context.Context, t *turn) error {
	bytes := 0
	if t.send != nil {
		bytes = int(size(&t.send.Message))
	}
	if err := s.rounds.Do(ctx, t, bytes); err != nil {
		t.outcome = outcome{} // of a transaction that failed
		return err
	}
	return t.err
}

// A round is the turns of one transaction. It locks everything that they need before it decides anything, in the order of the package and
// of keys; then it decides them one after another, and sends their writes together. It takes four round trips if no agent is new, nothing
// is repeated, attached or delivered, and no box is full.
type round struct {
	s       *Store
	x       tx
	now     int64
	callers []*turn

	first []command // before boxes are locked
	boxes map[mail.Key]*box
	sends []*dispatch
	sum   change // of the totals
	// The relay's totals, including what this round has accepted.
	messages, bytes int64
	keys            map[idempotency]*dispatch // used in this round
	blobs           map[string]mail.Blob      // that messages attach, and that exist
	readers         map[reader]bool           // the agents that may attach another's
	rows            rows
}

func (s *Store) round(ctx context.Context, x tx, turns []*turn) error {
	r := &round{s: s, x: x, now: nanos(x.Now()), callers: turns, boxes: map[mail.Key]*box{}, keys: map[idempotency]*dispatch{}}
	for _, t := range turns {
		t.outcome = outcome{}
	}
	for _, step := range []func(context.Context) error{r.admit, r.prepare, r.deliver, r.attachable, r.decide, r.repeat} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	x.Last(r.written())
	return nil
}

// sortedKeys sorts keys and removes duplicates.
func sortedKeys(keys []mail.Key) []mail.Key {
	slices.SortFunc(keys, func(a, b mail.Key) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(keys)
}

// blobsOf converts keys to arguments.
func blobsOf(keys []mail.Key) []any {
	args := make([]any, len(keys))
	for i := range keys {
		args[i] = keys[i][:]
	}
	return args
}

// sought divides the values of IN among statements of a few lengths: the last value is repeated to fill one up.
func sought(values []any, each func(marks string, args []any)) {
	for len(values) > 0 {
		n := lengthFor(len(values))
		some := slices.Clone(values[:min(n, len(values))])
		values = values[len(some):]
		for len(some) < n {
			some = append(some, some[len(some)-1])
		}
		each(marks(n, "?"), some)
	}
}

// lengthFor returns how many values a statement for n has.
func lengthFor(n int) int {
	for _, length := range []int{1, 4, 16} {
		if n <= length {
			return length
		}
	}
	return chunks[0]
}
