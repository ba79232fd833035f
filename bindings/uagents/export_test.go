package uagents

import "context"

// Round registers what is due, as Run does every few seconds.
func (d *Door) Round(ctx context.Context) { d.registrar.round(ctx, d.services()) }
