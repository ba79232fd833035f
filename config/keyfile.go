package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keyFile is the file with the private signing keys, the current one first.
const keyFile = "keys.pem"

// A KeyFile keeps the private signing keys of one process as PEM blocks in one file that only its owner can read. It implements
// keys.Files.
type KeyFile struct{ path string }

// Keys returns the key file of the data directory.
func (d *DataDir) Keys() KeyFile { return KeyFile{filepath.Join(d.path, keyFile)} }

// KeysFor returns the file for the keys of one algorithm and one purpose other than signing PATs, such as card.
func (d *DataDir) KeysFor(purpose, algorithm string) KeyFile {
	return KeyFile{filepath.Join(d.path, "keys."+purpose+"."+strings.ToLower(algorithm)+".pem")}
}

// Process returns the name of the process that uses the data directory, for operators: the name of the machine and the path of the
// directory. It differs among the processes that share a database.
func (d *DataDir) Process() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	path, err := filepath.Abs(d.path)
	if err != nil {
		path = d.path
	}
	return host + ":" + path
}

// Load returns the contents of the file, or nil if there is no file. It returns an error if users other than the owner can access the
// file.
func (k KeyFile) Load() ([]byte, error) {
	text, err := readPrivate(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Save replaces the file atomically and durably.
func (k KeyFile) Save(pem []byte) error { return writePrivate(k.path, pem) }
