package ledgerlog

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

const saltSize = 16

// restored returns the entry that begins an epoch. It names the previous log, including the lines that are appended to it in the same
// transaction.
func (r *round) restored(h *store.LogHead, grown map[place]*growth) (store.LogEntry, error) {
	e := evidence.Entry{Kind: evidence.KindRestored, By: "operator"}
	for epoch := h.Epoch - 1; epoch >= 0 && e.Last == nil; epoch-- {
		at := place{h.Service, epoch}
		if g := grown[at]; g != nil {
			root, err := g.tree.Root()
			if err != nil {
				return store.LogEntry{}, err
			}
			e.Last = &evidence.Last{Epoch: epoch, Size: g.tree.Size(), Root: root}
		} else if was := r.heads[at]; was != nil && was.Size > 0 {
			e.Last = &evidence.Last{Epoch: epoch, Size: was.Size, Root: was.Root}
		}
	}
	entry, err := r.sign(h, e, r.signer)
	entry.Seq = h.FirstSeq
	return entry, err
}

// sign completes an entry of the log of a service, and signs it.
func (r *round) sign(h *store.LogHead, e evidence.Entry, by *keys.PrivateKey) (store.LogEntry, error) {
	e.Issuer, e.Epoch, e.At, e.Salt = h.Issuer, h.Epoch, r.s.o.Now(), make([]byte, saltSize)
	if _, err := io.ReadFull(r.s.random, e.Salt); err != nil {
		return store.LogEntry{}, err
	}
	text := e.Append(nil)
	receipt, err := evidence.SignReceipt(by.Private, by.ID, text)
	return store.LogEntry{Service: h.Service, Epoch: h.Epoch, Receipt: receipt, Leaf: evidence.LeafHash(text)}, err
}

// rings returns the keys that the logs introduce, by purpose.
func (s *Sequencer) rings() map[keys.Purpose]*keys.Keyring {
	rings := map[keys.Purpose]*keys.Keyring{keys.ForLogs: s.o.Keys}
	maps.Copy(rings, s.o.Introduced)
	return rings
}

// introduce adds, to the log of each service, an entry for each key that the log lacks.
func (r *round) introduce(ctx context.Context) error {
	s := r.s
	version := s.o.Keys.Version()
	if s.known == nil {
		list, err := s.o.Store.LoggedKeys(ctx)
		if err != nil {
			return err
		}
		s.known = map[store.LogKey]bool{}
		for _, k := range list {
			s.known[k] = true
		}
	}
	newest := map[string]*store.LogHead{}
	for at, h := range r.heads {
		if was := newest[at.service]; was == nil || was.Epoch < at.epoch {
			newest[at.service] = h
		}
	}
	for purpose, ring := range s.rings() {
		own, err := ring.PrivateKey(ctx)
		if err != nil {
			return err
		}
		for _, h := range newest {
			if err := r.introduceTo(ctx, h, purpose, ring, own); err != nil {
				return err
			}
		}
	}
	s.complete = version
	return nil
}

// introduceTo adds entries for the keys of one purpose to the log of one service. The first entry is for the key of this process, and the
// newest earlier key of this process in the log signs it. Further entries are for the keys of other processes and for keys that were
// replaced before they were introduced.
func (r *round) introduceTo(ctx context.Context, h *store.LogHead, purpose keys.Purpose, ring *keys.Keyring, own *keys.PrivateKey) error {
	id := func(kid keys.ID) store.LogKey {
		return store.LogKey{Service: h.Service, Purpose: string(purpose), KeyID: kid}
	}
	if !r.s.known[id(own.ID)] {
		by := own
		earlier, err := ring.Earlier()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(earlier, func(k keys.PrivateKey) bool { return r.s.known[id(k.ID)] }); i >= 0 {
			by = &earlier[i]
		} else if r.others(id(""), own.ID) {
			r.s.o.Log.Warn("a new key signs without an introduction, because this process does not have the previous key",
				zap.String("service", h.Service), zap.String("purpose", string(purpose)), zap.String("kid", string(own.ID)))
		}
		if err := r.addKey(ctx, h, purpose, own.SigningKey, by); err != nil {
			return err
		}
	}
	for _, k := range ring.Keys(r.s.o.Now()) {
		if k.Purpose == purpose && k.Algorithm == keys.EdDSA && !r.s.known[id(k.ID)] {
			if err := r.addKey(ctx, h, purpose, k, own); err != nil {
				return err
			}
		}
	}
	return nil
}

// others reports whether a log has keys other than own for a purpose.
func (r *round) others(of store.LogKey, own keys.ID) bool {
	for k := range r.s.known {
		if k.Service == of.Service && k.Purpose == of.Purpose && k.KeyID != own {
			return true
		}
	}
	return false
}

// addKey adds the entry that introduces a key, signed by another key or by the new key.
func (r *round) addKey(ctx context.Context, h *store.LogHead, purpose keys.Purpose, k keys.SigningKey, by *keys.PrivateKey) error {
	jwk, verifier, err := publicKey(k, log.Origin(h.Issuer, h.Epoch))
	if err != nil {
		return err
	}
	if purpose != keys.ForLogs {
		verifier = ""
	}
	e, err := r.sign(h, evidence.Entry{
		Kind: evidence.KindKey, By: string(by.ID),
		Key: &evidence.Key{Purpose: string(purpose), ID: string(k.ID), JWK: jwk, Verifier: verifier},
	}, by)
	if err != nil {
		return err
	}
	e.Purpose, e.KeyID = string(purpose), k.ID
	if err := r.s.o.Store.AddLogEntry(ctx, e); err != nil {
		return err
	}
	r.s.known[store.LogKey{Service: h.Service, Purpose: string(purpose), KeyID: k.ID}] = true
	return nil
}

// publicKey returns a key in RFC 8785 form, and as the verifier key of a log.
func publicKey(k keys.SigningKey, origin string) (jwk []byte, verifier string, err error) {
	tree, err := strictjson.DecodeObject(k.JWK)
	if err != nil {
		return nil, "", fmt.Errorf("reading the key %s: %w", k.ID, err)
	}
	if jwk, err = strictjson.Canonical(tree); err != nil {
		return nil, "", err
	}
	key, err := keys.ParseJWK(k.JWK)
	if err != nil {
		return nil, "", err
	}
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, "", fmt.Errorf("the key %s is not an Ed25519 key", k.ID)
	}
	return jwk, log.VerifierKey(origin, public), nil
}
