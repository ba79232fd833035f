package storetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A Template is a database file that is built once and copied for each test, because creating the schema takes longer than most tests. It
// is safe for concurrent use.
type Template struct {
	once  sync.Once
	build func(path string) error
	bytes []byte
	err   error
}

// NewTemplate returns a template. build creates the file at a path before the first copy, and closes it.
func NewTemplate(build func(path string) error) *Template { return &Template{build: build} }

// Copy copies the file to path unless that exists. It creates the directory with mode 0700.
func (f *Template) Copy(tb testing.TB, path string) {
	tb.Helper()
	if err := f.Write(path); err != nil {
		tb.Fatal(err)
	}
}

// Write is Copy for callers that have no testing.TB.
func (f *Template) Write(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.once.Do(func() { f.bytes, f.err = f.read() })
	err := f.err
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, f.bytes, 0o600)
	}
	return err
}

func (f *Template) read() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "storetest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "template.db")
	if err := f.build(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
