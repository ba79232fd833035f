package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

// CertificateProblem returns why clients reject a certificate or its chain at the time now: a certificate has expired or is not valid yet.
// It returns "" if all certificates are valid at that time.
func CertificateProblem(pair *tls.Certificate, now time.Time) string {
	for i, der := range pair.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			continue // a loaded pair has a valid leaf
		}
		which := "the certificate"
		if i > 0 {
			which = fmt.Sprintf("certificate %d of the chain", i+1)
		}
		switch {
		case now.After(c.NotAfter):
			return fmt.Sprintf("%s expired at %s: clients reject it; renew it", which, c.NotAfter.UTC().Format(time.RFC3339))
		case now.Before(c.NotBefore):
			return fmt.Sprintf("%s is not valid before %s: clients reject it until then; check the clock of this machine", which,
				c.NotBefore.UTC().Format(time.RFC3339))
		}
	}
	return ""
}
