package uagents

// Seed returns the configured seed, or "" if there is none.
func (s *Settings) Seed() string { return s.seed.Reveal() }
