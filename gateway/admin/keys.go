package admin

import (
	"context"
	"encoding/json"
	"time"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Key is the public half of a key with which a process on this store signs PATs or, if Purpose is set, other documents.
type Key struct {
	ID        keys.ID         `json:"kid"`
	Algorithm string          `json:"alg"`
	Purpose   keys.Purpose    `json:"purpose,omitempty"` // card; empty: PATs
	Signing   bool            `json:"signing"`           // this process signs with it
	CreatedAt time.Time       `json:"created_at"`
	NotAfter  time.Time       `json:"not_after,omitzero"` // when the key ends; zero while a process signs with it
	JWK       json.RawMessage `json:"jwk"`
}

// KeyOf returns the operator's view of a key. current is the id of the key with which this process signs.
func KeyOf(k keys.SigningKey, current keys.ID) Key {
	return Key{k.ID, k.Algorithm, k.Purpose, k.ID == current, k.CreatedAt.UTC(), k.NotAfter, k.JWK}
}

func (k Key) subject() string { return string(k.ID) }

// Keys lists the keys of all processes on this store that are currently valid for verification.
func (o *Operator) Keys(context.Context) (Page[Key], error) {
	current := o.keys.Current()
	list := o.keys.Keys(o.now())
	show := func(k keys.SigningKey) Key { return KeyOf(k, current) }
	return pageOf(list, len(list)+1, show, func(keys.SigningKey) string { return "" }), nil
}

// RotateKey creates a new key, with which this process signs from now on. The previous key remains valid until its last PAT expires.
func (o *Operator) RotateKey(ctx context.Context) (Key, error) {
	key, err := o.keys.Rotate(ctx)
	if err != nil {
		return Key{}, err
	}
	for _, k := range o.keys.Keys(o.now()) {
		if k.ID == key.ID {
			return KeyOf(k, o.keys.Current()), nil
		}
	}
	return Key{}, keys.ErrNoKey
}

// A Retirement ends a key, and with it all PATs that the key signed.
type Retirement struct {
	KeyID keys.ID `json:"-"`
	At    string  `json:"at,omitempty"` // RFC 3339; empty: now
}

func (r *Retirement) parameters(p parameters) { p.record((*string)(&r.KeyID)) }

func (r *Retirement) members(m *wire.Members) error {
	r.At = m.Text("at", false)
	return m.Done()
}

// RetireKey ends a key now, or at a future time.
func (o *Operator) RetireKey(ctx context.Context, r Retirement) (Key, error) {
	now := o.now()
	at := now
	if r.At != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, r.At); err != nil || at.Before(now.Add(-time.Minute)) || at.Year() > 9000 {
			return Key{}, wrongMember("at", "must be a future time, such as 2030-01-31T12:00:00Z")
		}
	}
	var before keys.SigningKey
	for _, k := range o.keys.Keys(now) {
		if k.ID == r.KeyID {
			before = k
		}
	}
	if err := o.keys.Retire(ctx, r.KeyID, at); err != nil {
		return Key{}, err
	}
	before.NotAfter = at
	return KeyOf(before, o.keys.Current()), nil
}
