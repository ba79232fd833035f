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
	lockFile        = "lock"
	socketFile      = "admin.sock"
	stateFile       = "state.db"
	auditFile       = "audit.jsonl"
	auditCursorFile = "audit.export.json"
	verifiedFile    = "verified.json"
	tokenFile       = "admin.token"
	tempFiles       = ".tmp-*"

	private    = 0o600
	privateDir = 0o700
	tokenBytes = 32
)

// ErrDataInUse means that another process has locked the data directory.
var ErrDataInUse = errors.New("in use by another uimgate process")

// A DataDir is the directory of a gateway's keys, state, audit stream and admin token, locked by this process. It is safe for concurrent
// use.
type DataDir struct {
	path string
	lock *os.File
}

// OpenDataDir locks the directory, and creates it (0700) if it does not exist. It returns an error if users other than root and the user of
// this process can write to the directory. If another process has locked it, the error wraps ErrDataInUse. The lock ends with Close or with
// the process, so a crash leaves nothing to clean up. Keep the DataDir as long as the directory is in use: the garbage collector would
// release the lock.
func OpenDataDir(path string) (*DataDir, error) {
	if err := os.MkdirAll(path, privateDir); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
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
		return nil, fmt.Errorf("data directory %s is %w%s: stop that process, or name another directory with --data",
			path, ErrDataInUse, pid(holder[:n]))
	}
	d := &DataDir{path, lock}
	if err := d.begin(); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("preparing the data directory %s: %w", path, err)
	}
	return d, nil
}

// ownedAlone returns an error if users other than root and the user of this process can write to a directory, because they could replace
// the keys and the admin token.
func ownedAlone(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("data directory %s can be written by users other than its owner (mode %04o): run chmod 700 on it, or name a directory below it", path, mode)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("data directory %s belongs to another user (%d): chown it to the user that runs uimgate, or name a directory below it",
			path, stat.Uid)
	}
	return nil
}

// begin writes the process id into the lock file, and removes temporary files that a crash left.
func (d *DataDir) begin() error {
	if err := d.lock.Truncate(0); err == nil { // the process id is only for messages, so a full disk does not matter
		_, _ = d.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	left, err := filepath.Glob(filepath.Join(d.path, tempFiles)) // files that a crash left half written
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
	return err
}

// pid formats the process id in a lock file for a message. It returns "" if the file has none.
func pid(text []byte) string {
	n, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", n)
}

// Close releases the lock.
func (d *DataDir) Close() error {
	// Closing alone is not enough: a child process that another goroutine is starting shares the open file until it calls exec.
	return errors.Join(unix.Flock(int(d.lock.Fd()), unix.LOCK_UN), d.lock.Close())
}

// StatePath returns the path of the embedded store's database.
func (d *DataDir) StatePath() string { return StatePath(d.path) }

// SocketPath returns the path of the socket in a data directory. The gateway that uses the directory listens on it for the operator on this
// machine.
func SocketPath(dir string) string { return filepath.Join(dir, socketFile) }

// longestSocket is the maximum length of the path of a socket, in bytes, that all systems allow: on macOS it is 104 with the terminating
// zero.
const longestSocket = 103

// ErrSocketPath means that the path of a data directory is too long for a socket in it.
var ErrSocketPath = errors.New("the path is too long for a Unix socket: use a data directory with a shorter path")

// ListenOwner listens at SocketPath, where only the user of this process can connect. It replaces the socket of an earlier process. If the
// path is too long, the error wraps ErrSocketPath.
func (d *DataDir) ListenOwner(ctx context.Context) (net.Listener, error) {
	path := SocketPath(d.path)
	// Other users must not connect before the permissions are set, so the socket is created in a directory that they cannot read.
	hidden, err := os.MkdirTemp(d.path, ".tmp-") // after a crash, the next start removes it
	if err != nil {
		return nil, fmt.Errorf("listening on the admin socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(hidden) }()
	made := filepath.Join(hidden, "s")
	if len(made) > longestSocket {
		return nil, fmt.Errorf("%s: %w", path, ErrSocketPath)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", made)
	if err != nil {
		return nil, fmt.Errorf("listening on the admin socket: %w", err)
	}
	if socket, ok := ln.(*net.UnixListener); ok {
		socket.SetUnlinkOnClose(false) // the file is renamed below; the next start replaces it
	}
	if err := errors.Join(os.Chmod(made, private), os.Rename(made, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("listening on the admin socket: %w", err), ln.Close())
	}
	return ln, nil
}

// StatePath returns the path of the embedded store's database in a data directory, which another process may have locked.
func StatePath(dir string) string { return filepath.Join(dir, stateFile) }

// StorePlace returns the location of a store's state: the database file of the embedded store, or the URL of PostgreSQL, which is a secret.
func (d *DataDir) StorePlace(s Store) string {
	if s.Engine == Postgres {
		return s.URL.Reveal()
	}
	return d.StatePath()
}

// AuditPath returns the path of the current file of the audit stream.
func (d *DataDir) AuditPath() string { return filepath.Join(d.path, auditFile) }

// AuditCursorPath returns the path of the file that records how much of the audit stream was exported.
func (d *DataDir) AuditCursorPath() string { return filepath.Join(d.path, auditCursorFile) }

// VerifiedPath returns the path of the file that records how far the gateway has verified the ledger.
func (d *DataDir) VerifiedPath() string { return filepath.Join(d.path, verifiedFile) }

// AuditLog opens the audit stream for appending (0600). If a crash left an unfinished line, AuditLog ends that line first. The caller must
// write whole lines, and must sync and close the file.
func (d *DataDir) AuditLog() (*os.File, error) {
	f, err := os.OpenFile(d.AuditPath(), os.O_RDWR|os.O_CREATE|os.O_APPEND, private)
	if err != nil {
		return nil, fmt.Errorf("opening the audit stream: %w", err)
	}
	if err := endLine(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("opening the audit stream: %w", err)
	}
	return f, nil
}

// endLine appends a newline if the file is not empty and does not end with one.
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

// made returns the secret in the private file at path, without white space around it. If there is no file, made creates it from 256 random
// bits, which encode converts to text.
func (d *DataDir) made(path string, encode func([]byte) string) (string, error) {
	text, err := readPrivate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return string(bytes.TrimSpace(text)), err
	}
	random := make([]byte, tokenBytes)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("creating it: %w", err)
	}
	secret := encode(random)
	if err := writePrivate(path, []byte(secret+"\n")); err != nil {
		return "", fmt.Errorf("creating it: %w", err)
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
		return Secret{}, fmt.Errorf("%s does not contain a token of at least %d characters: delete the file, and uimgate creates a new token", path, shortToken)
	}
	return NewSecret(token), nil
}
