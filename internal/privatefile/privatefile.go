// Package privatefile stores secrets and state in files that only their owner can read, and replaces files atomically.
package privatefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// Modes of files, and of the directories that are created for them.
const (
	Mode    = 0o600
	dirMode = 0o700
)

// ErrOpen means that users other than the owner can access a file that should be private.
var ErrOpen = errors.New("other users can access it")

// ErrTooLarge means that a file is larger than the caller of Read allows.
var ErrTooLarge = errors.New("the file is too large")

// Write creates or replaces a file, atomically and durably. Only the owner can read the file (0600). Missing directories are created with
// mode 0700.
func Write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	return Replace(path, data, Mode)
}

// Replace creates or replaces a file in an existing directory, atomically and durably, with the given mode.
func Replace(path string, data []byte, mode os.FileMode) error {
	return replace(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Stream is like Replace for a private file (0600) with the data that write writes. If write fails, an existing file stays unchanged. If
// path names a device or a pipe, such as /dev/stdout, Stream writes into it.
func Stream(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() || info.IsDir() {
		return replace(path, Mode, write)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func replace(path string, mode os.FileMode, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after success the file has its new name
	err = errors.Join(write(f), f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the file names in a directory durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // this system does not support it
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Read reads a file of at most maxBytes bytes. Its error wraps os.ErrNotExist if the file does not exist, ErrOpen (with the mode) or
// ErrTooLarge. Errors never contain the contents of the file.
func Read(path string, maxBytes int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // the file was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w (mode %04o)", ErrOpen, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > maxBytes:
		return nil, ErrTooLarge
	}
	return data, nil
}
