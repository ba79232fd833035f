// Package online checks the dependencies of a configuration outside of this machine. It looks up the names of the services in DNS, and
// checks that their ports accept connections, and that the upstreams, the CA and the collectors can be reached. Apart from opening
// connections, it sends only three requests: one for the directory of the CA, one for the payments that the facilitator supports, and one
// for the metadata of the identity provider.
package online

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/oidc"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/payments/x402"
)

// A Finding is the result of one check.
type Finding struct {
	Path string // the path of the setting, such as services[0].public_url
	OK   bool
	Text string
}

// Problem returns the finding as a warning about the configuration. It is not an error, because another machine may reach a server that
// this one does not reach.
func (f Finding) Problem(c *config.Config) config.Problem {
	return c.Problemf(problem.Warning, f.Path, "%s", f.Text)
}

// within is the time limit of one check. atOnce is the maximum number of checks in progress.
const (
	within = 5 * time.Second
	atOnce = 16
)

// Check makes all checks, and returns their findings in the order of the configuration. Each check takes at most five seconds, and at most
// sixteen checks run at the same time. A nil resolver means Go's default.
func Check(ctx context.Context, c *config.Config, resolver *net.Resolver) []Finding {
	checks := checksOf(c, resolver)
	found := make([]Finding, len(checks))
	var all sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i, check := range checks {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, within)
			defer cancel()
			text, err := check.run(ctx)
			if err != nil {
				text = err.Error()
			}
			found[i] = Finding{check.path, err == nil, text}
		})
	}
	all.Wait()
	return found
}

// A check returns a description of the success, or an error.
type check struct {
	path string
	run  func(context.Context) (string, error)
}

func checksOf(c *config.Config, resolver *net.Resolver) (list []check) {
	dialer := &net.Dialer{Resolver: resolver}
	add := func(path string, run func(context.Context) (string, error)) { list = append(list, check{path, run}) }
	for i := range c.Services {
		at := "services[" + strconv.Itoa(i) + "]"
		s := &c.Services[i]
		for path, host := range hosts(at, s) {
			add(path, func(ctx context.Context) (string, error) { return resolve(ctx, resolver, host) })
			for _, port := range ports(c, path, s) {
				add(path, func(ctx context.Context) (string, error) { return accepts(ctx, dialer, net.JoinHostPort(host, port)) })
			}
		}
		if program := s.Upstream.MCP.Command; program != "" {
			add(at+".upstream.mcp.command", func(context.Context) (string, error) { return installed(program) })
			continue
		}
		add(at+".upstream.url", func(ctx context.Context) (string, error) { return reaches(ctx, dialer, s.Upstream.URL) })
	}
	if a := c.Server.TLS.ACME; a.Agree {
		add("server.tls.acme", func(ctx context.Context) (string, error) { return directory(ctx, resolver, a) })
	}
	server := func(path string, u *url.URL) {
		if u != nil {
			add(path, func(ctx context.Context) (string, error) { return reaches(ctx, dialer, u) })
		}
	}
	server("audit.export.http.url", c.Audit.Export.HTTP.URL)
	server("audit.export.otlp.endpoint", c.Audit.Export.OTLP.Endpoint)
	if address := c.Audit.Export.Syslog.Address; address != "" {
		add("audit.export.syslog.address", func(ctx context.Context) (string, error) { return connects(ctx, dialer, address) })
	}
	server("telemetry.otlp.endpoint", c.Telemetry.OTLP.Endpoint)
	for i := range c.Notify {
		server("notify["+strconv.Itoa(i)+"].url", c.Notify[i].URL)
	}
	if o := &c.Admin.OIDC; o.Issuer != "" {
		add("admin.oidc.issuer", func(ctx context.Context) (string, error) { return publishes(ctx, o) })
	}
	if x := &c.Payments.X402; x.Facilitator != nil {
		add("payments.x402.facilitator", func(ctx context.Context) (string, error) { return supports(ctx, x) })
	}
	return list
}

// publishes fetches the metadata of an identity provider.
func publishes(ctx context.Context, o *config.OIDC) (string, error) {
	p := oidc.New(o.Options(&url.URL{}, time.Now)) //nolint:forbidigo // the command has the clock of the machine
	defer p.Close()
	if err := p.Discover(ctx); err != nil {
		return "", err
	}
	return "the identity provider at " + p.Host() + " publishes its metadata; sign in to check that it knows the client and its redirect URL", nil
}

// supports checks that a facilitator settles payments on the networks of all tokens that are accepted.
func supports(ctx context.Context, x *config.X402) (string, error) {
	f := x402.NewFacilitator(x.Options())
	defer f.Close()
	kinds, err := f.Supported(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: check its URL, and payments.x402.auth: %w", f, err)
	}
	for _, a := range x.Accepts {
		if !slices.Contains(kinds, x402.Kind{Scheme: x402.SchemeExact, Network: a.Network}) {
			return "", fmt.Errorf("%s settles no payments of the scheme exact on %s: remove the token from payments.x402.accepts", f, a.Network)
		}
	}
	return f.String() + " settles payments on the networks of all tokens", nil
}

// hosts yields the names of a service, each once, with the path of the setting. It leaves out the names of the machine itself.
func hosts(at string, s *config.Service) func(func(path, host string) bool) {
	return func(yield func(path, host string) bool) {
		seen := map[string]bool{}
		for i, host := range append([]string{s.PublicURL.Hostname()}, s.Hosts...) {
			path := at + ".public_url"
			if i > 0 {
				path = at + ".hosts[" + strconv.Itoa(i-1) + "]"
			}
			if !seen[host] && !fetch.LoopbackHost(host) && !yield(path, host) {
				return
			}
			seen[host] = true
		}
	}
}

// ports returns the ports that must accept connections to a name: that of the public URL, and those of the CA's challenges.
func ports(c *config.Config, path string, s *config.Service) (list []string) {
	if strings.HasSuffix(path, ".public_url") {
		list = append(list, portOf(s.PublicURL))
	}
	if a := c.Server.TLS.ACME; a.Agree && a.Solver() == nil {
		list = append(list, "443")
		if c.Server.HTTPListen() != "" {
			list = append(list, "80")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	default:
		return "443"
	}
}

// resolve looks up a name, and compares its addresses with those of this machine.
func resolve(ctx context.Context, resolver *net.Resolver, host string) (string, error) {
	addresses, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addresses) == 0 {
		return "", fmt.Errorf("%s has no address in DNS: create an A or AAAA record for it (%w)", host, reason(err))
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		is := func(o net.Addr) bool {
			p, err := netip.ParsePrefix(o.String())
			return err == nil && p.Addr().Unmap() == a.Unmap()
		}
		if slices.ContainsFunc(own, is) {
			return fmt.Sprintf("%s resolves to %s, an address of this machine", host, a.Unmap()), nil
		}
	}
	return fmt.Sprintf("%s resolves to %s, which is not an address of this machine: a proxy, load balancer or NAT must forward to it",
		host, addresses[0].Unmap()), nil
}

// accepts connects to a port at which agents or the CA connect.
func accepts(ctx context.Context, dialer *net.Dialer, address string) (string, error) {
	if _, err := connects(ctx, dialer, address); err != nil {
		return "", fmt.Errorf("%w; if the gateway is running, open the port in every firewall", err)
	}
	return address + " accepts connections from this machine; check from another network as well", nil
}

// reaches connects to the server of a URL.
func reaches(ctx context.Context, dialer *net.Dialer, u *url.URL) (string, error) {
	return connects(ctx, dialer, net.JoinHostPort(u.Hostname(), portOf(u)))
}

func connects(ctx context.Context, dialer *net.Dialer, address string) (string, error) {
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("%s does not accept connections: %w", address, reason(err))
	}
	_ = conn.Close()
	return address + " accepts connections", nil
}

// installed checks that a program exists. It does not start the program.
func installed(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s is not a program that the gateway can start: %w", program, err)
	}
	return path + " exists", nil
}

// maxDirectory limits the size of the directory of a CA, in bytes.
const maxDirectory = 64 << 10

// directory fetches the directory of the CA (RFC 8555 section 7.1.1).
func directory(ctx context.Context, resolver *net.Resolver, a config.ACME) (string, error) {
	o := fetch.Options{AllowInsecure: true, Timeout: within, UserAgent: "uimgate", Resolver: resolver}
	if pool := a.RootPool(); pool != nil {
		o.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	c := fetch.New(o)
	defer c.Close()
	answer, err := c.Get(ctx, a.DirectoryURL(), fetch.Document{Max: maxDirectory})
	if err == nil && (answer.Status != http.StatusOK || !strings.Contains(string(answer.Body), `"newOrder"`)) {
		err = fmt.Errorf("it answered with status %d, and not with a directory", answer.Status)
	}
	if err != nil {
		return "", fmt.Errorf("the CA at %s cannot be used: %w", a.DirectoryURL(), reason(err))
	}
	return "the CA at " + a.DirectoryURL() + " answers", nil
}

// reason returns the cause of a network error without the address, which the message already contains.
func reason(err error) error {
	if err == nil {
		return errors.New("no address")
	}
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return fmt.Errorf("no answer within %s", within)
	}
	return wire.Loggable(err)
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
