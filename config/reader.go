package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Maximum sizes of the files that a configuration names, in bytes.
const (
	MaxAgentsFile = 64 << 20
	maxPolicyFile = 16 << 20
	maxProfile    = 4 << 20
	maxRegoFile   = 1 << 20
	maxPEM        = 1 << 20
	maxSecretFile = yamlconf.MaxValue
)

// A reader reads the files that a configuration names, relative to the directory of the configuration. It reads each file once, and
// records it in inputs.
type reader struct {
	dir    string
	inputs []File
	states FileStates
	cache  map[string]content
}

func newReader(dir string) *reader {
	return &reader{dir: dir, states: FileStates{}, cache: map[string]content{}}
}

type content struct {
	data []byte
	sum  string
}

// path resolves name relative to the directory of the configuration.
func (r *reader) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(r.dir, name)
}

// load reads a file of at most maxBytes bytes, and adds it to inputs even if it cannot be read. In that case, the returned File has only a
// path. If hide is set, its entry in inputs has no digest.
func (r *reader) load(name string, maxBytes int64, hide bool) (File, error) {
	path := r.path(name)
	got, known := r.cache[path]
	var err error
	if !known {
		r.states[path] = fileState(path) // before the file is read, so that a change in between is noticed
		if got.data, err = yamlconf.ReadFile(path, maxBytes); err == nil {
			sum := sha256.Sum256(got.data)
			got.sum = hex.EncodeToString(sum[:])
			r.cache[path] = got
		}
	}
	input := File{Path: path, SHA256: got.sum}
	if hide {
		input.SHA256 = ""
	}
	r.inputs = append(r.inputs, input)
	if err != nil {
		return File{Path: path}, err
	}
	if int64(len(got.data)) > maxBytes {
		return File{Path: path}, yamlconf.TooLarge(path, maxBytes)
	}
	return File{path, got.data, got.sum}, nil
}

// secret returns the text of the file that ${file:…} names, without the newline at its end, which editors add.
func (r *reader) secret(name string) (string, error) {
	if name == "" {
		return "", errors.New("${file:} names no file")
	}
	f, err := r.load(name, maxSecretFile, true)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(f.Data) {
		return "", fmt.Errorf("%s is not UTF-8 text", f.Path)
	}
	text := strings.TrimSuffix(string(f.Data), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}
