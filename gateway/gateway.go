// Package gateway serves agents over HTTP: it reads a request, calls the package that handles it, and renders the result. It holds no
// rules of its own: package execute has those of a call, package agree those of an agreement, and package service those of a service.
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
)

// A Config configures a Server.
type Config struct {
	Directory  *service.Directory
	Executor   *execute.Executor
	Agreements *agree.Service
	Keys       *keys.Keyring
	Metrics    *record.Metrics
	Traces     *telemetry.Traces // nil: none are exported
	Log        *zap.Logger
	Now        func() time.Time
	// PerAddress bounds the requests of one address, before any other work: before hosts, tokens and cryptography.
	PerAddress limit.Rate
	// Memory bounds what all requests together may hold.
	Memory *membudget.Budget
	// Doors are further protocols; the first one with the path of a request handles it.
	Doors []door.Door
}

// New builds a Server.
func New(c Config) *Server {
	s := &Server{
		directory: c.Directory, executor: c.Executor, agreements: c.Agreements, pipeline: door.NewPipeline(c.Executor, c.Agreements),
		keys: c.Keys, log: c.Log, now: c.Now, metrics: c.Metrics, traces: c.Traces,
		addresses: ratelimit.NewSet(c.PerAddress), memory: c.Memory, floods: &floods{},
		zippers: newZippers(), doors: c.Doors,
	}
	s.handler = s.build()
	return s
}

// SetPerAddress changes Config.PerAddress.
func (s *Server) SetPerAddress(r limit.Rate) { s.addresses.SetRate(r) }
