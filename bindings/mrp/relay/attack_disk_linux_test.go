package relay_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
)

// smallDisk mounts a small file system until the test ends.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// On a full disk, messages and blobs are temporarily refused, and nothing that was accepted is lost. The relay continues once there is
// space, before and after a restart.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "16m")
	place, blobs, ballast := filepath.Join(dir, "state.db"), filepath.Join(dir, "blobs"), filepath.Join(dir, "ballast")
	sqlitetest.Empty.Copy(t, place)
	change := []func(*relay.Options){many, func(o *relay.Options) { o.Blobs = blobs }}
	h := newHost(t, place, change...)
	a, b := h.agent().known(), h.agent().known()
	kept := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", strings.Repeat("k", 100_000))).BlobID
	h.must(os.WriteFile(ballast, make([]byte, 7<<20), 0o600))

	accepted, refused := map[string]bool{}, 0
	for body := message(b.key(), `"`+strings.Repeat("x", 200_000)+`"`); refused < 5 && len(accepted) < 200; {
		switch got := a.do("POST", "/v1/messages", body); got.Status {
		case http.StatusAccepted:
			accepted[got.MessageID] = true
		case http.StatusServiceUnavailable, http.StatusInsufficientStorage:
			if refused++; got.Header.Get("Retry-After") == "" && got.Status == http.StatusServiceUnavailable {
				t.Errorf("got %v", got.Header)
			}
		default:
			t.Fatalf("got %d %s", got.Status, got.Raw)
		}
	}
	if refused < 5 || len(accepted) == 0 {
		t.Fatalf("%d were accepted: the disk was not full", len(accepted))
	}
	if got := a.do("POST", "/v1/blobs", strings.Repeat("x", 1<<20)); got.Status != http.StatusServiceUnavailable {
		t.Errorf("a blob: %d %s; want %v", got.Status, got.Raw, http.StatusServiceUnavailable)
	}
	h.stop()
	h.start(time.Now, blobs, change)
	t.Cleanup(h.stop)
	if files, err := os.ReadDir(blobs); err != nil || len(files) != 1 || files[0].Name() != kept {
		t.Errorf("files left by uploads: %v, %v", files, err)
	}

	h.must(os.Remove(ballast))
	h.eventually("the relay accepts messages", func() bool {
		got := a.do("POST", "/v1/messages", message(b.key(), `"room"`))
		if got.Status == http.StatusAccepted {
			accepted[got.MessageID] = true
		}
		return got.Status == http.StatusAccepted
	})
	h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "room"))
	if got := h.wants(http.StatusOK, "", a.do("GET", "/v1/blobs/"+kept, "")); string(got.Raw) != strings.Repeat("k", 100_000) {
		t.Errorf("%d bytes of a blob are left", len(got.Raw))
	}
	for list := b.poll("?limit=100"); len(list) > 0; list = b.poll("?limit=100") {
		for _, m := range list {
			delete(accepted, m.ID)
		}
	}
	if len(accepted) > 0 {
		t.Errorf("%d messages that were accepted are lost", len(accepted))
	}
}
