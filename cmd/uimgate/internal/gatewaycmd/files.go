package gatewaycmd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

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

// A replacement is a file whose new content was written to a temporary file.
type replacement struct {
	path, temporary string
	had             bool        // whether the file existed
	before          []byte      // its earlier content, if it existed
	mode            fs.FileMode // the mode of the earlier file, or 0644
}

// writeFiles creates the directory if necessary, and replaces each file atomically. If a file cannot be written, it restores the files that
// it has already replaced. It replaces openapi.RecordFile last: if the process dies, that file never lists a file that was not written.
func writeFiles(dir string, files map[string][]byte) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a configuration contains no secrets
		return err
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return name == openapi.RecordFile })
	var all []*replacement
	defer func() {
		for _, r := range all {
			_ = os.Remove(r.temporary) // unless the file was renamed
		}
	}()
	for _, name := range append(names, openapi.RecordFile) {
		r, err := stage(pathIn(dir, name), files[name])
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	return replaceAll(all)
}

// replaceAll renames the temporary files. If it cannot rename one, it restores the files that it has replaced.
func replaceAll(all []*replacement) error {
	for n, r := range all {
		if err := os.Rename(r.temporary, r.path); err != nil {
			for _, done := range all[:n] {
				err = errors.Join(err, done.undo())
			}
			return err
		}
	}
	return nil
}

// writeFile replaces one file atomically.
func writeFile(path string, data []byte) error {
	r, err := stage(path, data)
	if err != nil {
		return err
	}
	if err = os.Rename(r.temporary, r.path); err != nil {
		_ = os.Remove(r.temporary)
	}
	return err
}

// stage writes data to a temporary file in the directory of the file at path; it follows symbolic links. A new file gets the mode 0644.
func stage(path string, data []byte) (*replacement, error) {
	r := &replacement{path: path, mode: 0o644}
	switch info, err := os.Stat(path); {
	case err == nil:
		if r.path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
		r.had, r.mode = true, info.Mode().Perm()
		if r.before, err = cli.ReadNamed(path, config.MaxAgentsFile); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(r.path), ".uimgate-init-*")
	if err != nil {
		return nil, err
	}
	r.temporary = f.Name()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(r.mode), f.Close()); err != nil {
		_ = os.Remove(r.temporary)
		return nil, err
	}
	return r, nil
}

// undo restores the earlier content at the path.
func (r *replacement) undo() error {
	var err error
	if r.had {
		err = os.WriteFile(r.path, r.before, r.mode)
	} else {
		err = os.Remove(r.path)
	}
	if err != nil {
		return fmt.Errorf("%s was replaced and cannot be restored: %w", r.path, err)
	}
	return nil
}
