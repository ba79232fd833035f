package uagents

import "context"

// Round makes the due registrations, as Run does every few seconds.
func (d *Door) Round(ctx context.Context) { d.registrar.round(ctx, d.services()) }

// Seed returns the configured seed, or "" if there is none.
func (s *Settings) Seed() string { return s.seed.Reveal() }
