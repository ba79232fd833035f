package config

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Files of a data directory.
const (
	lockFile   = "lock"
	socketFile = "admin.sock"
	stateFile  = "state.db"
	auditFile  = "audit.jsonl"
	tokenFile  = "admin.token"
	tempFiles  = ".tmp-*"

	private    = 0o600
	privateDir = 0o700
	tokenBytes = 32
)

// ErrDataInUse means that another process holds the data directory.
var ErrDataInUse = errors.New("in use by another uimgate process")

// A DataDir is the directory of a gateway's keys, state, audit stream and admin token. One process holds it at a time. It is safe for
// concurrent use.
type DataDir struct {
	path string
	lock *os.File
}

// OpenDataDir locks the directory, and creates it (0700) if it does not exist. If another process has locked it, the error wraps
// ErrDataInUse. The lock ends with Close or with the process, so a crash leaves nothing to clean up. Keep the DataDir until the end.
func OpenDataDir(path string) (*DataDir, error) {
	if err := os.MkdirAll(path, privateDir); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening the data directory: %w", err)
	}
	if err := ownedAlone(path, info); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, private)
	if err != nil {
		return nil, fmt.Errorf("opening the data directory: %w", err)
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		holder := make([]byte, 16)
		n, _ := lock.ReadAt(holder, 0)
		_ = lock.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("locking the data directory %s: %w", path, err)
		}
		return nil, fmt.Errorf("data directory %s is %w%s: stop that one, or give this one its own with --data",
			path, ErrDataInUse, pid(holder[:n]))
	}
	d := &DataDir{path, lock}
	if err := d.begin(); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("preparing the data directory %s: %w", path, err)
	}
	return d, nil
}

// ownedAlone returns an error if users other than that of this process and root may write to a directory: they could replace keys and the
// token.
func ownedAlone(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("data directory %s can be written by others than its owner (mode %04o): chmod 700 it, or name one below it", path, mode)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("data directory %s belongs to another user (%d): chown it to the one that runs uimgate, or name one below it",
			path, stat.Uid)
	}
	return nil
}

// begin records the holder of the directory and removes what a crash left.
func (d *DataDir) begin() error {
	if err := d.lock.Truncate(0); err == nil { // the number is only for messages: a full disk does not matter
		_, _ = d.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	left, err := filepath.Glob(filepath.Join(d.path, tempFiles)) // of writes that a crash interrupted
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
	return err
}

// pid returns the holder's process id for a message, if the lock file has it.
func pid(text []byte) string {
	n, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", n)
}

// Close releases the directory.
func (d *DataDir) Close() error {
	// Closing alone is not enough: a process that another goroutine is starting also has the file until it runs its program.
	return errors.Join(unix.Flock(int(d.lock.Fd()), unix.LOCK_UN), d.lock.Close())
}

// StatePath is the path of the embedded store's database.
func (d *DataDir) StatePath() string { return StatePath(d.path) }

// SocketPath is the path of the socket on which the gateway that runs on a directory listens for the operator of this machine.
func SocketPath(dir string) string { return filepath.Join(dir, socketFile) }

// longestSocket is how long the path of a socket may be on every system, in bytes: 104 with the final zero on macOS.
const longestSocket = 103

// ErrSocketPath means that the path of a data directory is too long for a socket in it.
var ErrSocketPath = errors.New("the path is too long for a Unix socket")

// ListenOwner listens at SocketPath for the user of this process alone, and removes the socket of an earlier process.
func (d *DataDir) ListenOwner(ctx context.Context) (net.Listener, error) {
	path := SocketPath(d.path)
	// Other users must not connect before the permissions are set, so the socket is created in a directory that they cannot read.
	hidden, err := os.MkdirTemp(d.path, ".tmp-") // otherwise the next start removes it
	if err != nil {
		return nil, fmt.Errorf("listening for the operator: %w", err)
	}
	defer func() { _ = os.RemoveAll(hidden) }()
	made := filepath.Join(hidden, "s")
	if len(made) > longestSocket {
		return nil, fmt.Errorf("%s: %w", path, ErrSocketPath)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", made)
	if err != nil {
		return nil, fmt.Errorf("listening for the operator: %w", err)
	}
	if socket, ok := ln.(*net.UnixListener); ok {
		socket.SetUnlinkOnClose(false) // it has another name by then; the next start removes it
	}
	if err := errors.Join(os.Chmod(made, private), os.Rename(made, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("listening for the operator: %w", err), ln.Close())
	}
	return ln, nil
}

// StatePath is the same for a directory that another process may hold.
func StatePath(dir string) string { return filepath.Join(dir, stateFile) }

// StorePlace is the location of a store's state: the file of the embedded one, or the URL of the other, which is a secret.
func (d *DataDir) StorePlace(s Store) string {
	if s.Engine == Postgres {
		return s.URL.Reveal()
	}
	return d.StatePath()
}

// AuditLog opens the audit stream for appending (0600). It completes a line that a crash left unfinished, so that the line spoils no
// other. Write whole lines; the caller syncs and closes.
func (d *DataDir) AuditLog() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(d.path, auditFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, private)
	if err != nil {
		return nil, fmt.Errorf("opening the audit stream: %w", err)
	}
	if err := endLine(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("opening the audit stream: %w", err)
	}
	return f, nil
}

// endLine appends a line end where the file does not end in one.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err = f.Write([]byte{'\n'})
	return err
}

// made reads the secret in a private file, and creates it from 256 random bits if it is missing.
func (d *DataDir) made(path string, encode func([]byte) string) (string, error) {
	text, err := readPrivate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return string(bytes.TrimSpace(text)), err
	}
	random := make([]byte, tokenBytes)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("making it: %w", err)
	}
	secret := encode(random)
	if err := writePrivate(path, []byte(secret+"\n")); err != nil {
		return "", fmt.Errorf("making it: %w", err)
	}
	return secret, nil
}

// AdminToken returns the configured token or, if that is empty, the one in admin.token (0600), which is created once from 256 random
// bits.
func (d *DataDir) AdminToken(configured Secret) (Secret, error) {
	if !configured.IsEmpty() {
		return configured, nil
	}
	path := filepath.Join(d.path, tokenFile)
	token, err := d.made(path, base64.RawURLEncoding.EncodeToString)
	if err != nil {
		return Secret{}, fmt.Errorf("the admin token: %w", err)
	}
	if len(token) < shortToken || len(token) > longToken || !printable(token) {
		return Secret{}, fmt.Errorf("%s holds no token of at least %d characters: delete it to have one made", path, shortToken)
	}
	return NewSecret(token), nil
}
