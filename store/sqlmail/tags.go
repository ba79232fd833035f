package sqlmail

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A tagSync updates the tags of an agent, and the number of public agents with each tag, when the agent changes.
type tagSync struct {
	key      mail.Key
	was, now bool // whether the agent was public, and is public
	retag    bool // whether tags replaces its tags
	tags     []string
}

func (t tagSync) write(ctx context.Context, x tx) {
	if !t.retag && t.was == t.now {
		return
	}
	tags := slices.Collect(engine.Values[[]byte](ctx, x, "SELECT tag FROM relay_tags WHERE agent = ?", t.key[:]))
	more := map[string]int64{}
	if t.was {
		add(more, tags, -1)
	}
	if t.retag {
		tags = t.replace(ctx, x)
	} else {
		x.Run(ctx, "UPDATE relay_tags SET shown = ? WHERE agent = ?", engine.Flag(t.now), t.key[:])
	}
	if t.now {
		add(more, tags, 1)
	}
	count(ctx, x, more)
}

func add(more map[string]int64, tags [][]byte, n int64) {
	for _, tag := range tags {
		more[string(tag)] += n
	}
}

// replace replaces the tags, and returns the new tags without duplicates.
func (t tagSync) replace(ctx context.Context, x tx) [][]byte {
	x.Run(ctx, "DELETE FROM relay_tags WHERE agent = ?", t.key[:])
	tags := make([][]byte, len(t.tags))
	for i, tag := range t.tags {
		tags[i] = []byte(tag)
	}
	slices.SortFunc(tags, bytes.Compare)
	tags = slices.CompactFunc(tags, bytes.Equal)
	for _, some := range chunked(tags) {
		args := make([]any, 0, 3*len(some))
		for _, tag := range some {
			args = append(args, t.key[:], tag, engine.Flag(t.now))
		}
		x.Run(ctx, "INSERT INTO relay_tags (agent, tag, shown) VALUES "+marks(len(some), "(?, ?, ?)"), args...)
	}
	return tags
}

// count adds the numbers in more to the numbers of public agents with each tag, in the order of the tags.
func count(ctx context.Context, x tx, more map[string]int64) {
	maps.DeleteFunc(more, func(_ string, n int64) bool { return n == 0 })
	for _, some := range chunked(slices.Sorted(maps.Keys(more))) {
		rows, tags := make([]any, 0, 2*len(some)), make([]any, 0, len(some))
		for _, tag := range some {
			rows, tags = append(rows, []byte(tag), more[tag]), append(tags, []byte(tag))
		}
		x.Run(ctx, "INSERT INTO relay_tag_counts (tag, agents) VALUES "+marks(len(some), "(?, ?)")+
			" ON CONFLICT (tag) DO UPDATE SET agents = relay_tag_counts.agents + excluded.agents", rows...)
		x.Run(ctx, "DELETE FROM relay_tag_counts WHERE tag IN ("+marks(len(some), "?")+") AND agents <= 0", tags...)
	}
}

// Tags lists the tags of public, active agents, the most frequent first, and then in the order of their bytes. after is the end of the
// previous page; nil means the first page. more reports whether further tags follow.
func (s *Store) Tags(ctx context.Context, after *mail.TagCount, limit int) (list []mail.TagCount, more bool, err error) {
	query, args := "SELECT tag, agents FROM relay_tag_counts", []any(nil)
	if after != nil {
		query += " WHERE agents <= ? AND (agents < ? OR tag > ?)"
		args = append(args, after.Count, after.Count, []byte(after.Tag))
	}
	return page(ctx, s, limit, func(scan scan) (c mail.TagCount, err error) {
		err = scan(textTo(&c.Tag), &c.Count)
		return c, err
	}, query+" ORDER BY agents DESC, tag LIMIT ?", args...)
}
