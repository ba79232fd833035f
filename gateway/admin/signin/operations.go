// Package signin signs people and programs in: links and sessions of the console, and the admin token.
package signin

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that the operations read and change.
type Store interface {
	// AddConsoleLink stores a link that signs one person in to the console.
	AddConsoleLink(ctx context.Context, l store.ConsoleLink) error
	// ConsoleSession returns a session of the console, or store.ErrNotFound.
	ConsoleSession(ctx context.Context, id string) (store.ConsoleSession, error)
	// EndConsoleSession ends a session of the console. A missing session is not an error.
	EndConsoleSession(ctx context.Context, id string) error
}

// Operations carries out the operations on sessions of the console. It is safe for concurrent use.
type Operations struct {
	Store      Store
	Services   api.Services
	Now        func() time.Time
	Changes    *api.Changes
	ConsoleURL func() string // the URL of the console, with a trailing slash; nil: the process has no console
}
