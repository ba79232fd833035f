package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrNotInstalled means that this machine has no PostgreSQL server.
var ErrNotInstalled = errors.New("no PostgreSQL server is installed: " +
	"apt-get install postgresql, dnf install postgresql-server or brew install postgresql (nothing needs to be running)")

// programs lists the programs that create and run a cluster.
var programs = []string{"initdb", "pg_ctl", "postgres"}

// places lists the directories where packages install the programs outside the PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin",
	"/usr/local/pgsql/bin", "/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findPrograms returns the directory of the programs: the one on the PATH, or the one of the newest version.
func findPrograms(ctx context.Context) (string, error) {
	var dirs []string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if initdb, err = filepath.EvalSymlinks(initdb); err == nil {
			dirs = append(dirs, filepath.Dir(initdb))
		}
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	var found []string
	for _, pattern := range places {
		match, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		found = append(found, match...)
	}
	slices.SortStableFunc(found, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range append(dirs, found...) {
		if !slices.ContainsFunc(programs, func(name string) bool { return !executable(filepath.Join(dir, name)) }) {
			return dir, nil
		}
	}
	return "", ErrNotInstalled
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// version returns the first number in a path, or 0 if there is none.
func version(path string) int {
	digits := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, err := strconv.Atoi(digits[0])
	if err != nil {
		return 0
	}
	return n
}

// servant returns the user that runs the server, which must not be root. nil means the user of this process.
func servant() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}
