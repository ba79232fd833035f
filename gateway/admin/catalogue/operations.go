// Package catalogue has the operations on what services offer, and how clients connect to them.
package catalogue

import (
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/pat"
)

// A Config configures Operations.
type Config struct {
	Services api.Services
	View     *pat.View
	Doors    []door.Module         // the other protocols that agents can use
	Intents  *record.IntentFigures // counts the calls of each intent; nil: they are not counted
}

// Operations carries out the operations on catalogues. It is safe for concurrent use.
type Operations struct {
	services api.Services
	view     *pat.View
	doors    []door.Module
	intents  *record.IntentFigures
}

// New returns the operations.
func New(c Config) *Operations {
	return &Operations{services: c.Services, view: c.View, doors: c.Doors, intents: c.Intents}
}
