// Package reloads has the operations on reloads of the configuration.
package reloads

import (
	"context"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that the operations read and change.
type Store interface {
	// Reloads returns the newest reloads, the newest first, at most limit.
	Reloads(ctx context.Context, limit int) ([]store.Reload, error)
}

// Operations carries out the operations on reloads. It is safe for concurrent use.
type Operations struct {
	Store        Store
	Services     api.Services
	Apply        func(ctx context.Context, force bool) config.Problems // see admin.Config
	NeedsRestart func() []string                                       // see admin.Config
}
