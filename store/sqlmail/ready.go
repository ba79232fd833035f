package sqlmail

import "context"

// Ready reports whether the database takes what is written.
func (s *Store) Ready(ctx context.Context) error { return s.db.Ready(ctx) }
