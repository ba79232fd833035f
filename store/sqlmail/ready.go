package sqlmail

import "context"

// Ready reports whether the database accepts writes.
func (s *Store) Ready(ctx context.Context) error { return s.db.Ready(ctx) }
