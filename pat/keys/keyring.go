package keys

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Files stores the private signing keys of this process so that no other user can read them. The bytes are PKCS#8 keys in PEM blocks, the
// current key first.
type Files interface {
	// Load returns the bytes that Save wrote last, or nil if Save was never called.
	Load() ([]byte, error)
	// Save replaces the whole content durably.
	Save(pem []byte) error
}

// A Config configures a Keyring.
type Config struct {
	Store     Store
	Files     Files
	Algorithm string // the algorithm of new keys: EdDSA, ES256 or RS256; a key with a different algorithm still verifies until it ends
	// Overlap is how long a key verifies after its last signature: at least a minute, and at least as long as a PAT of any Issuer that
	// uses this Keyring is accepted.
	Overlap time.Duration
	// Process is the name of this process for operators, among the processes that share the store. It may be empty.
	Process string
	Now     func() time.Time
}

// A Keyring holds the private key with which this process signs PATs, and the public keys of all processes, which verify PATs. It is safe
// for concurrent use.
type Keyring struct {
	store   Store
	files   Files
	purpose Purpose
	process string
	alg     string
	overlap atomic.Int64 // nanoseconds
	now     func() time.Time

	mu          sync.Mutex // serializes Rotate, Retire and changes of the set
	signing     atomic.Pointer[PrivateKey]
	family      *family // shared by the Keyrings of all purposes
	rereadLimit *rate.Limiter
}

// A keySet is immutable; a change makes another one with the next version.
type keySet struct {
	version uint64
	keys    map[ID]VerifyingKey
}

// A VerifyingKey is a public key with its record.
type VerifyingKey struct {
	SigningKey
	Key Key
}

// live reports whether the key still verifies at now.
func (k VerifyingKey) live(now time.Time) bool {
	return k.NotAfter.IsZero() || now.Before(k.NotAfter)
}

const (
	// rereadEvery is the minimum time between two reads of the store because of an unknown kid.
	rereadEvery = time.Second
	maxKeyID    = 64
)

// Open reads the public keys of all processes and loads the private key of this one. If the files contain no key of the algorithm that may
// still sign, Open generates and registers one.
func Open(ctx context.Context, c Config) (*Keyring, error) {
	if _, ok := methods[c.Algorithm]; !ok {
		return nil, fmt.Errorf("pat.algorithm: %q is not %s, %s or %s", c.Algorithm, EdDSA, ES256, RS256)
	}
	if c.Store == nil || c.Files == nil || c.Now == nil || c.Overlap < time.Minute {
		return nil, errors.New("a keyring needs a store, key files, a clock and an overlap of at least a minute")
	}
	k := &Keyring{
		store: c.Store, files: c.Files, alg: c.Algorithm, process: c.Process, now: c.Now,
		rereadLimit: rate.NewLimiter(rate.Every(rereadEvery), 1), family: newFamily(),
	}
	k.family.add(k)
	k.ExtendOverlap(c.Overlap)
	if err := k.Reload(ctx); err != nil {
		return nil, err
	}
	if err := k.open(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

// For returns a Keyring for another purpose, with one algorithm and a separate private key in files. The new Keyring shares the public keys
// with k: k also publishes those of the new Keyring, and it is enough to apply changes to k.
func (k *Keyring) For(ctx context.Context, purpose Purpose, algorithm string, files Files) (*Keyring, error) {
	if _, ok := methods[algorithm]; !ok {
		return nil, fmt.Errorf("a key for %s: %w", purpose, ErrUnsupported)
	}
	other := &Keyring{
		store: k.store, files: files, purpose: purpose, alg: algorithm, process: k.process, now: k.now, family: k.family,
		rereadLimit: rate.NewLimiter(rate.Every(rereadEvery), 1),
	}
	other.ExtendOverlap(time.Duration(k.overlap.Load()))
	if err := other.open(ctx); err != nil {
		return nil, err
	}
	k.family.add(other)
	return other, nil
}

// open selects the first key in the files for signing if that key may still sign, and otherwise calls Rotate. It also retires the keys that
// an interrupted rotation did not retire.
func (k *Keyring) open(ctx context.Context) error {
	text, err := k.files.Load()
	if err != nil {
		return fmt.Errorf("loading the signing keys: %w", err)
	}
	keys, err := parseSigningKeys(text)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		_, err := k.Rotate(ctx)
		return err
	}
	k.mu.Lock()
	for _, old := range keys[1:] {
		if registered, ok := k.family.set.Load().keys[old.ID]; ok && registered.NotAfter.IsZero() {
			if err := k.retire(ctx, registered.SigningKey, k.now().Add(time.Duration(k.overlap.Load()))); err != nil {
				k.mu.Unlock()
				return err
			}
		}
	}
	k.mu.Unlock()
	first := keys[0]
	first.Purpose = k.purpose
	k.signing.Store(&first)
	// If the store does not have the key, either the key has ended and was deleted, or the store is new and there are no PATs. A new key is
	// correct in both cases; the old key might not be.
	if registered, ok := k.family.set.Load().keys[first.ID]; first.Algorithm != k.alg || !ok || !registered.NotAfter.IsZero() ||
		registered.Purpose != k.purpose {
		_, err := k.Rotate(ctx)
		return err
	} else if registered.Process != k.process { // for example, because the machine was renamed
		return k.register(ctx, registered.SigningKey)
	}
	return nil
}

// register adds a new key of this process to the store, then to this Keyring, or updates the name of its process.
func (k *Keyring) register(ctx context.Context, s SigningKey) error {
	if s.Purpose, s.Process = k.purpose, k.process; s.CreatedAt.IsZero() {
		s.CreatedAt = k.now()
	}
	if err := k.store.AddSigningKey(ctx, s); err != nil {
		return fmt.Errorf("registering signing key %s: %w", s.ID, err)
	}
	return k.Apply(s)
}

// Rotate generates a new key, which signs from then on. The previous key still verifies for Overlap.
func (k *Keyring) Rotate(ctx context.Context) (SigningKey, error) {
	return k.rotateFrom(ctx, nil)
}

// rotateFrom is like Rotate, but does nothing if another call has replaced from as the signing key. If from is nil, rotateFrom always
// rotates.
func (k *Keyring) rotateFrom(ctx context.Context, from *PrivateKey) (SigningKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.signing.Load(); from != nil && now != from {
		return now.SigningKey, nil
	}
	next, err := newSigningKey(k.alg)
	if err != nil {
		return SigningKey{}, err
	}
	before := k.signing.Load()
	// The file is durable before any other process can see the key. It also contains the previous key, so that open can retire it if this
	// process stops before the end of the rotation.
	kept, err := k.kept(next, before)
	if err != nil {
		return SigningKey{}, err
	}
	text, err := writeSigningKeys(kept)
	if err != nil {
		return SigningKey{}, err
	}
	if err := k.files.Save(text); err != nil {
		return SigningKey{}, fmt.Errorf("saving the signing keys: %w", err)
	}
	if err := k.register(ctx, next.SigningKey); err != nil {
		return SigningKey{}, err
	}
	k.signing.Store(&next)
	if before == nil {
		return next.SigningKey, nil
	}
	if old, ok := k.family.set.Load().keys[before.ID]; ok && old.NotAfter.IsZero() {
		if err := k.retire(ctx, old.SigningKey, k.now().Add(time.Duration(k.overlap.Load()))); err != nil {
			return SigningKey{}, err
		}
	}
	return next.SigningKey, nil
}

// kept returns the keys for the file: the new key, the key before it and, if documents must verify for years, still earlier ones. Earlier
// then returns a key that others know, even after several rotations in a row or an interrupted one.
func (k *Keyring) kept(next PrivateKey, before *PrivateKey) ([]PrivateKey, error) {
	out := []PrivateKey{next}
	if before != nil {
		out = append(out, *before)
	}
	if !k.purpose.Lasting() {
		return out, nil
	}
	text, err := k.files.Load()
	if err != nil {
		return nil, fmt.Errorf("loading the signing keys: %w", err)
	}
	earlier, err := parseSigningKeys(text)
	if err != nil {
		return nil, err
	}
	for _, old := range earlier {
		if len(out) < maxKeyCount && !slices.ContainsFunc(out, func(k PrivateKey) bool { return k.ID == old.ID }) {
			out = append(out, old)
		}
	}
	return out, nil
}

// Retire ends a key at the given time, after which the PATs that it signed do not verify. If this process signs with the key, Retire first
// replaces it. The error is ErrNoKey if there is no such key.
func (k *Keyring) Retire(ctx context.Context, id ID, at time.Time) error {
	if s := k.signing.Load(); s != nil && s.ID == id {
		if _, err := k.Rotate(ctx); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	registered, ok := k.family.set.Load().keys[id]
	if !ok {
		return ErrNoKey
	}
	return k.retire(ctx, registered.SigningKey, at)
}

// retire sets the end of a key, unless it already ends earlier. If another process has set an earlier end because the key leaked, that end
// stays.
func (k *Keyring) retire(ctx context.Context, s SigningKey, at time.Time) error {
	s.NotAfter = sooner(s.NotAfter, at)
	if err := k.store.AddSigningKey(ctx, s); err != nil {
		return fmt.Errorf("retiring signing key %s: %w", s.ID, err)
	}
	return k.Apply(s)
}

// Reload reads the public keys of all processes from the store. It removes keys that the store does not have, and ends those that have
// ended there.
func (k *Keyring) Reload(ctx context.Context) error {
	gone := maps.Clone(k.family.set.Load().keys)
	now := k.now()
	list, err := k.store.SigningKeys(ctx, now)
	if err != nil {
		return fmt.Errorf("reading the signing keys: %w", err)
	}
	var errs []error
	for _, s := range list {
		delete(gone, s.ID)
		errs = append(errs, k.Apply(s))
	}
	for _, v := range gone {
		v.NotAfter = sooner(v.NotAfter, now)
		errs = append(errs, k.Apply(v.SigningKey))
	}
	return errors.Join(errs...)
}

// Apply adds a public key from the store, or changes its NotAfter to an earlier time, and removes keys that have ended. If this process
// signs with a key that was retired, Run replaces the key. If the members of a record do not match its key, Apply returns an error and
// changes nothing.
func (k *Keyring) Apply(s SigningKey) error {
	for {
		before := k.family.set.Load()
		current, ok := before.keys[s.ID]
		if ok {
			s.NotAfter = sooner(s.NotAfter, current.NotAfter)
		}
		if ok && current.NotAfter.Equal(s.NotAfter) && current.Process == s.Process {
			return nil
		}
		key, err := ParseJWK(s.JWK)
		if err != nil || key.Thumbprint() != s.ID || key.Algorithm() != s.Algorithm {
			return fmt.Errorf("the record of signing key %.64q does not contain that key", s.ID)
		}
		now := k.now()
		if !ok && !(VerifyingKey{SigningKey: s}).live(now) {
			return nil
		}
		after := &keySet{version: before.version + 1, keys: maps.Clone(before.keys)}
		maps.DeleteFunc(after.keys, func(_ ID, v VerifyingKey) bool { return !v.live(now) })
		if v := (VerifyingKey{s, key}); v.live(now) {
			after.keys[s.ID] = v
		} else {
			delete(after.keys, s.ID)
		}
		if k.family.set.CompareAndSwap(before, after) {
			if !s.NotAfter.IsZero() {
				k.family.noteRetired()
			}
			return nil
		}
	}
}

// Lookup returns the key that a PAT names by its kid. The kid is used only as a map key. An unknown kid causes a read of the store, at most
// once per second. Lookup returns false if the key is unknown, has ended, or is for a different purpose.
func (k *Keyring) Lookup(ctx context.Context, kid ID, now time.Time) (VerifyingKey, bool) {
	if kid == "" || len(kid) > maxKeyID {
		return VerifyingKey{}, false
	}
	v, ok := k.family.set.Load().keys[kid]
	if !ok && k.rereadLimit.AllowN(now, 1) {
		if err := k.Reload(ctx); err != nil {
			return VerifyingKey{}, false
		}
		v, ok = k.family.set.Load().keys[kid]
	}
	if !ok || !v.live(now) || v.Purpose != k.purpose {
		return VerifyingKey{}, false
	}
	return v, true
}

// Earlier returns the keys with which this process signed before PrivateKey, the newest first: up to seven if Purpose.Lasting, otherwise
// one.
func (k *Keyring) Earlier() ([]PrivateKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := k.files.Load()
	if err != nil {
		return nil, fmt.Errorf("loading the signing keys: %w", err)
	}
	keys, err := parseSigningKeys(text)
	if err != nil || len(keys) < 2 {
		return nil, err
	}
	for i := range keys {
		keys[i].Purpose = k.purpose
	}
	return keys[1:], nil
}

// ExtendOverlap makes Overlap at least d. Overlap never shrinks, because PATs of an earlier configuration may still be in use.
func (k *Keyring) ExtendOverlap(d time.Duration) {
	for previous := k.overlap.Load(); int64(d) > previous; previous = k.overlap.Load() {
		if k.overlap.CompareAndSwap(previous, int64(d)) {
			return
		}
	}
}

// Version returns a number that grows whenever the set of keys changes.
func (k *Keyring) Version() uint64 { return k.family.set.Load().version }

// A PrivateKey is a private key with its public record.
type PrivateKey struct {
	SigningKey

	Private crypto.Signer
}
