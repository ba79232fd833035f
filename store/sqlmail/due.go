package sqlmail

import (
	"context"
	"maps"

	"github.com/uimgate/uimgate/store/mail"
)

// dueAtOnce is how many rows are read at a time to find due messages.
const dueAtOnce = 256

// due finds messages to post. Owners with few deliveries in progress come first: those with the fewest, then those with one more, and so
// on up to Claim.Each.
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
		if len(t.list) == c.Limit || t.most >= c.Each || len(t.has) == 0 { // or none is due
			return t.list, nil
		}
	}
}

// turnsOf is what was found so far.
type turnsOf struct {
	mail.Claim
	most  int // number of one owner
	has   map[mail.Key]int
	list  []string
	found map[string]bool
}

// mostOf returns how many of one owner may be in progress.
func (t *turnsOf) mostOf(owner mail.Key) int {
	if t.Most == nil {
		return t.most
	}
	return min(t.most, max(1, t.Most(owner)))
}

// dueTo reads some rows of owners below their bound, and reports whether there may be further ones.
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
	err = s.db.Rows(ctx, query+" ORDER BY due_at LIMIT ?", append(args, dueAtOnce), func(scan scan) error {
		var id string
		var key []byte
		if err := scan(&id, &key); err != nil {
			return err
		}
		rows++
		owner := keyFrom(key)
		if len(t.list) < t.Limit && t.has[owner] < t.mostOf(owner) && !t.found[id] {
			t.list, t.found[id] = append(t.list, id), true
			t.has[owner]++
		}
		return nil
	})
	return rows == dueAtOnce, err
}

// padded is the next power of four.
func padded(n int) int {
	to := 1
	for to < n {
		to *= 4
	}
	return to
}
