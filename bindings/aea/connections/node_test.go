package connections_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/node"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// TestCertificateIsStored checks that the node keeps its certificate, in a file that only the owner can read, until it expires.
func TestCertificateIsStored(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "aea-node.pem")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	open := func(now time.Time) string {
		t.Helper()
		n, err := node.Open(aeatest.Key(t, aeatest.KeyOne), path, now)
		if err != nil {
			t.Fatal(err)
		}
		if n.PublicKey() != "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798" || len(n.Proof()) < 68 {
			t.Errorf("got %s, %x", n.PublicKey(), n.Proof())
		}
		return string(n.TLS().Certificates[0].Certificate[0])
	}
	first := open(now)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	if open(now.AddDate(9, 0, 0)) != first {
		t.Error("the node made a new certificate")
	}
	if open(now.AddDate(11, 0, 0)) == first {
		t.Error("the certificate has expired")
	}
	if err := os.WriteFile(path, []byte("-----BEGIN CERTIFICATE-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Open(aeatest.Key(t, aeatest.KeyOne), path, now); !errors.Is(err, node.ErrCertificate) {
		t.Errorf("a file with other content: %v, want %v", err, node.ErrCertificate)
	}
	if _, err := node.Open(identity.Key{}, filepath.Join(t.TempDir(), "node.pem"), now); !errors.Is(err, identity.ErrKey) {
		t.Errorf("a node without key: %v, want %v", err, identity.ErrKey)
	}
}
