package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/internal/acme"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/store/sqlcert"
)

// expiresSoon is the remaining validity of a certificate below which the gateway counts as degraded. ACME renews certificates long before
// that.
const expiresSoon = 7 * 24 * time.Hour

// openCertificates prepares the ACME client and the HTTP listener for its challenges, if the configuration uses ACME. The client orders
// missing certificates later, in the background; until then TLS handshakes fail.
func (p *process) openCertificates(ctx context.Context) {
	c := p.config.Server.TLS.ACME
	if !c.Agree {
		return
	}
	o := acme.Options{
		Directory: c.DirectoryURL(), Email: c.Email, Roots: c.RootPool(), AccountID: c.EAB.KID, AccountKey: c.EAB.Key.Reveal(),
		DNS: c.Solver(), HTTPS: p.public.Addr(), Storage: sqlcert.New(p.store), Log: p.Log,
		Now: p.Now, Ordered: p.metrics.Ordered, LookEvery: p.renewals,
	}
	if address := p.config.Server.HTTPListen(); address != "" {
		ln, err := p.listenOn(ctx, address)
		if err != nil { // TLS does not depend on this listener, and the CA may use another challenge
			p.Log.Warn("the HTTP listener cannot be opened: the CA cannot use HTTP-01, and http URLs are not redirected to https", zap.Error(err))
		} else {
			p.plain = connlimit.New(ln, p.bounds())
			p.closers = append(p.closers, closed(p.plain))
			o.HTTP = p.plain.Addr()
		}
	}
	p.certificates = acme.New(p.config.CertificateNames()[0], o)
	p.closers = append(p.closers, p.certificates.Close)
}

// plainServer returns the HTTP server that responds to the challenges of the CA and redirects other requests to https.
func (p *process) plainServer() *http.Server {
	_, port, _ := net.SplitHostPort(p.public.Addr().String())
	s := p.httpServer(p.certificates.Challenges(port))
	s.TLSConfig = nil
	return s
}

// tlsConfig returns the TLS configuration of the public and admin listeners; nil means that they serve http.
func (p *process) tlsConfig() *tls.Config {
	switch {
	case p.certificates != nil:
		return p.certificates.TLS()
	case p.config.Server.TLS.Enabled():
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return p.live.Load().certificate, nil
		}}
	}
	return nil
}

// certificate returns a function that returns the current certificate for the listeners of modules; nil means that they serve http.
func (p *process) certificate() func() *tls.Certificate {
	if !p.config.Server.TLS.Enabled() {
		return nil
	}
	return func() *tls.Certificate {
		if p.certificates != nil {
			return p.certificates.First()
		}
		return p.live.Load().certificate
	}
}

// expires returns when the earliest certificate expires, and how many names have no certificate. at is zero if there is no certificate.
func (p *process) expires() (at time.Time, missing int) {
	if p.certificates != nil {
		at, names := p.certificates.Expires()
		return at, len(names)
	}
	if c := p.live.Load().certificate; c != nil && c.Leaf != nil {
		at = c.Leaf.NotAfter // crypto/tls has parsed Leaf
	}
	return at, 0
}

// certificateTrouble describes a missing, expired or soon expiring certificate for the operator; it returns "" if there is none.
func (p *process) certificateTrouble() string {
	at, missing := p.expires()
	var text string
	switch left := at.Sub(p.Now()); {
	case missing > 0:
		text = fmt.Sprintf("the number of names that have no certificate yet is %d", missing)
	case at.IsZero() || left > expiresSoon:
		return ""
	case left <= 0:
		text = "the certificate expired at " + at.UTC().Format(time.RFC3339) + ": clients reject it; renew it"
	default:
		text = "the certificate expires at " + at.UTC().Format(time.RFC3339)
	}
	if p.certificates == nil {
		return text
	}
	if why := p.certificates.Trouble(); why != "" {
		text += ": " + why
	}
	return text + ": see the log"
}

// certificateState returns the text of certificateTrouble. If that is empty, it returns the reason why orders fail, although the
// certificates are still valid.
func (p *process) certificateState() string {
	text := p.certificateTrouble()
	if text != "" || p.certificates == nil {
		return text
	}
	if text = p.certificates.Trouble(); text != "" {
		text += ": see the log"
	}
	return text
}

// certificateStatus describes the certificates for the operator. It returns nil if the listeners serve http.
func (p *process) certificateStatus() *status.CertificateStatus {
	if p.certificates == nil && p.live.Load().certificate == nil {
		return nil
	}
	at, missing := p.expires()
	out := &status.CertificateStatus{ACME: p.certificates != nil, Missing: missing}
	if !at.IsZero() {
		out.Expires = at.UTC()
	}
	return out
}
