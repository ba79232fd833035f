// Package acme obtains the certificates of a gateway from a certificate authority through ACME (RFC 8555), and renews them. It answers the
// challenges HTTP-01 (RFC 8555 §8.3) and TLS-ALPN-01 (RFC 8737) on the listeners of the gateway, or writes DNS-01 records (RFC 8555 §8.4)
// with DNS updates. certmagic does most of the work; this package provides the names, the storage and the listeners.
//
// Processes that share the storage share the certificates and the ACME account: one process orders a certificate, and any of them can
// answer the challenges.
package acme

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/acme/dns01"
)

// Options configure New.
type Options struct {
	// Directory is the URL of the CA's directory. Required.
	Directory string
	// Email is the address to which the CA may send notices. Empty means none.
	Email string
	// Roots are the CAs that are trusted for the TLS certificate of the directory. nil means the CAs of the system.
	Roots *x509.CertPool
	// AccountID and AccountKey bind the ACME account to an existing account at the CA: they are the key id and the base64url MAC key of RFC
	// 8555 §7.3.4. Empty means that the account is not bound.
	AccountID, AccountKey string
	// DNS writes DNS-01 records. If it is nil, HTTP-01 and TLS-ALPN-01 are used.
	DNS *dns01.Solver
	// HTTP is the address of the listener that serves Challenges, and HTTPS that of the listener with TLS. If one is nil, the challenge that
	// needs it is not used.
	HTTP, HTTPS net.Addr
	// Storage stores accounts, keys, certificates and challenges. Required.
	Storage certmagic.Storage
	Log     *zap.Logger
	// Now is the clock. Required.
	Now func() time.Time
	// Ordered is called after each order; obtained is true if the CA issued a certificate. It may be nil.
	Ordered func(obtained bool)
	// LookEvery is the interval at which certificates are checked for renewal. 0 means ten minutes.
	LookEvery time.Duration // the default is that of certmagic
}

// A Manager obtains, renews and serves the certificates of a gateway. It is safe for concurrent use.
type Manager struct {
	cache  *certmagic.Cache
	magic  *certmagic.Config
	issuer *certmagic.ACMEIssuer
	first  string
	names  atomic.Pointer[[]string]
	orders *orders
	log    *zap.Logger
	again  time.Duration   // pause after an attempt that failed before any request to the CA
	ctx    context.Context //nolint:containedctx // for the orders, which Manage starts and Close cancels
	cancel context.CancelFunc

	mu      sync.Mutex
	keeping map[string]context.CancelFunc // by name: cancel functions that end keep
	done    sync.WaitGroup                // the goroutine that runs keep
}

// New returns a Manager that has no names yet: see Manage. A TLS client that sends no server name, or an unknown one, gets the certificate
// of the name in the parameter first. The caller must call Close once.
func New(first string, o Options) *Manager {
	log := o.Log.Named("acme")
	m := &Manager{
		first: first, log: log, again: min(cmp.Or(o.LookEvery, longestAgain), longestAgain), keeping: map[string]context.CancelFunc{},
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.orders = &orders{storage: o.Storage, now: o.Now, log: log, has: m.has, ordered: o.Ordered, failed: map[string]cause{}}
	m.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert:   func(certmagic.Certificate) (*certmagic.Config, error) { return m.magic, nil },
		RenewCheckInterval: o.LookEvery, Logger: log,
	})
	m.magic = certmagic.New(m.cache, certmagic.Config{
		Storage: o.Storage, DefaultServerName: first, FallbackServerName: first, Logger: log, OnEvent: m.orders.event,
	})
	issuer := certmagic.ACMEIssuer{
		CA: o.Directory, Email: o.Email, Agreed: true, TrustedRoots: o.Roots, Logger: m.orders.watch(log),
		DisableHTTPChallenge: o.HTTP == nil, DisableTLSALPNChallenge: o.HTTPS == nil,
	}
	issuer.ListenHost, issuer.AltHTTPPort = hostPort(o.HTTP)
	if o.HTTPS != nil {
		issuer.ListenHost, issuer.AltTLSALPNPort = hostPort(o.HTTPS)
	}
	if o.AccountID != "" {
		issuer.ExternalAccount = &acme.EAB{KeyID: o.AccountID, MACKey: o.AccountKey}
	}
	if o.DNS != nil {
		issuer.DNS01Solver = o.DNS
	}
	m.issuer = certmagic.NewACMEIssuer(m.magic, issuer)
	m.magic.Issuers = []certmagic.Issuer{m.issuer}
	return m
}

// hostPort returns the host and the port of an address. certmagic then uses the listener of the gateway there, and does not open its own.
func hostPort(a net.Addr) (host string, port int) {
	if a == nil {
		return "", 0
	}
	host, text, _ := net.SplitHostPort(a.String())
	port, _ = strconv.Atoi(text)
	return host, port
}

// Manage loads the stored certificates of the names, and waits up to 5 seconds for them, so that they are served from the first handshake
// on. It obtains a certificate for each name that has none, and renews all certificates, in the background. It stops ordering, renewing and
// serving certificates for earlier names that are not in names. Failures are logged, and retried after growing pauses.
func (m *Manager) Manage(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names.Store(&names)
	var gone []certmagic.SubjectIssuer
	for name, stop := range m.keeping {
		if !slices.Contains(names, name) {
			stop()
			delete(m.keeping, name)
			gone = append(gone, certmagic.SubjectIssuer{Subject: name})
		}
	}
	m.cache.RemoveManaged(gone)
	var looked []<-chan struct{}
	for _, name := range names {
		if m.keeping[name] == nil {
			looked = append(looked, m.keep(name))
		}
	}
	wait(looked)
}

// TLS returns the TLS configuration of a listener, which then also answers TLS-ALPN-01 challenges.
func (m *Manager) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1", acmez.ACMETLS1Protocol},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			// Only challenges for managed names are looked up in the storage.
			if slices.Contains(hello.SupportedProtos, acmez.ACMETLS1Protocol) && !m.has(hello.ServerName) {
				return nil, errNotOurs
			}
			return m.magic.GetCertificate(hello)
		},
	}
}

var errNotOurs = errors.New("TLS-ALPN-01 challenge for a name that is not managed here")

// has reports whether a name is managed.
func (m *Manager) has(name string) bool {
	names := m.names.Load()
	return names != nil && slices.Contains(*names, strings.ToLower(name))
}

// First returns the certificate of the name that New received as first; nil if there is none yet.
func (m *Manager) First() *tls.Certificate {
	certificate, ok := m.certificate(m.first)
	if !ok {
		return nil
	}
	return &certificate.Certificate
}

// certificate returns the certificate of a name; if there are several, the one that expires last.
func (m *Manager) certificate(name string) (latest certmagic.Certificate, ok bool) {
	for _, c := range m.cache.AllMatchingCertificates(name) {
		if c.Leaf != nil && (!ok || c.Leaf.NotAfter.After(latest.Leaf.NotAfter)) {
			latest, ok = c, true
		}
	}
	return latest, ok
}

// Expires returns when the first of the certificates expires, and the names that have no certificate. at is zero if there is no
// certificate.
func (m *Manager) Expires() (at time.Time, missing []string) {
	names := m.names.Load()
	if names == nil {
		return at, nil
	}
	for _, name := range *names {
		c, ok := m.certificate(name)
		switch {
		case !ok:
			missing = append(missing, name)
		case at.IsZero() || c.Leaf.NotAfter.Before(at):
			at = c.Leaf.NotAfter
		}
	}
	return at, missing
}

// Challenges returns the handler of the listener without TLS: it answers HTTP-01 challenges, and redirects GET and HEAD requests for a
// managed name to https. Other requests for a managed name get 403, because their contents were already sent unencrypted; requests for
// other hosts get 404. port is the port of the https URLs; 443 is omitted from them.
func (m *Manager) Challenges(port string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		switch {
		case !m.has(host):
			http.Error(w, "This host is not served here: check the URL.", http.StatusNotFound)
		case m.issuer.HandleHTTPChallenge(w, r):
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "This host requires https: send the request to its https URL, and replace any token that you sent here.", http.StatusForbidden)
		default:
			if port != "443" {
				host = net.JoinHostPort(host, port)
			}
			target := url.URL{Scheme: "https", Host: strings.ToLower(host), Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, target.String(), http.StatusPermanentRedirect)
		}
	})
}

// Trouble describes, for the operator, what is wrong with the certificates. It returns "" if nothing is wrong. It contains no names and no
// texts of the CA.
func (m *Manager) Trouble() string {
	names := m.names.Load()
	if names == nil {
		return ""
	}
	for _, name := range *names {
		if c, ok := m.certificate(name); ok && c.Leaf.NotBefore.After(m.orders.now().Add(clockTolerance)) {
			return clockCause.text
		}
	}
	return m.orders.trouble(*names)
}

// Close cancels orders in progress, stops renewals, and waits for them.
func (m *Manager) Close() error {
	m.cancel()
	m.cache.Stop()
	m.done.Wait()
	return nil
}
