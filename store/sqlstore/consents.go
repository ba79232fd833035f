package sqlstore

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store"
)

const consentColumns = `service, handle, agreement_id, client_id, document, redirect_uri, challenge, resource, request, browser,
	created_at, until, code, code_until, code_used, refresh, refresh_handle`

// AddConsent records a consent; store.ErrUsed if there is one with its handle.
func (s *Store) AddConsent(ctx context.Context, c store.Consent) error {
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, "INSERT INTO consents ("+consentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "+
			"ON CONFLICT DO NOTHING",
			c.Service, c.Handle, c.AgreementID, c.ClientID, c.Document, c.RedirectURI, c.Challenge, c.Resource, c.Request, c.Browser,
			nanos(c.CreatedAt), nanos(c.Until), c.Code, nanos(c.CodeUntil), flag(c.CodeUsed), c.Refresh,
			c.RefreshHandle)
		if err == nil && n == 0 {
			return store.ErrUsed
		}
		return err
	})
}

// Consent returns the consent of a code, or store.ErrNotFound.
func (s *Store) Consent(ctx context.Context, service, handle string) (store.Consent, error) {
	return s.consent(ctx, "service = ? AND handle = ?", service, handle)
}

// ConsentByRefresh returns the consent of a refresh token, or store.ErrNotFound.
func (s *Store) ConsentByRefresh(ctx context.Context, service, handle string) (store.Consent, error) {
	if handle == "" {
		return store.Consent{}, store.ErrNotFound
	}
	return s.consent(ctx, "service = ? AND (refresh_handle = ? OR handle = ? AND refresh_handle = '')", service, handle, handle)
}

func (s *Store) consent(ctx context.Context, condition string, args ...any) (store.Consent, error) {
	var c store.Consent
	var created, until, codeUntil int64
	found, err := s.one(ctx, "SELECT "+consentColumns+" FROM consents WHERE "+condition, args,
		&c.Service, &c.Handle, &c.AgreementID, &c.ClientID, &c.Document, &c.RedirectURI, &c.Challenge, &c.Resource, &c.Request, &c.Browser,
		&created, &until, &c.Code, &codeUntil, &c.CodeUsed, &c.Refresh, &c.RefreshHandle)
	switch {
	case err != nil:
		return store.Consent{}, err
	case !found:
		return store.Consent{}, store.ErrNotFound
	}
	c.CreatedAt, c.Until, c.CodeUntil = fromNanos(created), fromNanos(until), fromNanos(codeUntil)
	return c, nil
}

// SetCode replaces the code of a consent, given by its digest, with another; store.ErrUsed where a code was used already.
func (s *Store) SetCode(ctx context.Context, service, handle, code string, until time.Time) error {
	return s.changeOne(ctx, "UPDATE consents SET code = ?, code_until = ? WHERE service = ? AND handle = ? AND code_used = 0",
		code, nanos(until), service, handle)
}

// UseCode uses up a code; store.ErrUsed where it is not the code of the consent, or was used before.
func (s *Store) UseCode(ctx context.Context, service, handle, code string) error {
	return s.changeOne(ctx, "UPDATE consents SET code_used = 1 WHERE service = ? AND handle = ? AND code = ? AND code <> '' AND code_used = 0",
		service, handle, code)
}

// Rotate replaces a refresh token by the next, both given by their digests; store.ErrUsed where it is not the one that is good.
// Before the first refresh token it is empty.
func (s *Store) Rotate(ctx context.Context, service, handle, refresh, next string) error {
	return s.changeOne(ctx, "UPDATE consents SET refresh = ? WHERE service = ? AND handle = ? AND refresh = ?", next, service, handle, refresh)
}

// changeOne runs a statement that changes one row or none; none is store.ErrUsed.
func (s *Store) changeOne(ctx context.Context, query string, args ...any) error {
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, query, args...)
		if err == nil && n == 0 {
			return store.ErrUsed
		}
		return err
	})
}

// AddClient records a client. Where the service has most of them already, the one that is forgotten first makes room if it would
// be forgotten before a time; else the error is store.ErrFull.
func (s *Store) AddClient(ctx context.Context, c store.Client, most int, before time.Time) error {
	redirects, err := list(c.Redirects).text()
	if err != nil {
		return err
	}
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		var n int
		if _, err := t.row(ctx, "SELECT COUNT(*) FROM clients WHERE service = ?", []any{c.Service}, &n); err != nil {
			return err
		}
		if n >= most {
			gone, err := t.exec(ctx, "DELETE FROM clients WHERE service = ? AND id = "+
				"(SELECT id FROM clients WHERE service = ? AND until < ? ORDER BY until LIMIT 1)", c.Service, c.Service, nanos(before))
			if err != nil {
				return err
			}
			if gone == 0 {
				return store.ErrFull
			}
		}
		_, err := t.exec(ctx, "INSERT INTO clients (service, id, name, redirects, created_at, until) VALUES (?, ?, ?, ?, ?, ?)",
			c.Service, c.ID, c.Name, redirects, nanos(c.CreatedAt), nanos(c.Until))
		return err
	})
}

// Client returns one client, or store.ErrNotFound.
func (s *Store) Client(ctx context.Context, service, id string) (store.Client, error) {
	c := store.Client{Service: service, ID: id}
	var redirects list
	var created, until int64
	found, err := s.one(ctx, "SELECT name, redirects, created_at, until FROM clients WHERE service = ? AND id = ?", []any{service, id},
		&c.Name, &redirects, &created, &until)
	switch {
	case err != nil:
		return store.Client{}, err
	case !found:
		return store.Client{}, store.ErrNotFound
	}
	c.Redirects, c.CreatedAt, c.Until = redirects, fromNanos(created), fromNanos(until)
	return c, nil
}

// KeepClient keeps a client until a time at least. One that is not there is no error.
func (s *Store) KeepClient(ctx context.Context, service, id string, until time.Time) error {
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, "UPDATE clients SET until = ? WHERE service = ? AND id = ? AND until < ?", nanos(until), service, id, nanos(until))
		return err
	})
}

// AddInvitation records an invitation.
func (s *Store) AddInvitation(ctx context.Context, i store.Invitation) error {
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, "INSERT INTO invitations (service, code, name, created_at, until) VALUES (?, ?, ?, ?, ?)",
			i.Service, i.Code, i.Name, nanos(i.CreatedAt), nanos(i.Until))
		return err
	})
}

// TakeInvitation uses up an invitation and returns it; store.ErrNotFound where there is none, or none any more.
func (s *Store) TakeInvitation(ctx context.Context, service, code string) (store.Invitation, error) {
	i := store.Invitation{Service: service, Code: code}
	err := s.aside(ctx, func(ctx context.Context, t *tx) error {
		var created, until int64
		found, err := t.row(ctx, "SELECT name, created_at, until FROM invitations WHERE service = ? AND code = ? AND until > ? FOR UPDATE",
			[]any{service, code, nanos(t.now)}, &i.Name, &created, &until)
		if err != nil {
			return err
		}
		if !found {
			return store.ErrNotFound
		}
		i.CreatedAt, i.Until = fromNanos(created), fromNanos(until)
		_, err = t.exec(ctx, "DELETE FROM invitations WHERE service = ? AND code = ?", service, code)
		return err
	})
	return i, err
}
