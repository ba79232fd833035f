package config_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/config"
)

func open(t *testing.T, path string) *config.DataDir {
	t.Helper()
	d, err := config.OpenDataDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// mode returns the permissions of a path.
func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func newKey(t *testing.T) []byte {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func TestDataDirectoryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "data")
	first := open(t, path)
	if mode(t, path) != 0o700 || mode(t, filepath.Join(path, "lock")) != 0o600 {
		t.Error("other users can read the directory")
	}
	second, err := config.OpenDataDir(path)
	if second != nil || !errors.Is(err, config.ErrDataInUse) || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "(process ") {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}

func TestInvalidDataDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	if _, err := config.OpenDataDir(filepath.Join(dir, "file")); err == nil {
		t.Error("a file was opened as a data directory")
	}
	loose := filepath.Join(dir, "loose")
	if err := os.Mkdir(loose, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o777, 0o770, 0o720, 0o702} {
		if err := os.Chmod(loose, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := config.OpenDataDir(loose); err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("mode %04o: %v, want an error that contains %q", mode, err, "chmod 700")
		}
	}
	if err := errors.Join(os.Chmod(loose, 0o755), os.Chown(loose, 4711, -1)); errors.Is(err, os.ErrPermission) {
		t.Skip("only root can change the owner of a directory")
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := config.OpenDataDir(loose); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("got %v, want an error that contains %q", err, "another user")
	}
}

func TestAdminTokenIsCreatedOnce(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if got, err := d.AdminToken(config.NewSecret("mine")); err != nil || got.Reveal() != "mine" {
		t.Error(err)
	}
	made, err := d.AdminToken(config.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	if random, err := base64.RawURLEncoding.DecodeString(made.Reveal()); err != nil || len(random) != 32 {
		t.Errorf("%d random bytes, %v", len(random), err)
	}
	file := filepath.Join(path, "admin.token")
	if mode(t, file) != 0o600 {
		t.Error("other users can read the token")
	}
	if again, err := d.AdminToken(config.Secret{}); err != nil || !again.Equal(made.Reveal()) {
		t.Errorf("another token, %v", err)
	}
	write(t, file, "\n")
	if _, err := d.AdminToken(config.Secret{}); err == nil || !strings.Contains(err.Error(), "delete the file") {
		t.Errorf("got %v, want an error that contains %q", err, "delete the file")
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.AdminToken(config.Secret{}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v, want an error that contains %q", err, "chmod 600")
	}
}

func TestSeedIsCreatedOnce(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	made, err := d.Seed("uagents", "shop")
	if err != nil || len(made.Reveal()) < 40 {
		t.Fatalf("%d characters, %v", len(made.Reveal()), err)
	}
	file := filepath.Join(path, "uagents.shop.seed")
	if mode(t, file) != 0o600 {
		t.Error("other users can read the seed")
	}
	if again, err := d.Seed("uagents", "shop"); err != nil || !again.Equal(made.Reveal()) {
		t.Errorf("another seed, %v", err)
	}
	if other, err := d.Seed("uagents", "books"); err != nil || other.Equal(made.Reveal()) {
		t.Errorf("the seed of another service, %v", err)
	}
	write(t, file, "short\n")
	if _, err := d.Seed("uagents", "shop"); err == nil || !strings.Contains(err.Error(), "does not contain a seed") ||
		strings.Contains(err.Error(), "short") {
		t.Error(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Seed("uagents", "shop"); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v, want an error that contains %q", err, "chmod 600")
	}
}

func TestPrivateKeyIsCreatedOnce(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	made, err := d.PrivateKey("aea", "shop")
	if _, wrong := hex.DecodeString(made.Reveal()); err != nil || wrong != nil || len(made.Reveal()) != 64 {
		t.Fatalf("%d characters, %v", len(made.Reveal()), err)
	}
	file := filepath.Join(path, "aea.shop.key")
	if mode(t, file) != 0o600 {
		t.Error("other users can read the key")
	}
	if again, err := d.PrivateKey("aea", "shop"); err != nil || !again.Equal(made.Reveal()) {
		t.Errorf("another key, %v", err)
	}
	if other, err := d.PrivateKey("aea", "books"); err != nil || other.Equal(made.Reveal()) {
		t.Errorf("the key of another service, %v", err)
	}
	write(t, file, "short\n")
	if _, err := d.PrivateKey("aea", "shop"); err == nil || !strings.Contains(err.Error(), "does not contain a private key") ||
		strings.Contains(err.Error(), "short") {
		t.Error(err)
	}
}

func TestAuditStreamIsAppended(t *testing.T) {
	d := open(t, t.TempDir())
	for _, line := range []string{"{\"a\":1}\n", "{\"b\":2", "{\"c\":3}\n"} {
		f, err := d.AuditLog()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, line); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	path := filepath.Join(d.Path(), "audit.jsonl")
	if text, err := os.ReadFile(path); err != nil || string(text) != "{\"a\":1}\n{\"b\":2\n{\"c\":3}\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if mode(t, path) != 0o600 {
		t.Error("other users can read the audit stream")
	}
	if d.StatePath() != filepath.Join(d.Path(), "state.db") {
		t.Error(d.StatePath())
	}
}

func TestKeyFileRoundTrip(t *testing.T) {
	path := t.TempDir()
	keys := open(t, path).Keys()
	if text, err := keys.Load(); text != nil || err != nil {
		t.Errorf("before Save: %q, %v; want nil, nil", text, err)
	}
	for _, key := range [][]byte{newKey(t), newKey(t)} {
		if err := keys.Save(key); err != nil {
			t.Fatal(err)
		}
		if text, err := keys.Load(); err != nil || !bytes.Equal(text, key) {
			t.Errorf("Load differs from Save: %v", err)
		}
	}
	file := filepath.Join(path, "keys.pem")
	if mode(t, file) != 0o600 {
		t.Error("other users can read the keys")
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if text, err := keys.Load(); text != nil || err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}
