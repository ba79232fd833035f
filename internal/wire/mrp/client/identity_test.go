package client_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
)

func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "seed")
	key := mrp.NewKey()
	if err := mrp.SaveKey(path, key); err != nil {
		t.Fatal(err)
	}
	seed, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || !bytes.Equal(seed, key.Seed()) || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	if got, err := mrp.LoadKey(path); err != nil || !got.Equal(key) {
		t.Error(err)
	}
	if err := mrp.SaveKey(path, mrp.NewKey()); !errors.Is(err, mrp.ErrKeyFile) {
		t.Errorf("a key is overwritten: %v, want %v", err, mrp.ErrKeyFile)
	}
	if _, err := mrp.LoadKey(path + "x"); !errors.Is(err, os.ErrNotExist) || !errors.Is(err, mrp.ErrKeyFile) {
		t.Errorf("got %v; want %v and %v", err, os.ErrNotExist, mrp.ErrKeyFile)
	}
	for name, content := range map[string][]byte{"nothing": nil, "half": seed[:16], "more": append(seed, '\n')} {
		wrong := filepath.Join(t.TempDir(), "seed")
		if err := os.WriteFile(wrong, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := mrp.LoadKey(wrong); !errors.Is(err, mrp.ErrKeyFile) {
			t.Errorf("%s: %v, want %v", name, err, mrp.ErrKeyFile)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := mrp.LoadKey(path); !errors.Is(err, mrp.ErrKeyFile) {
		t.Errorf("a file that others read: %v, want %v", err, mrp.ErrKeyFile)
	}
}
