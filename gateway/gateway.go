// Package gateway answers agents over HTTP: it reads a request, calls what it is for, and renders the answer. It holds no
// rule of its own: those of a call are package execute's, those of an agreement package agree's, those of a service package
// service's.
//
//	loaded, problems := service.Load(ctx, cfg, time.Now)
//	directory, err := service.Open(ctx, service.State{…}, loaded)
//	server := gateway.New(gateway.Config{Directory: directory, Executor: execute.New(…), Agreements: agree.New(…), …})
//	http.Serve(ln, server.Handler())
//	err = directory.Replace(ctx, next) // a reload: whole or not at all
package gateway

import (
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Config is what a Server is built on.
type Config struct {
	Directory  *service.Directory
	Executor   *execute.Executor
	Agreements *agree.Service
	Keys       *keys.Keyring
	Metrics    *record.Metrics
	Log        *zap.Logger
	Now        func() time.Time
	// PerAddress bounds the requests of one address, before anything costs: before hosts, tokens and cryptography.
	PerAddress limit.Rate
	// Memory is what all requests together may hold.
	Memory *membudget.Budget
	// Doors are further protocols; the first whose path it is answers a request.
	Doors []door.Door
}

// New builds a Server.
func New(c Config) *Server {
	s := &Server{
		directory: c.Directory, executor: c.Executor, agreements: c.Agreements, pipeline: door.NewPipeline(c.Executor, c.Agreements),
		keys: c.Keys, log: c.Log, now: c.Now, metrics: c.Metrics,
		addresses: ratelimit.NewSet(c.PerAddress), memory: c.Memory, floods: &floods{},
		zippers: newZippers(), doors: c.Doors,
	}
	s.handler = s.build()
	return s
}

// SetPerAddress changes Config.PerAddress.
func (s *Server) SetPerAddress(r limit.Rate) { s.addresses.SetRate(r) }
