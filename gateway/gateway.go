// Package gateway serves agents over HTTP: it reads a request, calls the package that handles it, and renders the result. The rules are in
// other packages: those of calls in execute, those of agreements in agree, and those of services in service.
//
//	loaded, problems := service.Load(ctx, cfg, time.Now)
//	directory, err := service.Open(ctx, service.State{…}, loaded)
//	server := gateway.New(gateway.Config{Directory: directory, Executor: execute.New(…), Agreements: agree.New(…), …})
//	http.Serve(ln, server.Handler())
//	err = directory.Replace(ctx, next) // a reload: all or nothing
package gateway

import (
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/telemetry"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/payments"
)

// A Config configures a Server.
type Config struct {
	Directory  *service.Directory
	Executor   *execute.Executor
	Agreements *agree.Service
	Keys       *keys.Keyring
	Ledger     Ledger
	Receipts   Receipts
	Cashier    *payments.Cashier // nil: no x402 payments
	Logs       Logs              // nil: none
	// LogKey returns the verifier key of the log of a service, or "" if there is no log. nil: no logs.
	LogKey func(d *service.Definition) string
	// Publish returns who can read the logs. If it is nil, the gateway does not publish logs.
	Publish func() config.Publish
	// Alterations records which entries were found altered. nil: nothing is recorded.
	Alterations Alterations
	Metrics     *record.Metrics
	Traces      *telemetry.Traces // nil: no spans are exported
	Index       *record.Index     // nil: requests that are not calls are not indexed
	Log         *zap.Logger
	Now         func() time.Time
	// PerAddress limits the request rate of each client address. It is checked before any other work, such as finding the service or
	// verifying a token.
	PerAddress limit.Rate
	// Memory bounds the memory of all requests together.
	Memory *membudget.Budget
	// Doors serve other protocols. The first one that has a route for a request handles it.
	Doors []door.Door
}

// New returns a Server.
func New(c Config) *Server {
	s := &Server{
		Config: c, pipeline: door.NewPipeline(c.Executor, c.Agreements), addresses: ratelimit.NewSet(c.PerAddress), zippers: newZippers(),
	}
	if s.LogKey == nil {
		s.LogKey = func(*service.Definition) string { return "" }
	}
	if s.Alterations == nil {
		s.Alterations = noAlterations{}
	}
	if s.Publish == nil || s.Logs == nil {
		s.Publish = func() config.Publish { return config.PublishOff }
	}
	s.handler = s.build()
	return s
}

// SetPerAddress changes Config.PerAddress.
func (s *Server) SetPerAddress(r limit.Rate) { s.addresses.SetRate(r) }
