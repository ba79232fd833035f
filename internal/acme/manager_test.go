package acme_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/acme"
	"github.com/uimgate/uimgate/internal/test/acmeca"
	"github.com/uimgate/uimgate/store/sqlcert"
	"github.com/uimgate/uimgate/store/sqlstore"
)

const name = "n1.shop.example"

// A disk is a storage that cannot be written while full is set.
type disk struct {
	certmagic.Storage
	full     atomic.Bool
	rejected chan struct{}
}

func (d *disk) Store(ctx context.Context, key string, value []byte) error {
	if d.full.Load() {
		select {
		case d.rejected <- struct{}{}:
		default:
		}
		return errors.New("no space left on device")
	}
	return d.Storage.Store(ctx, key, value)
}

// start runs a Manager and its TLS listener on SQLite until the test ends.
func start(t *testing.T, ca *acmeca.CA) (*acme.Manager, *disk, net.Addr) {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca.Roots))
	d := &disk{Storage: sqlcert.New(db), rejected: make(chan struct{})}
	m := acme.New(name, acme.Options{
		Directory: ca.Directory, Roots: roots, HTTPS: ln.Addr(), Storage: d, Log: zap.NewNop(), Now: time.Now, LookEvery: 20 * time.Millisecond,
	})
	t.Cleanup(func() { _ = m.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = tls.Server(c, m.TLS()).HandshakeContext(context.WithoutCancel(t.Context()))
				_ = c.Close()
			}()
		}
	}()
	ca.Validate("127.0.0.1:9", ln.Addr().String())
	return m, d, ln.Addr()
}

// handshake returns once a TLS handshake for the name succeeds. That takes as long as the order of a certificate.
func handshake(t *testing.T, ca *acmeca.CA, address net.Addr) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.Root())
	for dialer := (tls.Dialer{Config: &tls.Config{ServerName: name, RootCAs: roots}}); ; {
		c, err := dialer.DialContext(t.Context(), address.Network(), address.String())
		if err == nil {
			_ = c.Close()
			break
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// A name for which the storage failed is ordered once the storage can be written again, without a restart. No order is made before.
func TestNameIsOrderedWhenTheStorageCanBeWrittenAgain(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{})
	m, d, address := start(t, ca)
	d.full.Store(true)
	m.Manage([]string{name})
	for range 3 {
		<-d.rejected
	}
	if got := m.Trouble(); got != "the database cannot be written or read" {
		t.Errorf("%q", got)
	}
	if got := ca.Orders(); got != 0 {
		t.Errorf("%d orders, whose certificates cannot be stored", got)
	}
	d.full.Store(false)
	handshake(t, ca, address)
	if got := m.Trouble(); got != "" {
		t.Errorf("%q", got)
	}
}

// A new process serves stored certificates as soon as Manage returns, so that no handshake fails after a restart.
func TestStoredCertificatesAreServedAtOnce(t *testing.T) {
	t.Parallel()
	ca := acmeca.Start(t, acmeca.Options{})
	first, d, address := start(t, ca)
	first.Manage([]string{name})
	handshake(t, ca, address)
	for range 20 {
		m := acme.New(name, acme.Options{
			Directory: ca.Directory, HTTPS: address, Storage: d, Log: zap.NewNop(), Now: time.Now,
		})
		m.Manage([]string{name})
		if _, missing := m.Expires(); len(missing) != 0 {
			t.Errorf("no certificate of %v after Manage, although the storage has it", missing)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
