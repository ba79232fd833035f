// Package acme obtains the certificates of a gateway from a certificate authority by ACME (RFC 8555), and renews them. It answers the
// challenges HTTP-01 (RFC 8555 §8.3) and TLS-ALPN-01 (RFC 8737) on the listeners of the gateway, or writes DNS-01 records (RFC 8555 §8.4)
// by DNS updates. certmagic does most of it; this package gives it the names, the storage and the listeners.
//
// Processes that share the storage share certificates and account: one of them orders, and every one of them answers challenges.
package acme

import (
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
	"sync/atomic"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/acme/dns01"
)

// Options of New.
type Options struct {
	// Directory is the URL of the CA's directory. Required.
	Directory string
	// Email is given to the CA, for its notices. Empty: none.
	Email string
	// Roots are the CAs whose certificate the directory may have. nil: those of the system.
	Roots *x509.CertPool
	// AccountID and AccountKey bind the ACME account to one that the CA knows: the key id and the base64url key of RFC 8555 §7.3.4.
	// Empty: it is not bound.
	AccountID, AccountKey string
	// DNS writes DNS-01 records. nil: HTTP-01 and TLS-ALPN-01 are used.
	DNS *dns01.Solver
	// HTTP is the listener that serves Challenges, and HTTPS the one with TLS. A challenge whose listener is nil is not used.
	HTTP, HTTPS net.Addr
	// Storage has accounts, keys, certificates and challenges. Required.
	Storage certmagic.Storage
	Log     *zap.Logger
	// LookEvery is how often certificates are checked for renewal. 0: each ten minutes.
	LookEvery time.Duration // certmagic has the default
}

// A Manager has the certificates of a gateway. It is safe for concurrent use.
type Manager struct {
	cache  *certmagic.Cache
	magic  *certmagic.Config
	issuer *certmagic.ACMEIssuer
	first  string
	names  atomic.Pointer[[]string]
	ctx    context.Context //nolint:containedctx // of the orders, which Manage begins and Close ends
	cancel context.CancelFunc
}

// New returns a manager without names: see Manage. A client that names no server, or an unknown one, gets the
// certificate of the name first. Close the manager once, when done.
func New(first string, o Options) *Manager {
	m := &Manager{first: first}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	log := o.Log.Named("acme")
	m.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert:   func(certmagic.Certificate) (*certmagic.Config, error) { return m.magic, nil },
		RenewCheckInterval: o.LookEvery, Logger: log,
	})
	m.magic = certmagic.New(m.cache, certmagic.Config{
		Storage: o.Storage, DefaultServerName: first, FallbackServerName: first, Logger: log,
	})
	issuer := certmagic.ACMEIssuer{
		CA: o.Directory, Email: o.Email, Agreed: true, TrustedRoots: o.Roots, Logger: log,
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

// hostPort returns the parts of an address. certmagic finds the listener of the gateway there, and opens none of its own.
func hostPort(a net.Addr) (host string, port int) {
	if a == nil {
		return "", 0
	}
	host, text, _ := net.SplitHostPort(a.String())
	port, _ = strconv.Atoi(text)
	return host, port
}

// Manage obtains a certificate for each name that has none, and renews it, in the background. The certificate of an earlier name that is
// not in names is no longer renewed, and no longer served. Failures are logged, and tried again after growing pauses.
func (m *Manager) Manage(names []string) {
	before := m.names.Swap(&names)
	if before != nil {
		var gone []certmagic.SubjectIssuer
		for _, name := range *before {
			if !slices.Contains(names, name) {
				gone = append(gone, certmagic.SubjectIssuer{Subject: name})
			}
		}
		m.cache.RemoveManaged(gone)
	}
	var fresh []string
	for _, name := range names {
		if before == nil || !slices.Contains(*before, name) {
			fresh = append(fresh, name)
		}
	}
	_ = m.magic.ManageAsync(m.ctx, fresh) // logs its errors
}

// TLS returns the configuration of a listener, which answers TLS-ALPN-01 too.
func (m *Manager) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1", acmez.ACMETLS1Protocol},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			// Only the challenges of own names are looked up in the storage.
			if slices.Contains(hello.SupportedProtos, acmez.ACMETLS1Protocol) && !m.has(hello.ServerName) {
				return nil, errNotOurs
			}
			return m.magic.GetCertificate(hello)
		},
	}
}

var errNotOurs = errors.New("a TLS-ALPN-01 challenge for a name without certificate")

// has reports whether a name is managed.
func (m *Manager) has(name string) bool {
	names := m.names.Load()
	return names != nil && slices.Contains(*names, strings.ToLower(name))
}

// First returns the certificate of the first name; nil while there is none.
func (m *Manager) First() *tls.Certificate {
	certificate, ok := m.certificate(m.first)
	if !ok {
		return nil
	}
	return &certificate.Certificate
}

// certificate returns the certificate of a name that expires last.
func (m *Manager) certificate(name string) (latest certmagic.Certificate, ok bool) {
	for _, c := range m.cache.AllMatchingCertificates(name) {
		if c.Leaf != nil && (!ok || c.Leaf.NotAfter.After(latest.Leaf.NotAfter)) {
			latest, ok = c, true
		}
	}
	return latest, ok
}

// Expires returns when the first certificate expires, the zero time if there is none, and the names that have no certificate.
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

// Challenges returns the handler of the listener without TLS: it answers HTTP-01, and redirects GET and HEAD requests for a managed name
// to https. Other requests get 403, because what they carry was already sent in the clear. port is that of the https URLs; 443 is left out.
func (m *Manager) Challenges(port string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		switch {
		case !m.has(host):
			http.Error(w, "There is nothing at this host: check the URL.", http.StatusNotFound)
		case m.issuer.HandleHTTPChallenge(w, r):
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "This needs https: send the request there, and change any token you sent here.", http.StatusForbidden)
		default:
			if port != "443" {
				host = net.JoinHostPort(host, port)
			}
			target := url.URL{Scheme: "https", Host: strings.ToLower(host), Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, target.String(), http.StatusPermanentRedirect)
		}
	})
}

// Close ends orders and renewals.
func (m *Manager) Close() error {
	m.cancel()
	m.cache.Stop()
	return nil
}
