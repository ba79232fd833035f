package daemon

import (
	"net"
	"net/netip"
	"net/url"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/internal/oidc"
)

// dump returns the configuration in use as YAML, with masked secrets. It does not wait for a reload.
func (p *process) dump() []byte { return p.applied.Load().Dump().YAML() }

// consoleURL returns the URL of the console at the admin listener. If the listener serves TLS, the URL contains the first of admin.hosts,
// because certificates are for names. Otherwise it contains the address of the listener.
func (p *process) consoleURL() string {
	return p.consoleOf(p.directory.Current().AdminHosts).String()
}

// consoleOf returns what consoleURL returns under a configuration with these admin.hosts.
func (p *process) consoleOf(hosts []string) *url.URL {
	u, err := url.Parse(p.addresses.Admin)
	if err != nil {
		return &url.URL{Path: admin.ConsolePath} // the address of a listener is a URL
	}
	host, port, _ := net.SplitHostPort(u.Host)
	if a, err := netip.ParseAddr(host); err == nil && a.IsUnspecified() {
		host = "127.0.0.1"
	}
	if u.Scheme == "https" && len(hosts) > 0 {
		host = hosts[0]
	}
	u.Host, u.Path = net.JoinHostPort(host, port), admin.ConsolePath
	return u
}

// providerOf returns the identity provider of a configuration, or nil if it has none. A provider that remains the same keeps what it has
// fetched.
func (p *process) providerOf(c *config.Config) *oidc.Provider {
	if c.Admin.OIDC.Issuer == "" {
		return nil
	}
	redirect := p.consoleOf(c.Admin.Hosts)
	redirect.Path = config.OIDCPath
	next := oidc.New(c.Admin.OIDC.Options(redirect, p.Now))
	was := p.live.Load()
	if was != nil && was.oidc != nil && was.oidc.Same(next) {
		next.Close()
		return was.oidc
	}
	return next
}
