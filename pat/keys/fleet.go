package keys

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// retryEvery is how often Run tries again to replace a key.
const retryEvery = time.Second

// A family is the part that the Keyrings of one process share.
type family struct {
	set     atomic.Pointer[keySet]
	retired chan struct{}         // receives a value after a key was retired
	failure atomic.Pointer[error] // why Run could not replace a key; nil after a success

	mu    sync.Mutex
	rings []*Keyring // the keyrings of all purposes
}

func newFamily() *family {
	f := &family{retired: make(chan struct{}, 1)}
	f.set.Store(&keySet{version: 1, keys: map[ID]VerifyingKey{}})
	return f
}

func (f *family) add(k *Keyring) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rings = append(f.rings, k)
}

// noteRetired makes Run check whether this process signs with a retired key.
func (f *family) noteRetired() {
	select {
	case f.retired <- struct{}{}:
	default:
	}
}

// replaceRetired replaces the keys of this process that were retired, for all purposes.
func (f *family) replaceRetired(ctx context.Context) error {
	f.mu.Lock()
	rings := slices.Clone(f.rings)
	f.mu.Unlock()
	var errs []error
	for _, k := range rings {
		_, err := k.PrivateKey(ctx)
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if err == nil {
		f.failure.Store(nil)
	} else {
		f.failure.Store(&err)
	}
	return err
}

// Run replaces the keys that this process signs with, for all purposes, as soon as another process has retired them. When ctx ends, Run
// returns nil. If it cannot replace a key, it calls failed with the error, and tries again after a second. In the meantime, this process
// signs nothing with the key.
func (k *Keyring) Run(ctx context.Context, failed func(error)) error {
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		if err := k.family.replaceRetired(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		again := retry.C
		if k.family.failure.Load() == nil {
			again = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again:
		case <-k.family.retired:
		}
	}
}

// Failure returns why a retired key of this process could not be replaced, or nil if no such key is left.
func (k *Keyring) Failure() error {
	if err := k.family.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Process returns the name of this process; see Config.
func (k *Keyring) Process() string { return k.process }

// RotateFor makes this process sign with a new key for one purpose. The error is ErrNoKey if it does not sign for this purpose.
func (k *Keyring) RotateFor(ctx context.Context, purpose Purpose) (next SigningKey, err error) {
	k.family.mu.Lock()
	rings := slices.DeleteFunc(slices.Clone(k.family.rings), func(r *Keyring) bool { return r.purpose != purpose })
	k.family.mu.Unlock()
	if len(rings) == 0 {
		return SigningKey{}, ErrNoKey
	}
	for _, r := range rings {
		if next, err = r.Rotate(ctx); err != nil {
			return SigningKey{}, err
		}
	}
	return next, nil
}

// RotateAll makes every process that shares the store sign with a new key, except for receipts and logs, and returns the key that this
// process signs PATs with from now on. Each other process follows when its Keyring reads the change, or when it starts. The previous keys
// still verify for Overlap.
func (k *Keyring) RotateAll(ctx context.Context) (SigningKey, error) {
	next, _, err := k.replaceAll(ctx, k.now().Add(time.Duration(k.overlap.Load())), func(s SigningKey) bool { return s.NotAfter.IsZero() })
	return next, err
}

// RetireAll is like RotateAll, but the previous keys verify nothing from the given time on, including keys that no process signs with any
// more. It returns these keys.
func (k *Keyring) RetireAll(ctx context.Context, at time.Time) (retired []SigningKey, err error) {
	_, retired, err = k.replaceAll(ctx, at, func(s SigningKey) bool { return sooner(s.NotAfter, at).Equal(at) })
	return retired, err
}

// replaceAll makes this process sign with a new key, and ends the keys of all processes for which ends returns true.
func (k *Keyring) replaceAll(ctx context.Context, at time.Time, ends func(SigningKey) bool) (
	next SigningKey, retired []SigningKey, err error,
) {
	if next, err = k.Rotate(ctx); err != nil {
		return SigningKey{}, nil, err
	}
	if err := k.Reload(ctx); err != nil {
		return SigningKey{}, nil, err
	}
	for _, s := range k.Keys(k.now()) {
		if s.ID == next.ID || s.Purpose.Lasting() || !ends(s) {
			continue
		}
		if err := k.end(ctx, s, at); err != nil {
			return SigningKey{}, nil, err
		}
		s.NotAfter = at
		retired = append(retired, s)
	}
	return next, retired, k.family.replaceRetired(ctx)
}

// end retires one key.
func (k *Keyring) end(ctx context.Context, s SigningKey, at time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.retire(ctx, s, at)
}

// sooner returns the earlier of two times at which a key ends; the zero time means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return cmp.Or(a, b)
	}
	if b.Before(a) {
		return b
	}
	return a
}
