package relay_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
)

// Files that a killed process leaves behind are deleted: a file whose record was not yet created, a file whose record was already deleted,
// and an unfinished upload. Files with an owner and files that are not of the relay stay.
func TestOrphanFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	onBoth(t, func(h *host) {
		dir := filepath.Join(dir, filepath.Base(h.Name()))
		a := h.agent().known()
		upload := func(text string) string {
			return h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", text)).BlobID
		}
		kept, deleted := upload("kept"), upload("deleted")
		bytes, err := os.ReadFile(filepath.Join(dir, deleted))
		h.must(err)
		h.wants(http.StatusNoContent, "", a.do("DELETE", "/v1/blobs/"+deleted, ""))
		long := h.now().Add(-2 * time.Hour)
		put := func(name string, age time.Time) {
			h.must(os.WriteFile(filepath.Join(dir, name), bytes, 0o600))
			h.must(os.Chtimes(filepath.Join(dir, name), age, age))
		}
		young, foreign := "blob_"+strings.Repeat("1", 24), "blob_readme"
		put(deleted, long)                          // killed after its record was deleted
		put("blob_"+strings.Repeat("0", 24), long)  // killed before its record was made
		put(young, h.now())                         // its record is about to be made
		put("incoming-1", long)                     // killed while it was received
		put("incoming-2", h.now().Add(time.Minute)) // is being received
		put(foreign, long)
		h.must(os.Mkdir(filepath.Join(dir, "incoming-directory"), 0o700))
		h.must(os.Chtimes(filepath.Join(dir, kept), long, long))
		h.relay.Cleaned(t.Context())
		left := map[string]bool{}
		list, err := os.ReadDir(dir)
		h.must(err)
		for _, e := range list {
			left[e.Name()] = true
		}
		want := []string{kept, young, foreign, "incoming-2", "incoming-directory"}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(left)); !slices.Equal(got, want) {
			h.Errorf("%q are left, want %q", got, want)
		}
		if got := h.wants(http.StatusOK, "", a.do("GET", "/v1/blobs/"+kept, "")); string(got.Raw) != "kept" {
			h.Errorf("got %q", got.Raw)
		}
	}, func(o *relay.Options) {
		o.Blobs = filepath.Join(dir, map[bool]string{true: "PostgreSQL", false: "SQLite"}[o.Shared])
	})
}

// If the database is unavailable, no file is deleted.
func TestOrphanFilesWithoutDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := newHost(t, "", func(o *relay.Options) { o.Blobs = dir })
	name := filepath.Join(dir, "blob_"+strings.Repeat("0", 24))
	h.must(os.WriteFile(name, nil, 0o600))
	long := h.now().Add(-2 * time.Hour)
	h.must(os.Chtimes(name, long, long))
	h.stop()
	h.relay.Cleaned(t.Context())
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
}
