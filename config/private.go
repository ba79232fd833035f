package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// readPrivate reads a file of at most 1 MiB. It returns an error if users other than the owner can access the file.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, yamlconf.FileError(path, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf(
			"%s can be accessed by users other than its owner (mode %04o): run chmod 600 on it, and replace its contents if someone may have read it",
			path, info.Mode().Perm())
	}
	return yamlconf.ReadFile(path, maxPEM)
}

// writePrivate replaces the file at path atomically and durably: it writes and syncs a temporary file, renames it, and syncs the directory.
func writePrivate(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, tempFiles) // CreateTemp creates files with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes renames and removals in dir durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
