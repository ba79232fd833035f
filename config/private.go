package config

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	keySuffix = ".pem"
	maxKeys   = 1000
)

// keyID is the grammar of a kid: base64url, so it can never leave its directory.
var keyID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// LoadKeys returns the private signing keys kept here, PEM of PKCS#8, in the order of their names. A key
// file that others can read, or that holds no such key, is an error naming it: the directory is not to
// be trusted then.
func (d *DataDir) LoadKeys(ctx context.Context) ([][]byte, error) {
	dir := filepath.Join(d.path, keysDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the signing keys: %w", err)
	}
	var keys [][]byte
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		kid, isKey := strings.CutSuffix(e.Name(), keySuffix)
		if !isKey || !keyID.MatchString(kid) {
			continue // such as what a crash left of a write
		}
		if len(keys) == maxKeys {
			return nil, fmt.Errorf("%s holds more than %d keys: remove the old ones", dir, maxKeys)
		}
		path := filepath.Join(dir, e.Name())
		text, err := readPrivate(path)
		if err == nil {
			err = privateKey(text)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the signing key %s: %w", path, err)
		}
		keys = append(keys, text)
	}
	return keys, nil
}

// SaveKey keeps a private key, PEM of PKCS#8, as keys/<kid>.pem (0600). It is on disk when SaveKey
// returns nil, and never there in part. The same kid again replaces the key.
func (d *DataDir) SaveKey(ctx context.Context, kid string, text []byte) error {
	path, err := d.keyPath(kid)
	if err != nil {
		return err
	}
	if err := errors.Join(ctx.Err(), privateKey(text)); err != nil {
		return fmt.Errorf("saving the signing key: %w", err)
	}
	if err := writePrivate(path, text); err != nil {
		return fmt.Errorf("saving the signing key: %w", err)
	}
	return nil
}

// RemoveKey deletes a private key. Removing one that is not there is fine.
func (d *DataDir) RemoveKey(ctx context.Context, kid string) error {
	path, err := d.keyPath(kid)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the signing key: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

func (d *DataDir) keyPath(kid string) (string, error) {
	if !keyID.MatchString(kid) {
		return "", errors.New("the key id is not base64url of 1 to 128 characters")
	}
	return filepath.Join(d.path, keysDir, kid+keySuffix), nil
}

// privateKey checks that text is exactly one PKCS#8 private key. The error says nothing about it.
func privateKey(text []byte) error {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" || len(strings.TrimSpace(string(rest))) > 0 {
		return errors.New("is not one PEM block PRIVATE KEY")
	}
	if _, err := x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
		return errors.New("is no PKCS#8 private key")
	}
	return nil
}

// readPrivate reads a small file that only its owner may read.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be used by others than its owner (mode %04o): chmod 600 it, and replace what it holds if somebody may have seen it", path, info.Mode().Perm())
	}
	return readFile(path, maxPEM)
}

// writePrivate replaces path as a whole: written beside it, synced, renamed, the directory synced.
func writePrivate(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, tempFiles) // CreateTemp makes files 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes renames and removals in dir durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
