package gatewaycmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/intents/openapi"
)

// readExisting reads the files in dir that init uses, and the policies that the configuration in dir names. The result maps the name of
// each file to its content.
func readExisting(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	read := func(name string) error {
		data, err := cli.ReadNamed(pathIn(dir, name), config.MaxAgentsFile)
		if err == nil {
			out[name] = data
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, name := range openapi.Names {
		if err := read(name); err != nil {
			return nil, err
		}
	}
	policies, _ := policyNames(dir, out)
	for _, name := range policies {
		if err := read(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// nameIn returns the path of a file relative to dir, or path itself if it cannot be made relative.
func nameIn(dir, path string) string {
	if name, err := filepath.Rel(dir, path); err == nil {
		return name
	}
	return filepath.Clean(path)
}

// pathIn is the inverse of nameIn.
func pathIn(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// writeFiles creates the directory if necessary, and replaces the files together. It replaces openapi.RecordFile last: if the process dies,
// that file never lists a file that was not written.
func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a configuration contains no secrets
		return err
	}
	paths := map[string][]byte{}
	for name, data := range files {
		paths[pathIn(dir, name)] = data
	}
	return cli.WriteFiles(paths, pathIn(dir, openapi.RecordFile))
}
