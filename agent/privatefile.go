package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// writePrivate replaces a file atomically and durably, readable by its owner alone.
func writePrivate(path string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrFile, err)
		}
	}()
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // renamed already if all went well
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(privateMode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func readPrivate(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: %w: others can read it (mode %04o); chmod 600 it, or better make a new key",
			path, ErrFile, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, ErrFile, most)
	}
	return data, nil
}
