package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"path/filepath"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/relayhost"
)

// relayBlobs is the directory of blobs within the data directory, where the configuration names none.
const relayBlobs = "mrp-blobs"

// listenRelay binds the address of the relay, where its block stands in the configuration.
func (p *process) listenRelay(ctx context.Context) (net.Listener, error) {
	if !p.config.MRPRelay.Enabled {
		return nil, nil
	}
	ln, err := listen(ctx, p.config.MRPRelay.Listen)
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, closed(ln))
	p.addresses.MRPRelay = origin(ln, p.config.Server.TLS.Enabled())
	return ln, nil
}

// openRelay makes the relay of this process.
func (p *process) openRelay() (err error) {
	if p.relayAt == nil {
		return nil
	}
	o := relayhost.Options{
		Listener: p.relayAt, State: p.store, Settings: p.config.MRPRelay, Shared: p.config.Store.Engine == config.Postgres,
		Blobs:   cmp.Or(p.config.MRPRelay.BlobsDir, filepath.Join(p.config.Data, relayBlobs)),
		Proxies: p.config.Server.TrustedProxies, Drain: p.config.Server.DrainTimeout, Version: p.Version, Log: p.Log,
		Metrics: p.metrics.Registry(),
	}
	if p.config.Server.TLS.Enabled() {
		o.Certificate = func() *tls.Certificate { return p.live.Load().certificate }
	}
	p.relay, err = relayhost.New(o)
	return err
}

// mrpRelay is the relay of this process; nil: there is none.
func (p *process) mrpRelay() *relay.Relay {
	if p.relay == nil {
		return nil
	}
	return p.relay.Relay()
}
