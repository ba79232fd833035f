package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/uimgate/uimgate/config"
)

// A replacement is a file whose new content was written to a temporary file.
type replacement struct {
	path, temporary string
	had             bool        // whether the file existed
	before          []byte      // its earlier content, if it existed
	mode            fs.FileMode // the mode of the earlier file, or 0644
}

// WriteFiles replaces each file atomically. The map has the new contents by path. If a file cannot be written, WriteFiles restores those
// that it has already replaced. The parameter last is the path of the file that WriteFiles replaces after all others.
func WriteFiles(files map[string][]byte, last string) error {
	paths := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(path string) bool { return path == last })
	var all []*replacement
	defer func() {
		for _, r := range all {
			_ = os.Remove(r.temporary) // unless the file was renamed
		}
	}()
	for _, path := range append(paths, last) {
		r, err := stage(path, files[path])
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

// WriteFile replaces one file atomically.
func WriteFile(path string, data []byte) error {
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
		if r.before, err = ReadNamed(path, config.MaxAgentsFile); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(r.path), ".uimgate-*")
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
