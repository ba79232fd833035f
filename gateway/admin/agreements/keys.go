package agreements

import (
	"context"
	"encoding/json"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Key is the public half of a key with which a process on this store signs PATs or, if Purpose is set, other documents.
type Key struct {
	ID        keys.ID         `json:"kid"`
	Algorithm string          `json:"alg"`
	Purpose   keys.Purpose    `json:"purpose,omitempty"` // what it signs, such as receipt or card; empty: PATs
	Process   string          `json:"process,omitempty"` // the process that signs with it, or did until NotAfter was set
	Signing   bool            `json:"signing"`           // Process signs with it; the process that responds signs with Status.SigningKey
	CreatedAt time.Time       `json:"created_at"`
	NotAfter  time.Time       `json:"not_after,omitzero"` // when the key ends; zero while a process signs with it
	JWK       json.RawMessage `json:"jwk"`
}

// KeyOf returns the operator's view of a key.
func KeyOf(k keys.SigningKey) Key {
	return Key{k.ID, k.Algorithm, k.Purpose, k.Process, k.NotAfter.IsZero(), k.CreatedAt.UTC(), k.NotAfter, k.JWK}
}

// ChangedID returns the id of the changed record for the audit stream.
func (k Key) ChangedID() string { return string(k.ID) }

// Keys lists the keys of all processes on this store that are currently valid for verification.
func (o *Operations) Keys(context.Context) (api.Page[Key], error) {
	list := o.Keyring.Keys(o.Now())
	return api.PageOf(list, len(list)+1, KeyOf, func(keys.SigningKey) string { return "" }), nil
}

// A Rotation replaces the key of the process that receives it or, if All is set, of every process on this store.
type Rotation struct {
	All bool `json:"all,omitempty"`
	// Purpose is receipt or log, for the key of the process that signs receipts or checkpoints; empty: the key that signs PATs.
	Purpose keys.Purpose `json:"purpose,omitempty"`
}

// Details returns the details of the change for the audit stream.
func (r Rotation) Details() map[string]string {
	return map[string]string{"all": api.Flag(r.All), "purpose": string(r.Purpose)}
}

// Members implements api.Body.
func (r *Rotation) Members(m *wire.Members) error {
	r.All, r.Purpose = m.Flag("all"), keys.Purpose(m.Text("purpose", false))
	if err := m.Done(); err != nil {
		return err
	}
	if r.Purpose != keys.ForPATs && (!r.Purpose.Lasting() || r.All) {
		return reason.MalformedRequest.Refusal("The member purpose must be receipt or log, and cannot be combined with all.")
	}
	return nil
}

// RotateKey creates a new key, with which this process signs from now on. The previous key remains valid until its last PAT expires. If
// r.All is set, the other processes on this store also create new keys, within a second or when they start.
func (o *Operations) RotateKey(ctx context.Context, r Rotation) (Key, error) {
	rotate := func(ctx context.Context) (keys.SigningKey, error) { return o.Keyring.RotateFor(ctx, r.Purpose) }
	if r.All {
		rotate = o.Keyring.RotateAll
	}
	key, err := rotate(ctx)
	if err != nil {
		return Key{}, err
	}
	for _, k := range o.Keyring.Keys(o.Now()) {
		if k.ID == key.ID {
			return KeyOf(k), nil
		}
	}
	return Key{}, keys.ErrNoKey
}

// A Retirement ends a key, and with it all PATs that the key signed.
type Retirement struct {
	KeyID keys.ID `json:"-" path:"id"`
	At    string  `json:"at,omitempty"` // RFC 3339; empty: now
}

// RetireKey ends a key now, or at a future time. It returns the key with its end: if an end was already set, the earlier of the two.
func (o *Operations) RetireKey(ctx context.Context, r Retirement) (Key, error) {
	now := o.Now()
	at, err := endOf(r.At, now)
	if err != nil {
		return Key{}, err
	}
	var before keys.SigningKey
	for _, k := range o.Keyring.Keys(now) {
		if k.ID == r.KeyID {
			before = k
		}
	}
	if err := o.Keyring.Retire(ctx, r.KeyID, at); err != nil {
		return Key{}, err
	}
	if before.NotAfter.IsZero() || at.Before(before.NotAfter) { // an end that is set can only move forward
		before.NotAfter = at
	}
	return KeyOf(before), nil
}

// A KeysRetirement ends the keys of all processes on this store, and with them all PATs.
type KeysRetirement struct {
	At string `json:"at,omitempty"` // RFC 3339; empty: now
}

// RetireKeys ends the keys of all processes on this store now, or at a future time, and returns them. Every process signs with a new key
// within a second, or when it starts.
func (o *Operations) RetireKeys(ctx context.Context, r KeysRetirement) (api.Page[Key], error) {
	at, err := endOf(r.At, o.Now())
	if err != nil {
		return api.Page[Key]{}, err
	}
	list, err := o.Keyring.RetireAll(ctx, at)
	return api.PageOf(list, len(list)+1, KeyOf, func(keys.SigningKey) string { return "" }), err
}

// endOf returns the time at which a key ends: now, or a future time in RFC 3339.
func endOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return now, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Before(now.Add(-time.Minute)) || at.Year() > 9000 {
		return time.Time{}, api.WrongMember("at", "must be a future time, such as 2030-01-31T12:00:00Z")
	}
	return at, nil
}
