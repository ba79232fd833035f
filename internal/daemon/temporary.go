package daemon

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// temporary is the prefix of the names of directories for unfinished copies. Digits follow it.
const temporary = ".tmp-uimgate-"

// tempBeside creates a directory next to path, and in it an empty file that only its owner can read. It also removes the directories that
// killed processes left behind. A lock on the directory shows that this process uses it. The caller must call done, which removes the
// directory.
func tempBeside(path string) (name string, done func(), err error) {
	beside := filepath.Dir(path)
	if err := removeLeft(beside); err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(beside, temporary+"*")
	if err != nil {
		return "", nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	done = func() {
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
	name = filepath.Join(dir, "copy")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		done()
		return "", nil, err
	}
	return name, done, nil
}

// lockDir locks a directory for this process. It returns an error if another process holds the lock.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// removeLeft removes the directories of unfinished copies that no process uses.
func removeLeft(beside string) error {
	entries, err := os.ReadDir(beside)
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), temporary)
		if !ours || !e.IsDir() || strings.Trim(number, "0123456789") != "" {
			continue
		}
		dir := filepath.Join(beside, e.Name())
		lock, err := lockDir(dir)
		if err != nil {
			continue // a process uses it, it belongs to another user, or it no longer exists
		}
		_ = os.RemoveAll(dir) // the next backup tries again
		_ = lock.Close()
	}
	return nil
}
