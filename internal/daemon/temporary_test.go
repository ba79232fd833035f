package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/uimgate/uimgate/internal/daemon"
)

// A killed backup leaves its unfinished copy behind. The next backup removes that copy, but not one that is being written.
func TestBackupRemovesFilesOfAKilledOne(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{config: testConfig})
	g.newAgent("agent-1").agree()
	dir := t.TempDir()
	for _, name := range []string{".tmp-uimgate-1", ".tmp-uimgate-2", ".tmp-uimgate-mine"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "copy"), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	busy, err := os.Open(filepath.Join(dir, ".tmp-uimgate-2"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	if err := unix.Flock(int(busy.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	c, _ := g.load()
	k := &daemon.Keeper{Config: c, Now: time.Now, Progress: daemon.Progress{
		Copied: func(_, _ int64) {}, Checking: func(time.Duration) {},
	}}
	if _, err := k.Backup(t.Context(), filepath.Join(dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".tmp-uimgate-2", ".tmp-uimgate-mine", "backup.db"}; !slices.Equal(names, want) {
		t.Errorf("%v; want %v", names, want)
	}
	if info, err := os.Stat(filepath.Join(dir, "backup.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
}
