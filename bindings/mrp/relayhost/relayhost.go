// Package relayhost runs a relay of the Machine Relay Protocol on a listener, next to a gateway or as a separate process. The relay stores
// its state in a database of package sqlstore.
//
//	h, err := relayhost.New(relayhost.Options{Listener: ln, State: state, Settings: settings, Log: log})
//	err = h.Run(ctx)
package relayhost

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/store/sqlmail"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Limits of connections, of memory and of idle agents.
const (
	idleTime   = 2 * time.Minute
	maxHeaders = 16 << 10 // bytes
	// idleAgents is the time without a request after which an agent without data is deleted: anyone can create any number of agents.
	idleAgents = 7 * 24 * time.Hour
	// bodiesPart determines the memory for all bodies together: the memory that the process may use, divided by bodiesPart.
	bodiesPart = 4
)

// bounds are the limits that tests lower.
type bounds struct {
	header     time.Duration // to read the headers of a request
	all        int           // concurrent connections
	perAddress int           // concurrent connections of one address
}

// usual are the default bounds.
var usual = bounds{header: 10 * time.Second, all: 20_000, perAddress: 1024}

// Options are the options of New.
type Options struct {
	// Listener is the bound listener for agents. Required.
	Listener net.Listener
	// Certificate returns the certificate for https. If it is nil, the relay serves http.
	Certificate func() *tls.Certificate
	// State holds the relay's records. Required.
	State *sqlstore.Store
	// Blobs is the directory for the content of blobs. Required.
	Blobs string
	// Settings are the settings of the relay. BlobsDir, Listen and PublicURL are ignored.
	Settings Settings
	// Shared means that other processes use the same state.
	Shared bool
	// Proxies are the networks of proxies whose X-Forwarded-For header is trusted.
	Proxies []netip.Prefix
	// Drain is how long Run waits for requests in progress after its context has ended.
	Drain   time.Duration
	Version string
	Log     *zap.Logger // required
	Metrics prometheus.Registerer

	bounds bounds // zero: usual
}

// A Host is a relay and its server.
type Host struct {
	options  Options
	relay    *relay.Relay
	server   *http.Server
	listener net.Listener
	url      string
}

// New creates a relay, which Run serves.
func New(o Options) (*Host, error) {
	s, bounds := o.Settings, cmp.Or(o.bounds, usual)
	limits := relay.DefaultLimits()
	limits.Sends, limits.Polls, limits.Others = s.Sends, s.Polls, s.Others
	limits.AllBlobs, limits.Waiting, limits.Messages, limits.Bytes = s.Blobs, int64(s.Waiting), int64(s.Messages), s.Bytes
	limits.Newcomers = limit.Rate{Max: int64(s.Newcomers), Period: "hour"}
	clients := clients(o.Proxies)
	r, err := relay.New(relay.Options{
		Store: sqlmail.New(o.State, sqlmail.Options{MaxAgents: int64(s.Agents), Idle: idleAgents}), Blobs: o.Blobs, Now: o.State.Now,
		Limits: limits, Shared: o.Shared,
		PrivateWebhooks: s.PrivateWebhooks, Client: clients.of, Budget: membudget.NewBudget(membudget.Limit()/bodiesPart, func() {}),
		Version: o.Version, Log: o.Log, Metrics: o.Metrics,
	})
	if err != nil {
		return nil, fmt.Errorf("the relay: %w", err)
	}
	h := &Host{options: o, relay: r, server: &http.Server{
		Handler: r, ReadHeaderTimeout: bounds.header, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaders, ConnContext: connlimit.Context,
		ConnState: connlimit.State,
		ErrorLog:  zap.NewStdLog(o.Log.WithOptions(zap.IncreaseLevel(zap.ErrorLevel))),
	}}
	h.listener = connlimit.New(o.Listener, connlimit.Bounds{
		All: bounds.all, PerAddress: bounds.perAddress, Exempt: clients.trusts, Shed: func(connlimit.Cause) {},
		Trouble: func(err error) { o.Log.Warn("no connection can be accepted for now", zap.Error(err)) },
	})
	if o.Certificate != nil {
		h.server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return o.Certificate(), nil
		}}
	}
	return h, nil
}

// Relay returns the relay, for agents in this process.
func (h *Host) Relay() *relay.Relay { return h.relay }

// Run serves until ctx ends, and then waits for requests in progress, at most for Options.Drain. It returns an error if the listener fails.
func (h *Host) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() {
		if h.server.TLSConfig != nil {
			failed <- h.server.ServeTLS(h.listener, "", "")
			return
		}
		failed <- h.server.Serve(h.listener)
	}()
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { h.relay.Run(life) })
	defer running.Wait()
	select {
	case err := <-failed:
		stop()
		return fmt.Errorf("the relay on %s: %w", h.listener.Addr(), err)
	case <-ctx.Done():
	}
	stop() // immediately ends waiting polls and WebSockets
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.options.Drain)
	defer cancel()
	err := h.server.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		h.options.Log.Warn("requests to the relay were still in progress when the drain timeout ended")
		err = h.server.Close()
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
