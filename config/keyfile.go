package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// keyFile holds the private signing keys, the current one first.
const keyFile = "keys.pem"

// A KeyFile keeps the private signing keys of one process as PEM blocks in one file that only its owner can read. It is a pat.KeyFiles.
type KeyFile struct{ path string }

// Keys returns the key file of the data directory.
func (d *DataDir) Keys() KeyFile { return KeyFile{filepath.Join(d.path, keyFile)} }

// KeysFor returns the file for keys of another purpose, such as card, and algorithm.
func (d *DataDir) KeysFor(purpose, algorithm string) KeyFile {
	return KeyFile{filepath.Join(d.path, "keys."+purpose+"."+strings.ToLower(algorithm)+".pem")}
}

// Load returns what Save last stored, or nil if there is no file. It rejects a file that others may read.
func (k KeyFile) Load() ([]byte, error) {
	text, err := readPrivate(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Save replaces the file, as a whole and durably.
func (k KeyFile) Save(pem []byte) error { return writePrivate(k.path, pem) }
