package sqlmail

import (
	"context"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/mail"
)

const (
	// If at most fewTagged agents have a tag, a search for the tag reads all of them. Otherwise it begins with the most recently active
	// agents.
	fewTagged = 1000
	// longestWord limits the words in a search, in bytes. No capability contains a longer word, and SQLite does not support longer patterns.
	longestWord = 8 << 10
)

// Discover lists public, active agents, the most recently active first, and then by key. Only one search for words, a name or a prefix runs
// at a time; others wait for it, but only until ctx ends. With 100,000 agents, such a search takes a tenth of a second.
func (s *Store) Discover(ctx context.Context, q mail.Search) (list []mail.Agent, more bool, err error) {
	for _, word := range append([]string{q.Name}, q.Words...) {
		if len(fold(word)) > longestWord {
			return nil, false, nil
		}
	}
	rarest, agents, err := s.rarest(ctx, q.Tags)
	if err != nil || len(q.Tags) > 0 && agents == 0 {
		return nil, false, err
	}
	w := where{}
	from := "relay_agents a WHERE a.shown = 1"
	if len(q.Tags) > 0 && agents <= fewTagged {
		from = "relay_tags r CROSS JOIN relay_agents a WHERE r.shown = 1 AND r.tag = ? AND a.agent = r.agent AND a.shown = 1"
		w.args = append(w.args, []byte(rarest))
	}
	w.search(q)
	if len(q.Words)+len(q.Prefixes) > 0 || q.Name != "" {
		// The words are not indexed, so such a search reads every agent. Only one search runs at a time, which leaves connections for other
		// calls.
		select {
		case s.searching <- struct{}{}:
			defer func() { <-s.searching }()
		case <-ctx.Done():
			return nil, false, fmt.Errorf("%w: waiting for other searches: %w", store.ErrUnavailable, ctx.Err())
		}
	}
	return page(ctx, s, q.Limit, scanAgent, "SELECT "+agentColumns+" FROM "+from+w.text+" ORDER BY a.last_active_at DESC, a.agent LIMIT ?",
		w.args...)
}

// rarest returns the tag in tags that the fewest public agents have, and the number of these agents.
func (s *Store) rarest(ctx context.Context, tags []string) (rarest string, agents int64, err error) {
	for i, tag := range tags {
		var n int64
		if _, err := s.db.One(ctx, "SELECT agents FROM relay_tag_counts WHERE tag = ?", []any{[]byte(tag)}, &n); err != nil {
			return "", 0, err
		}
		if i == 0 || n < agents {
			rarest, agents = tag, n
		}
	}
	return rarest, agents, nil
}

// A where contains the conditions of a statement and their arguments. Only the arguments contain input from callers.
type where struct {
	text string // each condition after an AND
	args []any
}

func (w *where) and(condition string, args ...any) {
	w.text += " AND " + condition
	w.args = append(w.args, args...)
}

func (w *where) search(q mail.Search) {
	if !q.ActiveSince.IsZero() {
		w.and("a.last_active_at >= ?", nanos(q.ActiveSince))
	}
	if q.After != nil {
		at := nanos(q.After.ActiveAt)
		w.and("a.last_active_at <= ?", at)
		w.and("(a.last_active_at < ? OR a.agent > ?)", at, q.After.Key[:])
	}
	for _, tag := range q.Tags {
		w.and("EXISTS (SELECT 1 FROM relay_tags t WHERE t.shown = 1 AND t.tag = ? AND t.agent = a.agent)", []byte(tag))
	}
	for _, prefix := range q.Prefixes {
		condition, args := "t.tag >= ?", []any{[]byte(prefix)}
		if end := behind([]byte(prefix)); end != nil {
			condition, args = condition+" AND t.tag < ?", append(args, end)
		}
		w.and("EXISTS (SELECT 1 FROM relay_tags t WHERE t.agent = a.agent AND "+condition+")", args...)
	}
	if q.Name != "" {
		w.and(`a.found_name LIKE ? ESCAPE '\'`, within(q.Name))
	}
	for _, word := range q.Words {
		w.and(`a.found_words LIKE ? ESCAPE '\'`, within(word))
	}
}

// behind returns the smallest value that is greater than all values with the given prefix, or nil if there is none.
func behind(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// fold converts strings that differ only in case to the same string. It replaces NUL and invalid UTF-8, which a database cannot store, with
// U+FFFD.
func fold(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.ToValidUTF8(s, "\ufffd")), "\x00", "\ufffd")
}

var literally = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// within returns the LIKE pattern for the strings that contain a word, as fold converts them.
func within(word string) string { return "%" + literally.Replace(fold(word)) + "%" }
