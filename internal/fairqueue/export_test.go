package fairqueue

// Parties returns how many parties are remembered.
func (s *Places) Parties() int { return len(s.parties) }
