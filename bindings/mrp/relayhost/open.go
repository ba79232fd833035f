package relayhost

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// blobs is the default directory of blobs, in the data directory.
const blobs = "mrp-blobs"

var errNoState = errors.New("the store does not support messages")

// Open creates the relay of a gateway, and binds its listener. It returns a nil Host and no error if the configuration does not have the
// block mrp_relay.
func Open(ctx context.Context, p door.Process) (*Host, error) {
	set, ok := p.Config.Module(Key).(*Settings)
	if !ok || !set.Open() {
		return nil, nil
	}
	state, ok := p.State.(*sqlstore.Store)
	if !ok {
		return nil, errNoState
	}
	ln, url, err := p.Listen(ctx, set.Listen)
	if err != nil {
		return nil, err
	}
	h, err := New(Options{
		Listener: ln, State: state, Settings: *set, Shared: !p.Sole, Blobs: cmp.Or(set.BlobsDir, filepath.Join(p.Config.Data, blobs)),
		Proxies: p.Config.Server.TrustedProxies, Drain: p.Config.Server.DrainTimeout, Version: p.Version, Log: p.Log, Metrics: p.Metrics,
		Certificate: p.Certificate,
	})
	if err != nil {
		return nil, err
	}
	h.url = url
	return h, nil
}

// URL returns the URL of the listener of a relay that Open created, and "" for other relays.
func (h *Host) URL() string { return h.url }
