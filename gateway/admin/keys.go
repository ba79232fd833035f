package admin

import (
	"time"

	"github.com/uimgate/uimgate/pat"
)

// keys lists the keys of all processes on this store that verify PATs now.
func (a *Server) keys(r *adminRequest) (any, error) {
	if err := r.query.done(); err != nil {
		return nil, err
	}
	ring := a.Keys
	list := ring.Keys(a.Now())
	show := func(k pat.SigningKey) Key { return showKey(k, ring.Current()) }
	return pageOf(list, len(list)+1, show, func(pat.SigningKey) string { return "" }), nil
}

func (a *Server) rotateKey(r *adminRequest) (any, error) {
	if err := r.query.done(); err != nil {
		return nil, err
	}
	if err := r.noBody(); err != nil {
		return nil, err
	}
	key, err := a.Keys.Rotate(r.Context())
	if err != nil {
		return nil, err
	}
	r.subject = string(key.ID)
	return a.keyNow(key.ID)
}

// retireKey ends a key now, or at a time to come: its PATs are worth nothing from then on.
func (a *Server) retireKey(r *adminRequest) (any, error) {
	if err := r.query.done(); err != nil {
		return nil, err
	}
	m, err := r.body()
	if err != nil {
		return nil, err
	}
	text := m.Text("at", false)
	if err := m.Done(); err != nil {
		return nil, err
	}
	now := a.Now()
	at := now
	if text != "" {
		if at, err = time.Parse(time.RFC3339, text); err != nil || at.Before(now.Add(-time.Minute)) || at.Year() > 9000 {
			return nil, m.Wrong("at", "must be a time to come, such as 2030-01-31T12:00:00Z")
		}
	}
	var before pat.SigningKey
	for _, k := range a.Keys.Keys(now) {
		if string(k.ID) == r.id {
			before = k
		}
	}
	if err := a.Keys.Retire(r.Context(), pat.KeyID(r.id), at); err != nil {
		return nil, err
	}
	before.NotAfter = at
	return showKey(before, a.Keys.Current()), nil
}

func (a *Server) keyNow(id pat.KeyID) (any, error) {
	for _, k := range a.Keys.Keys(a.Now()) {
		if k.ID == id {
			return showKey(k, a.Keys.Current()), nil
		}
	}
	return nil, pat.ErrNotFound
}
