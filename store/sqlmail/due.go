package sqlmail

import (
	"context"
	"maps"

	"github.com/uimgate/uimgate/store/mail"
)

// dueAtOnce is the number of rows that are read at a time to find due messages.
const dueAtOnce = 256

// due returns the ids of at most Claim.Limit messages to post. It prefers owners with few deliveries in progress: it first allows one
// delivery for each owner, and then doubles that number up to Claim.Each.
func (s *Store) due(ctx context.Context, c mail.Claim) (list []string, err error) {
	t := &turnsOf{Claim: c, has: maps.Clone(c.Busy), found: map[string]bool{}}
	if t.has == nil {
		t.has = map[mail.Key]int{}
	}
	for t.most = 1; ; t.most = min(2*t.most, c.Each) {
		for further := true; further && len(t.list) < c.Limit; {
			if further, err = s.dueTo(ctx, t); err != nil {
				return nil, err
			}
		}
		if len(t.list) == c.Limit || t.most >= c.Each || len(t.has) == 0 { // if has is empty, no message is due
			return t.list, nil
		}
	}
}

// turnsOf contains the messages that have been found so far.
type turnsOf struct {
	mail.Claim
	most  int              // current limit for one owner
	has   map[mail.Key]int // messages of each owner that are in progress or found
	list  []string
	found map[string]bool
}

// mostOf returns the current limit for one owner.
func (t *turnsOf) mostOf(owner mail.Key) int {
	if t.Most == nil {
		return t.most
	}
	return min(t.most, max(1, t.Most(owner)))
}

// dueTo adds due messages of owners that are below their limit to t, and reports whether there may be more.
func (s *Store) dueTo(ctx context.Context, t *turnsOf) (further bool, err error) {
	query, args := "SELECT message, owner FROM relay_postings WHERE due_at <= ?", []any{nanos(t.Now)}
	var full [][]byte
	for owner, n := range t.has {
		if n >= t.mostOf(owner) {
			full = append(full, owner[:])
		}
	}
	if len(full) > 0 {
		for len(full) < padded(len(full)) { // so that few statements are prepared
			full = append(full, full[0])
		}
		query, args = query+" AND owner NOT IN ("+marks(len(full), "?")+")", anys(full, args...)
	}
	rows := 0
	err = s.db.List(ctx, query+" ORDER BY due_at LIMIT ?", append(args, dueAtOnce), func(scan scan) error {
		var id string
		var owner mail.Key
		if err := scan(&id, keyTo(&owner)); err != nil {
			return err
		}
		rows++
		if len(t.list) < t.Limit && t.has[owner] < t.mostOf(owner) && !t.found[id] {
			t.list, t.found[id] = append(t.list, id), true
			t.has[owner]++
		}
		return nil
	})
	return rows == dueAtOnce, err
}

// padded returns the smallest power of four that is at least n.
func padded(n int) int {
	to := 1
	for to < n {
		to *= 4
	}
	return to
}
