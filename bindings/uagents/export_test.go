package uagents

import "context"

// Round registers what is due, as Run does every few seconds.
func (d *Door) Round(ctx context.Context) { d.registrar.round(ctx, d.services()) }

// Seed returns the seed that the configuration has; empty: none.
func (s *Settings) Seed() string { return s.seed.Reveal() }
