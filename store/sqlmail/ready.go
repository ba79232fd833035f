package sqlmail

import "context"

// Ready returns an error if the database does not accept writes.
func (s *Store) Ready(ctx context.Context) error { return s.state.Ready(ctx) }
