package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// If a file cannot be replaced, the files before it are restored.
func TestFilesAreWrittenTogether(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "a.json")
	if err := os.WriteFile(kept, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	last := filepath.Join(dir, ".last.json")
	files := map[string][]byte{kept: []byte("new"), filepath.Join(dir, "b.json"): []byte("new"), last: nil}
	restored := func(what string) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
		if err != nil || len(names) != 1 || len(hidden) != 0 {
			t.Errorf("%s: there are %v and %v, %v, want only a.json", what, names, hidden, err)
		}
		if data, err := os.ReadFile(kept); err != nil || string(data) != "old" {
			t.Errorf("%s: a.json is %q, %v, want the old content", what, data, err)
		}
	}
	nowhere := filepath.Join(dir, "none", "c.json")
	files[nowhere] = nil
	if err := WriteFiles(files, last); err == nil {
		t.Error("a file in a directory that does not exist is written")
	}
	restored("a directory that does not exist")
	delete(files, nowhere)
	var all []*replacement
	for _, name := range []string{"a.json", "b.json", "c.json"} {
		r, err := stage(filepath.Join(dir, name), []byte("new"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := errors.Join(os.Remove(all[2].temporary), replaceAll(all)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that c.json cannot be replaced", err)
	}
	restored("a rename that fails")
	if err := WriteFiles(files, last); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v, want the mode of the file before", info, err)
	}
}

// The file that a symbolic link names is replaced, and not the link.
func TestSymbolicLinksAreKept(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "a.json")
	link := filepath.Join(dir, "a.json")
	if err := errors.Join(os.WriteFile(elsewhere, []byte("old"), 0o600), os.Symlink(elsewhere, link)); err != nil {
		t.Fatal(err)
	}
	if err := WriteFiles(map[string][]byte{link: []byte("new")}, link); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if data, _ := os.ReadFile(elsewhere); err != nil || info.Mode()&os.ModeSymlink == 0 || string(data) != "new" {
		t.Errorf("got %v, %v, and the file is %q, want the link and the new content", info, err, data)
	}
}
