package fairqueue

// Parties returns how many parties s holds.
func (s *Places) Parties() int { return len(s.parties) }
