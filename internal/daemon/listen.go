package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"syscall"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/connlimit"
)

func (p *process) listen(ctx context.Context) (err error) {
	if p.public, err = p.listenOn(ctx, p.config.Server.Listen); err != nil {
		return err
	}
	p.bounded = connlimit.New(p.public, p.bounds())
	p.public = p.bounded
	p.closers = append(p.closers, closed(p.public))
	if p.admin, err = p.listenOn(ctx, p.config.Admin.Listen); err != nil {
		return err
	}
	p.closers = append(p.closers, closed(p.admin))
	p.addresses = Addresses{
		Listen: origin(p.public, p.config.Server.TLS.Enabled()), Admin: origin(p.admin, p.config.Server.TLS.Enabled()),
	}
	address := p.config.Telemetry.Listen
	if address == "" {
		return nil
	}
	if p.probes, err = p.listenOn(ctx, address); err != nil {
		return err
	}
	p.closers = append(p.closers, closed(p.probes))
	p.addresses.Telemetry = origin(p.probes, false)
	return nil
}

// listenBeside opens a listener for a module, and returns it with its URL. The process closes the listener when it ends.
func (p *process) listenBeside(ctx context.Context, address string) (net.Listener, string, error) {
	ln, err := p.listenOn(ctx, address)
	if err != nil {
		return nil, "", err
	}
	p.closers = append(p.closers, closed(ln))
	return ln, origin(ln, p.config.Server.TLS.Enabled()), nil
}

// listenOn returns the socket of the service manager with this address or, if there is none, opens a listener.
func (p *process) listenOn(ctx context.Context, address string) (net.Listener, error) {
	for i, ln := range p.Sockets {
		if sameAddress(ln.Addr(), address) {
			p.Sockets = slices.Delete(slices.Clone(p.Sockets), i, i+1)
			return ln, nil
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, listenError(address, err)
	}
	return ln, nil
}

// sameAddress reports whether a listener with an address accepts the same connections as one that is opened with host:port. An address with
// port 0 is never the same, because the port is not chosen yet.
func sameAddress(have net.Addr, address string) bool {
	tcp, ok := have.(*net.TCPAddr)
	want, err := net.ResolveTCPAddr("tcp", address)
	if !ok || err != nil || tcp.Port != want.Port {
		return false
	}
	unspecified := func(ip net.IP) bool { return len(ip) == 0 || ip.IsUnspecified() }
	return tcp.IP.Equal(want.IP) || unspecified(tcp.IP) && unspecified(want.IP)
}

// closeSockets closes the sockets of the service manager that no listener has taken.
func (p *process) closeSockets() {
	for _, ln := range p.Sockets {
		p.Log.Warn("the service manager passed a socket that no listener of the configuration uses", zap.Stringer("address", ln.Addr()))
		_ = ln.Close()
	}
	p.Sockets = nil
}

func listenError(address string, err error) error {
	hint := ""
	if errors.Is(err, syscall.EACCES) {
		hint = ": ports below 1024 require CAP_NET_BIND_SERVICE (systemd: AmbientCapabilities); grant it, or use another port"
	}
	return fmt.Errorf("listening on %s: %w%s", address, err, hint)
}

// closed returns a function that closes a listener, which a server may already have closed.
func closed(ln net.Listener) func() error {
	return func() error {
		if err := ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

func origin(ln net.Listener, secure bool) string {
	u := url.URL{Scheme: "http", Host: ln.Addr().String()}
	if secure {
		u.Scheme = "https"
	}
	return u.String()
}
