package sqlmail

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

// A turn is one call of a frequent operation (Admit, Send, SendSigned or Delivered) and its result.
type turn struct {
	guard *mail.Guard // a signature to record; nil means none
	touch time.Duration
	send  *mail.NewMessage // a message to accept; nil means none

	recipient mail.Key // the agent that has received the messages in delivered
	delivered []string

	outcome
}

type outcome struct {
	agent    mail.Agent // the agent of the guard
	isNew    bool
	taken    mail.Message
	repeated bool
	err      error // why the guard or the message was refused
}

// take executes a turn in one transaction with all other turns that are waiting.
func (s *Store) take(ctx context.Context, t *turn) error {
	bytes := 0
	if t.send != nil {
		bytes = int(size(&t.send.Message))
	}
	if err := s.rounds.Do(ctx, t, bytes); err != nil {
		t.outcome = outcome{} // discards the results of the failed transaction
		return err
	}
	return t.err
}

// A round is the set of turns that one transaction executes. It first locks everything that the turns need, in the order that the package
// comment describes, and rows of one kind in the order of their keys. Then it decides the turns one after another, and sends their writes
// together. It takes four round trips if no agent is new, no message is repeated or delivered, no blob is attached, and no box is full.
type round struct {
	s       *Store
	x       tx
	now     int64
	callers []*turn

	first []command // commands to send before boxes are locked
	boxes map[mail.Key]*box
	sends []*dispatch
	sum   change // change of the totals
	// The relay's totals, including the messages that this round has accepted.
	messages, bytes int64
	keys            map[idempotency]*dispatch // keys that were used in this round
	blobs           map[string]mail.Blob      // existing blobs that messages attach
	readers         map[reader]bool           // agents that may attach a blob of another agent
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

// blobsOf converts keys to the arguments of a statement.
func blobsOf(keys []mail.Key) []any {
	args := make([]any, len(keys))
	for i := range keys {
		args[i] = keys[i][:]
	}
	return args
}

// sought divides the values of an IN list among statements with few different numbers of values, and calls the function each with the
// placeholders and the arguments of every statement. It repeats the last value to fill up a statement.
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

// lengthFor returns the number of values in the next statement if n values are left.
func lengthFor(n int) int {
	for _, length := range []int{1, 4, 16} {
		if n <= length {
			return length
		}
	}
	return chunks[0]
}
