package privatefile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b", "secret")
	for _, text := range []string{"first", "second"} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path, 6); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	for path, want := range map[string]os.FileMode{path: Mode, filepath.Dir(path): dirMode} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	if _, err := Read(path, 5); !errors.Is(err, ErrTooLarge) {
		t.Errorf("err = %v, want %v", err, ErrTooLarge)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, 6); !errors.Is(err, ErrOpen) || strings.Contains(err.Error(), "second") {
		t.Errorf("err = %v", err)
	}
	if _, err := Read(path+"x", 6); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v, want %v", err, os.ErrNotExist)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: want only the file", left, err)
	}
}

func TestStreamReplacesPrivately(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bundle")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for _, tt := range []struct {
		fails error
		want  string
		mode  os.FileMode
	}{{broken, "before", 0o644}, {nil, "after", Mode}} {
		err := Stream(path, func(w io.Writer) error {
			_, err := io.WriteString(w, "after")
			return errors.Join(err, tt.fails)
		})
		if !errors.Is(err, tt.fails) {
			t.Errorf("got %v, want %v", err, tt.fails)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != tt.mode {
			t.Errorf("mode %v, %v; want %v", info.Mode(), err, tt.mode)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != tt.want {
			t.Errorf("%q, %v; want %q", got, err, tt.want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: want only the file", left, err)
	}
}

func TestLockExcludes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Lock(ended, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a second lock: %v, want %v", err, context.Canceled)
	}
	held := make(chan error, 1)
	go func() {
		again, err := Lock(t.Context(), path)
		if err == nil {
			again()
		}
		held <- err
	}()
	unlock()
	if err := <-held; err != nil {
		t.Error(err)
	}
}
