// Package gateway is the way through: it answers agents over HTTP, carries each call through the execute
// pipeline (authenticate, resolve, validate, prove, decide, begin, call, shape, settle), and shows the
// operator what it does. It is the only package that knows Echo.
//
//	loaded, problems := gateway.Load(ctx, cfg, time.Now)
//	server, err := gateway.New(ctx, gateway.Deps{…}, loaded)
//	http.Serve(ln, server.Handler())
//	err = server.Take(ctx, next) // a reload: whole or not at all
//
// Rules live in Executor, whatever way a call comes in; what agents are told of failures lives in one
// table, reasons.go.
package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Deps are what a Server is built on.
type Deps struct {
	Agreements pat.Store
	Executions store.Executions
	Operations store.Operations
	Keys       *pat.Keyring
	View       *pat.View
	Audit      *Audit
	Log        *zap.Logger
	Now        func() time.Time
	Metrics    *Metrics
}

// New builds a Server that serves what was loaded.
func New(ctx context.Context, d Deps, l *Loaded) (*Server, error) {
	s := &Server{
		deps: d, log: d.Log, now: d.Now, metrics: d.Metrics,
		doors: newDoors(l.config.Server.PerAddress, l.config.Server.IssuePerAddress),
	}
	s.executor = &Executor{
		store: d.Executions, agents: d.Agreements, view: d.View, keys: newAgreedKeys(d.Agreements), now: d.Now,
		audit: d.Audit, metrics: d.Metrics, trouble: newTroublemakers(s.block),
	}
	if err := s.Take(ctx, l); err != nil {
		return nil, err
	}
	s.handler = s.build()
	return s, nil
}

// Take serves another configuration from the next request on, or, with an error, goes on as before. What
// listeners, addresses and the store are configured to be stays as it was at the start.
func (s *Server) Take(ctx context.Context, l *Loaded) error {
	next, err := s.snapshot(ctx, l)
	if err != nil {
		return err
	}
	old := s.current.Swap(next)
	if old != nil {
		for _, service := range old.ordered { // calls under way end by themselves
			service.Upstream.Close()
		}
	}
	s.metrics.taken(s.now())
	return nil
}

// Executor is the pipeline that every way in goes through.
func (s *Server) Executor() *Executor { return s.executor }

// Service finds a service by its id; nil where there is none.
func (s *Server) Service(id string) *Service { return s.current.Load().byID[id] }

// block stops an agent until the operator lets it in again.
func (s *Server) block(ctx context.Context, serviceID, agentID, reason string) error {
	service := s.Service(serviceID)
	if service == nil {
		return errors.New("the service is gone")
	}
	return service.Issuance.Revoke(ctx, pat.RevokedAgent, agentID, reason)
}

// agentsPage is agents.json with the public key of now.
func (s *Server) agentsPage(service *Service) (page, error) {
	key := s.deps.Keys.PublicKey(s.now())
	if made := service.published.Load(); made != nil && made.key == key {
		return made.page, nil
	}
	body, err := service.Catalog.Published(service.fill(key))
	if err != nil {
		return page{}, err
	}
	p := page{body: body, mediaType: "application/json", etag: etagOf(body)}
	service.published.Store(&publishedAgents{key, p})
	return p, nil
}

type publishedAgents struct {
	key  string
	page page
}

func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}
