package relaycmd

import (
	"testing"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/mrp/relayhost"
)

func TestSizesWithTheSameText(t *testing.T) {
	t.Parallel()
	f := &flags{settings: *relayhost.Defaults(), data: t.TempDir(), bytes: "64MiB", blobsBytes: "64MiB"}
	f.settings.Listen = "127.0.0.1:0"
	o, err := f.options(t.Context(), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if o.Listener != nil {
		defer func() { _ = o.Listener.Close() }()
	}
	if s := f.settings; s.Blobs != 64<<20 || s.Bytes != 64<<20 {
		t.Errorf("%d and %d bytes", s.Blobs, s.Bytes)
	}
}
