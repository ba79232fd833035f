package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
)

func TestCertificateProblem(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := func(from, to time.Duration) []byte {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(from), NotAfter: now.Add(to)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	good, expired, early := made(-time.Hour, time.Hour), made(-2*time.Hour, -time.Hour), made(time.Hour, 2*time.Hour)
	for name, c := range map[string]struct {
		chain [][]byte
		want  string
	}{
		"good":                     {chain: [][]byte{good, good}},
		"expired":                  {chain: [][]byte{expired}, want: "the certificate expired at 2026-03-14T14:09:26Z"},
		"not yet valid":            {chain: [][]byte{early}, want: "not valid before 2026-03-14T16:09:26Z"},
		"an intermediate, expired": {chain: [][]byte{good, expired}, want: "certificate 2 of the chain expired"},
	} {
		got := config.CertificateProblem(&tls.Certificate{Certificate: c.chain}, now)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
}
