package daemon

import (
	"net"
	"net/netip"
	"net/url"

	"github.com/uimgate/uimgate/gateway/admin"
)

// dump returns the configuration in use as YAML, with secrets masked.
func (p *process) dump() []byte {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	return p.config.Dump().YAML()
}

// consoleURL returns the URL of the console at the admin listener: with the first of admin.hosts if the listener serves TLS, because the
// certificate has names, and otherwise with the address of the listener.
func (p *process) consoleURL() string {
	u, err := url.Parse(p.addresses.Admin)
	if err != nil {
		return ""
	}
	host, port, _ := net.SplitHostPort(u.Host)
	if a, err := netip.ParseAddr(host); err == nil && a.IsUnspecified() {
		host = "127.0.0.1"
	}
	if hosts := p.directory.Current().AdminHosts; u.Scheme == "https" && len(hosts) > 0 {
		host = hosts[0]
	}
	u.Host = net.JoinHostPort(host, port)
	return u.String() + admin.ConsolePath
}
