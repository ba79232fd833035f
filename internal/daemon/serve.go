package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/console"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/oidc"
)

func (p *process) serve(ctx context.Context) error {
	public := p.httpServer(p.server.Handler())
	tokens := signin.NewTokenCheck(func() string { return p.live.Load().token.Reveal() }, p.Now)
	pages := console.New(console.Config{ //nolint:contextcheck // pages have the contexts of their requests
		Operator: p.operator, Directory: p.directory, Store: p.store, Tokens: tokens, Dump: p.dump,
		OIDC: func() *oidc.Provider { return p.live.Load().oidc }, Shed: p.metrics.Shed, Log: p.Log, Now: p.Now,
	})
	//nolint:contextcheck // each request has its own context
	operator := p.httpServer(admin.Handler(p.operator, admin.Listener{
		Tokens: tokens, Console: pages, Metrics: p.metrics.Registry(), Shed: p.metrics.Shed,
	}))
	operator.RegisterOnShutdown(pages.Shutdown)
	group, ctx := errgroup.WithContext(ctx)
	// Background work that calls depend on continues until the last call in progress has its response.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group.Go(func() error {
		defer stop()
		err := p.serveHTTP(ctx, public, p.public)
		p.drainDoors(ctx)
		p.drainEnds(ctx)
		p.endServices(ctx)
		return err
	})
	if p.plain != nil {
		plain := p.plainServer()
		group.Go(func() error { return p.serveHTTP(ctx, plain, p.plain) })
	}
	group.Go(func() error { return p.executor.Run(life) })
	group.Go(func() error { return p.cashier.Run(life) })
	for _, runner := range door.Of[door.Runner](p.modules) {
		group.Go(func() error { return runner.Run(life) })
	}
	group.Go(func() error { return p.serveHTTP(life, operator, p.admin) })
	if p.probes != nil {
		probes := p.httpServer(admin.Probes(p.operator, admin.Listener{Metrics: p.metrics.Registry(), Shed: p.metrics.Shed}))
		probes.TLSConfig = nil
		group.Go(func() error { return p.serveHTTP(life, probes, p.probes) })
	}
	if p.owner != nil {
		//nolint:contextcheck // each request has its own context
		own := p.httpServer(admin.Handler(p.operator, admin.Listener{Owned: true, Console: pages, Metrics: p.metrics.Registry()}))
		own.TLSConfig = nil
		own.RegisterOnShutdown(pages.Shutdown)
		group.Go(func() error { return p.serveHTTP(life, own, p.owner) })
	}
	group.Go(func() error {
		reads := outage{log: p.Log, now: p.Now, failed: "revocations could not be read", ended: "revocations can be read again"}
		return p.view.Run(life, reads.note)
	})
	group.Go(func() error {
		return p.keys.Run(life, func(err error) { p.Log.Error("a retired signing key could not be replaced", zap.Error(err)) })
	})
	group.Go(func() error { return p.audit.Run(life) })
	group.Go(func() error { return p.index.Run(life) })
	group.Go(func() error { return p.replica.Run(life) })
	if p.export != nil {
		group.Go(func() error { return p.export.Run(life) })
	}
	found := make(chan struct{}, 1)
	group.Go(func() error { return p.sweep(life, found) })
	group.Go(func() error { return p.reconcile(life, found) })
	group.Go(func() error { return p.checkTools(ctx) })
	group.Go(func() error { return p.purge(life) })
	group.Go(func() error { return p.noteUses(life) })
	group.Go(func() error { return p.verify(life) })
	if p.logs != nil {
		group.Go(func() error { return p.logs.sequencer.Run(life) })
	}
	group.Go(func() error { return p.giveBack(life) })
	group.Go(func() error { return p.notices.Run(life) })
	group.Go(func() error {
		return p.leases.Run(life, func(err error) { p.Log.Warn("leases could not be returned", zap.Error(err)) })
	})
	group.Go(func() error { return p.reloads(ctx) })
	group.Go(func() error { p.noteStart(life); return nil })
	p.Log.Info("serving", zap.String("listen", p.addresses.Listen), zap.String("admin", p.addresses.Admin))
	if p.Ready != nil {
		p.addressModules()
		p.Ready(p.addresses)
	}
	p.enter(Serving)
	<-ctx.Done()
	p.enter(Stopping)
	return group.Wait()
}

func (p *process) httpServer(h http.Handler) *http.Server {
	c := p.config.Server
	return &http.Server{
		Handler: p.withDeadline(h), TLSConfig: p.tlsConfig(), ReadHeaderTimeout: c.ReadTimeout, ReadTimeout: c.ReadTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ConnContext: connlimit.Context, ConnState: connlimit.State,
		ErrorLog: zap.NewStdLog(p.Log.WithOptions(zap.IncreaseLevel(zap.ErrorLevel))),
	}
}

// serveHTTP serves until ctx is done, then waits for calls in progress, but not longer than the drain timeout.
func (p *process) serveHTTP(ctx context.Context, s *http.Server, ln net.Listener) error {
	failed := make(chan error, 1)
	go func() {
		if s.TLSConfig != nil {
			failed <- s.ServeTLS(ln, "", "")
			return
		}
		failed <- s.Serve(ln)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	p.operator.Statuses.Drain()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.live.Load().drain)
	defer cancel()
	err := s.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		if ln == p.public {
			p.left.calls.Store(int64(p.underWay()))
		}
		p.Log.Warn("the drain timeout ended while calls were in progress: their connections are closed")
		err = s.Close()
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
