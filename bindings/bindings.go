// Package bindings lists the other protocols by which agents come: doors onto the same catalogue, agreement, limits and
// ledger.
package bindings

import (
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/a2a"
	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/announce"
	"github.com/uimgate/uimgate/bindings/mcp"
	"github.com/uimgate/uimgate/bindings/mrp"
	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/bindings/oauth"
	"github.com/uimgate/uimgate/bindings/uagents"
	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// A Config is what the doors are built on.
type Config struct {
	Executor *execute.Executor
	Desk     *agree.Desk
	Consents *consent.Desk
	// Documents fetches what strangers name, such as who a client is; nil: from the internet.
	Documents *fetch.Client
	// Cards sign the agent cards of A2A, each with its own algorithm.
	Cards []*pat.Keyring
	// UAgents are the identities of the services among agents of the uAgents protocol.
	UAgents *uagents.Keys
	// Registrations keep where agents of that protocol are, for the services that are an Almanac.
	Registrations almanac.Store
	// Services are those that are served now. Sole: by this process alone.
	Services func() []*service.Service
	Sole     bool
	// AEA are the identities of the services among agents of the AEA framework.
	AEA *aea.Keys
	// MRP are the identities of the services among agents of the Machine Relay Protocol. Relay is the relay of this process, and
	// RelayURL where agents reach it; nil: there is none.
	MRP      *mrp.Keys
	Relay    func() *relay.Relay
	RelayURL func() string
	// API is the handler of the public listener, and Host carries out requests in messages. The listener takes these doors, so both are
	// called later.
	API  func() http.Handler
	Host func() door.Host
	// DrainTimeout is how long what is under way may last once a door is shut.
	DrainTimeout func() time.Duration
	// Shed counts what is refused because there is too much to do.
	Shed func(reason.Cause)
	// Memory is what requests may hold, of which calls in messages are read as well.
	Memory *membudget.Budget
	Now    func() time.Time
	Log    *zap.Logger
	// Version is that of the program.
	Version string
}

// Doors returns all of them. Which of them are open, and where, is the configuration of each service.
func Doors(c Config) []door.Door {
	return []door.Door{
		announce.New(c.Version),
		mcp.New(mcp.Config{Executor: c.Executor, Version: c.Version}),
		oauth.New(oauth.Config{Consents: c.Consents, Desk: c.Desk, Documents: c.Documents}),
		a2a.New(a2a.Config{Executor: c.Executor, Cards: c.Cards}),
		uagents.New(uagents.Config{
			Executor: c.Executor, Desk: c.Desk, Keys: c.UAgents, Registrations: c.Registrations, Services: c.Services, Sole: c.Sole, Now: c.Now,
			Log: c.Log,
		}),
		aea.New(aea.Config{
			Desk: c.Desk, Keys: c.AEA, Host: c.Host, API: c.API, Services: c.Services, DrainTimeout: c.DrainTimeout, Shed: c.Shed,
			Memory: c.Memory, Now: c.Now, Log: c.Log,
		}),
		mrp.New(mrp.Config{
			Keys: c.MRP, Relay: c.Relay, RelayURL: c.RelayURL, Host: c.Host, Services: c.Services, DrainTimeout: c.DrainTimeout, Shed: c.Shed,
			Stranger: c.Executor.StrangerKey, Memory: c.Memory, Now: c.Now, Log: c.Log,
		}),
	}
}
