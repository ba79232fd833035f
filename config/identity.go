package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/regex"
)

// The minimum and maximum length of a seed, in bytes.
const (
	shortSeed = 16
	longSeed  = 1000
)

var privateKey = regex.Lazy(`^(0x)?[0-9a-fA-F]{64}$`)

// isSeed reports whether s has the form of a seed: one line of UTF-8 with shortSeed to longSeed bytes.
func isSeed(s string) bool {
	return len(s) >= shortSeed && len(s) <= longSeed && utf8.ValidString(s) && !strings.ContainsAny(s, "\r\n")
}

// Seed reads the file with the seed of an identity, which is one line of 16 to 1000 bytes. If the file cannot be read or the seed is
// invalid, Seed reports an error and returns an empty Secret. It also returns an empty Secret if f has no path.
func (b *BlockCheck) Seed(key string, f *File) Secret {
	data, ok := b.Secret(key, f)
	seed := strings.TrimRight(string(data), "\r\n")
	switch {
	case !ok:
	case !isSeed(seed):
		b.Errorf(key, "%s does not contain a seed: want one line of %d to %d characters", f.Path, shortSeed, longSeed)
	default:
		return NewSecret(seed)
	}
	return Secret{}
}

// PrivateKey reads the file with the private key of an identity, which is 64 hexadecimal digits, and returns the digits without the prefix
// 0x. If the file cannot be read or the key is invalid, PrivateKey reports an error and returns an empty Secret. It also returns an empty
// Secret if f has no path.
func (b *BlockCheck) PrivateKey(key string, f *File) Secret {
	data, ok := b.Secret(key, f)
	digits := strings.TrimSpace(string(data))
	switch {
	case !ok:
	case !privateKey().MatchString(digits):
		b.Errorf(key, "%s does not contain a private key: want 64 hexadecimal digits", f.Path)
	default:
		return NewSecret(strings.TrimPrefix(digits, "0x"))
	}
	return Secret{}
}

// Seed returns the seed of a door's identity for one service, from <door>.<service>.seed (0600), which is created once from 256 random
// bits. Anyone who has the seed can act as the service towards the agents of that protocol.
func (d *DataDir) Seed(door, service string) (Secret, error) {
	path := filepath.Join(d.path, door+"."+service+".seed")
	text, err := d.made(path, base64.RawURLEncoding.EncodeToString)
	if err != nil {
		return Secret{}, fmt.Errorf("the seed of %s for %s: %w", door, service, err)
	}
	if !isSeed(text) {
		return Secret{}, fmt.Errorf("%s does not contain a seed: want one line of %d to %d characters", path, shortSeed, longSeed)
	}
	return NewSecret(text), nil
}

// PrivateKey returns the private key of a door's identity for one service, as 64 hexadecimal digits, from <door>.<service>.key (0600),
// which is created once from 256 random bits.
func (d *DataDir) PrivateKey(door, service string) (Secret, error) {
	path := filepath.Join(d.path, door+"."+service+".key")
	text, err := d.made(path, hex.EncodeToString)
	if err != nil {
		return Secret{}, fmt.Errorf("the key of %s for %s: %w", door, service, err)
	}
	if !privateKey().MatchString(text) {
		return Secret{}, fmt.Errorf("%s does not contain a private key: want 64 hexadecimal digits", path)
	}
	return NewSecret(text), nil
}

// CertificatePath returns the path of the file that contains the certificate of a door's listeners for one service and the private key of
// that certificate.
func (d *DataDir) CertificatePath(door, service string) string {
	return filepath.Join(d.path, door+"."+service+".pem")
}

// Rename renames the files of a door's identity from one service id to another. It skips a file that the new id already has, and does not
// require that a file exists.
func (d *DataDir) Rename(door, from, to string) error {
	for _, kind := range []string{".seed", ".key", ".pem"} {
		old, path := filepath.Join(d.path, door+"."+from+kind), filepath.Join(d.path, door+"."+to+kind)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := os.Rename(old, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the identity of %s for %s: %w", door, to, err)
		}
	}
	return nil
}
