package sqlmail

import (
	"context"
	"slices"
)

// UnknownBlobs returns the ids that have no record, not even an expired one.
func (s *Store) UnknownBlobs(ctx context.Context, ids []string) (unknown []string, err error) {
	known := map[string]bool{}
	for _, some := range chunked(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !plain(id) })) {
		if err := s.db.List(ctx, "SELECT id FROM relay_blobs WHERE id IN ("+marks(len(some), "?")+")", anys(some), func(scan scan) error {
			var id string
			err := scan(&id)
			known[id] = true
			return err
		}); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return known[id] }), nil
}
