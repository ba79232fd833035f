package acme

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/caddyserver/certmagic"
)

// longestAgain is the maximum pause after an attempt that failed before any request to the CA, for example because the database cannot be
// written.
const longestAgain = time.Minute

// longestLook is how long Manage waits for stored certificates. Loading one may include a request to an OCSP responder.
const longestLook = 5 * time.Second

// keep loads or obtains the first certificate of a name in the background. After that, certmagic renews it. The channel is closed when the
// storage has been read once. The caller holds m.mu.
func (m *Manager) keep(name string) (looked <-chan struct{}) {
	ctx, stop := context.WithCancel(m.ctx) // a certificate may be obtained long after the reload that added the name
	m.keeping[name] = stop
	read := make(chan struct{})
	m.done.Go(func() {
		defer stop()
		_, _ = m.magic.CacheManagedCertificate(ctx, name) // obtain loads the certificate again, and handles the error
		close(read)
		m.obtain(ctx, name)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.keeping[name] == nil { // the name was removed while its certificate was loaded
			m.cache.RemoveManaged([]certmagic.SubjectIssuer{{Subject: name}})
		}
	})
	return read
}

// wait returns when all channels are closed, but after longestLook at the latest.
func wait(looked []<-chan struct{}) {
	timeout := time.NewTimer(longestLook)
	defer timeout.Stop()
	for _, c := range looked {
		select {
		case <-c:
		case <-timeout.C:
			return
		}
	}
}

// obtain returns when the name has a certificate, or when ctx has ended.
func (m *Manager) obtain(ctx context.Context, name string) {
	for {
		err := m.load(ctx, name)
		if err == nil || ctx.Err() != nil {
			return
		}
		m.orders.fail(name, err)
		timer := time.NewTimer(m.again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// load loads the certificate of a name from the storage, and has it renewed if that is due. If there is none, it orders one. If the order
// fails, it tries again after growing pauses until an order succeeds. It returns an error only if the storage fails.
func (m *Manager) load(ctx context.Context, name string) error {
	certificate, err := m.magic.CacheManagedCertificate(ctx, name)
	if err == nil && certificate.NeedsRenewal(m.magic) && ctx.Err() == nil {
		return m.cache.RenewManagedCertificates(m.ctx) //nolint:contextcheck // it also renews certificates of other names
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := m.magic.ObtainCertAsync(ctx, name); err != nil {
		return err
	}
	_, err = m.magic.CacheManagedCertificate(ctx, name)
	return err
}
