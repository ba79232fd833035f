package yamlconf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ReadFile reads a regular file of at most maxBytes bytes. Its errors name the path.
func ReadFile(path string, maxBytes int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // must not block on a pipe without a writer
	if err != nil {
		return nil, FileError(path, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, FileError(path, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, not a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxBytes:
		return nil, TooLarge(path, maxBytes)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, FileError(path, err)
	}
	if int64(len(data)) > maxBytes {
		return nil, TooLarge(path, maxBytes)
	}
	return data, nil
}

// TooLarge returns the error of ReadFile for a file of more than maxBytes bytes.
func TooLarge(path string, maxBytes int64) error {
	return fmt.Errorf("%s is larger than the %d bytes allowed", path, maxBytes)
}

// FileError returns err with the path before it, and without the name of the system call.
func FileError(path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("cannot read %s: %w", path, err)
}
