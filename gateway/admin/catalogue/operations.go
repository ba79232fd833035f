// Package catalogue has the operations on what services offer, and how clients connect to them.
package catalogue

import (
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/pat"
)

// Operations carries out the operations on catalogues. It is safe for concurrent use.
type Operations struct {
	View    *pat.View
	Doors   []door.Module         // the other protocols that agents can use
	Intents *record.IntentFigures // counts the calls of each intent; nil: they are not counted
}
