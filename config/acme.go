package config

import (
	"crypto/x509"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/acme/dns01"
)

// The directories of Let's Encrypt.
const (
	letsEncrypt        = "https://acme-v02.api.letsencrypt.org/directory"
	letsEncryptStaging = "https://acme-staging-v02.api.letsencrypt.org/directory"
)

const httpsPort = "443"

// DirectoryURL returns the URL of the CA's directory.
func (a ACME) DirectoryURL() string {
	switch {
	case a.Directory != nil:
		return a.Directory.String()
	case a.Staging:
		return letsEncryptStaging
	default:
		return letsEncrypt
	}
}

// RootPool returns the CA certificates of roots, or nil if roots is not set.
func (a ACME) RootPool() *x509.CertPool {
	return poolOf(a.Roots)
}

// poolOf returns the CA certificates of a PEM file, or nil if f has no path.
func poolOf(f File) *x509.CertPool {
	if f.Path == "" {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(f.Data)
	return pool
}

// checkRoots reads the PEM file that f names, if there is one. It adds an error if the file contains no certificate.
func (l *loader) checkRoots(at string, f *File) {
	if l.readInto(at, f, maxPEM, false) && !x509.NewCertPool().AppendCertsFromPEM(f.Data) {
		l.Errorf(at, "has no certificate: want a PEM file with CA certificates")
	}
}

// Solver returns the client for DNS-01 records, or nil if dns.server is not set.
func (a ACME) Solver() *dns01.Solver {
	if a.DNS.Server == "" {
		return nil
	}
	s := &dns01.Solver{Server: a.DNS.Server, Zone: a.DNS.Zone}
	if !a.DNS.Key.IsEmpty() {
		s.Algorithm, s.KeyName, s.Secret, _ = dns01.ParseKey(a.DNS.Key.Reveal()) // checked by checkDNS01
	}
	return s
}

// HTTPListen returns the address of the listener without TLS that ACME needs, or "" if there is none.
func (s Server) HTTPListen() string {
	a := s.TLS.ACME
	if !a.Agree || a.HTTP != "" {
		return a.HTTP
	}
	if host, port, err := net.SplitHostPort(s.Listen); err == nil && port == httpsPort {
		return net.JoinHostPort(host, "80")
	}
	return ""
}

// CertificateNames returns the names for which ACME obtains certificates: for each service, the host of its public URL, and then its hosts.
// It omits hosts for which no public CA issues certificates.
func (c *Config) CertificateNames() (names []string) {
	for i := range c.Services {
		for _, host := range namesOf(&c.Services[i]) {
			if certifiable(host) && !slices.Contains(names, host) {
				names = append(names, host)
			}
		}
	}
	return names
}

func namesOf(s *Service) []string {
	if s.PublicURL == nil {
		return s.Hosts
	}
	return append([]string{s.PublicURL.Hostname()}, s.Hosts...)
}

// certifiable reports whether a public CA may issue a certificate for a host. The host must be a name with a dot that is not reserved for
// local networks (RFC 6761, RFC 6762, RFC 8375).
func certifiable(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return false
	}
	return !slices.ContainsFunc([]string{".localhost", ".local", ".internal", ".home.arpa"}, func(suffix string) bool {
		return strings.HasSuffix(host, suffix)
	})
}

func (l *loader) checkACME(c *Config) {
	const at = "server.tls.acme"
	a := &c.Server.TLS.ACME
	if !l.Has(at) || l.Has(at+".agree") && reflect.DeepEqual(*a, ACME{}) {
		return // an explicit agree: false alone is the default
	}
	if !a.Agree {
		l.Errorf(at+".agree", "must be true: set it if you agree to the subscriber agreement of the CA")
		return
	}
	if c.Server.TLS.Cert.Path != "" || c.Server.TLS.Key.Path != "" {
		l.Errorf(at, "cannot be used with server.tls.cert and key: the certificate comes from files or from a CA")
	}
	if a.Email != "" && (!strings.Contains(a.Email, "@") || strings.ContainsAny(a.Email, " ,<>")) {
		l.Errorf(at+".email", "is not an email address, such as ops@shop.example")
	}
	l.checkDirectory(at, a)
	if (a.EAB.KID == "") != a.EAB.Key.IsEmpty() {
		l.Errorf(at+".eab", "has only one of kid and key: give both, or neither")
	}
	l.checkDNS01(at+".dns", &a.DNS)
	if a.HTTP != "" {
		l.listenAddress(at+".http", a.HTTP)
		for _, other := range l.listenersAt(a.HTTP) {
			l.Errorf(at+".http", "uses the port of %s: choose another", other)
		}
	}
	if len(c.CertificateNames()) == 0 && !l.Failed("services") {
		l.Errorf(at, "has no name for a certificate: set services[].hosts, or a public_url with a public name")
	}
	for i := range c.Services {
		for j, host := range c.Services[i].Hosts {
			if !certifiable(host) {
				l.Warnf("services["+strconv.Itoa(i)+"].hosts["+strconv.Itoa(j)+"]", "gets no certificate: public CAs do not issue certificates for this host")
			}
		}
	}
}

func (l *loader) checkDirectory(at string, a *ACME) {
	if d := a.Directory; d != nil {
		if a.Staging {
			l.Errorf(at+".staging", "selects the staging CA of Let's Encrypt, but directory names another CA: set only one of them")
		}
		if d.Scheme != "https" || d.Host == "" {
			l.Errorf(at+".directory", "must be an https URL, which ACME requires (RFC 8555 section 6.1)")
		}
	}
	l.checkRoots(at+".roots", &a.Roots)
}

func (l *loader) checkDNS01(at string, d *DNS01) {
	switch {
	case d.Server == "" && (d.Zone != "" || !d.Key.IsEmpty()):
		l.Errorf(at+".server", "is required: set the address of the zone's primary server")
	case d.Server != "":
		if _, port, err := net.SplitHostPort(d.Server); err != nil || port == "" {
			l.Errorf(at+".server", "is not an address: want host:port, such as ns1.shop.example:53")
		}
	}
	if !d.Key.IsEmpty() {
		if _, _, _, err := dns01.ParseKey(d.Key.Reveal()); err != nil {
			l.Errorf(at+".key", "is not a TSIG key: %v", err)
		}
	}
}
