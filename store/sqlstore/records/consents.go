package records

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const consentColumns = `service, handle, agreement_id, client_id, document, redirect_uri, challenge, resource, request, browser,
	created_at, until, code, code_until, code_used, refresh, refresh_handle`

// AddConsent records a consent. It returns store.ErrUsed if a consent with the same handle exists.
func (s *Records) AddConsent(ctx context.Context, c store.Consent) error {
	return used(s.db.Run(ctx, "INSERT INTO consents ("+consentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "+
		"ON CONFLICT DO NOTHING",
		c.Service, c.Handle, c.AgreementID, c.ClientID, c.Document, c.RedirectURI, c.Challenge, c.Resource, c.Request, c.Browser,
		engine.Nanos(c.CreatedAt), engine.Nanos(c.Until), c.Code, engine.Nanos(c.CodeUntil), engine.Flag(c.CodeUsed), c.Refresh,
		c.RefreshHandle))
}

// Consent returns the consent with the handle of a code, or store.ErrNotFound.
func (s *Records) Consent(ctx context.Context, service, handle string) (store.Consent, error) {
	return s.consent(ctx, "service = ? AND handle = ?", service, handle)
}

// ConsentByRefresh returns the consent with the handle of a refresh token, or store.ErrNotFound. A consent without its own refresh handle
// is found by its handle.
func (s *Records) ConsentByRefresh(ctx context.Context, service, handle string) (store.Consent, error) {
	if handle == "" {
		return store.Consent{}, store.ErrNotFound
	}
	return s.consent(ctx, "service = ? AND (refresh_handle = ? OR handle = ? AND refresh_handle = '')", service, handle, handle)
}

// LastConsent returns the newest consent that a browser gave for a client, or store.ErrNotFound.
func (s *Records) LastConsent(ctx context.Context, service, browser, client string) (store.Consent, error) {
	if browser == "" {
		return store.Consent{}, store.ErrNotFound
	}
	return s.consent(ctx, "service = ? AND browser = ? AND client_id = ? ORDER BY created_at DESC LIMIT 1", service, browser, client)
}

// ConsentOf returns the consent that made an agreement, or store.ErrNotFound.
func (s *Records) ConsentOf(ctx context.Context, service string, agreement pat.AgreementID) (store.Consent, error) {
	return s.consent(ctx, "service = ? AND agreement_id = ? LIMIT 1", service, agreement)
}

// ConsentsOf returns the consents of a browser, the newest first, at most limit.
func (s *Records) ConsentsOf(ctx context.Context, service, browser string, limit int) ([]store.Consent, error) {
	if browser == "" {
		return nil, nil
	}
	return engine.All(ctx, s.db, "SELECT "+consentColumns+" FROM consents WHERE service = ? AND browser = ? ORDER BY created_at DESC, handle DESC LIMIT ?",
		[]any{service, browser, limit}, scanConsent)
}

func (s *Records) consent(ctx context.Context, condition string, args ...any) (store.Consent, error) {
	return engine.First(ctx, s.db, store.ErrNotFound, "SELECT "+consentColumns+" FROM consents WHERE "+condition, args, scanConsent)
}

func scanConsent(scan engine.Scan) (c store.Consent, err error) {
	err = scan(&c.Service, &c.Handle, &c.AgreementID, &c.ClientID, &c.Document, &c.RedirectURI, &c.Challenge, &c.Resource, &c.Request,
		&c.Browser, engine.Stored(&c.CreatedAt), engine.Stored(&c.Until), &c.Code, engine.Stored(&c.CodeUntil), &c.CodeUsed, &c.Refresh,
		&c.RefreshHandle)
	return c, err
}

// SetCode sets the code of a consent, given as a digest, and its expiry. It returns store.ErrUsed if a code of the consent was already
// used.
func (s *Records) SetCode(ctx context.Context, service, handle, code string, until time.Time) error {
	return used(s.db.Run(ctx, "UPDATE consents SET code = ?, code_until = ? WHERE service = ? AND handle = ? AND code_used = 0",
		code, engine.Nanos(until), service, handle))
}

// UseCode marks the code of a consent as used. It returns store.ErrUsed if code is not the code of the consent, or was already used.
func (s *Records) UseCode(ctx context.Context, service, handle, code string) error {
	return used(s.db.Run(ctx, "UPDATE consents SET code_used = 1 WHERE service = ? AND handle = ? AND code = ? AND code <> '' AND code_used = 0",
		service, handle, code))
}

// Rotate replaces a refresh token with the next one, both given as digests. It returns store.ErrUsed if refresh is not the valid refresh
// token. Before the first refresh token, refresh is empty.
func (s *Records) Rotate(ctx context.Context, service, handle, refresh, next string) error {
	return used(s.db.Run(ctx, "UPDATE consents SET refresh = ? WHERE service = ? AND handle = ? AND refresh = ?",
		next, service, handle, refresh))
}

// AddClient records a client. If the service already has maxClients clients, the client that expires first is deleted, provided that it
// expires before the given time; otherwise the error is store.ErrFull.
func (s *Records) AddClient(ctx context.Context, c store.Client, maxClients int, before time.Time) error {
	redirects, err := list(c.Redirects).text()
	if err != nil {
		return err
	}
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		var n int
		t.Find(ctx, "SELECT COUNT(*) FROM clients WHERE service = ?", []any{c.Service}, &n)
		if n >= maxClients && t.Run(ctx, "DELETE FROM clients WHERE service = ? AND id = "+
			"(SELECT id FROM clients WHERE service = ? AND until < ? ORDER BY until LIMIT 1)", c.Service, c.Service, engine.Nanos(before)) == 0 {
			return store.ErrFull
		}
		t.Run(ctx, "INSERT INTO clients (service, id, name, redirects, created_at, until) VALUES (?, ?, ?, ?, ?, ?)",
			c.Service, c.ID, c.Name, redirects, engine.Nanos(c.CreatedAt), engine.Nanos(c.Until))
		return nil
	})
}

// Client returns one client, or store.ErrNotFound.
func (s *Records) Client(ctx context.Context, service, id string) (store.Client, error) {
	c := store.Client{Service: service, ID: id}
	return engine.First(ctx, s.db, store.ErrNotFound, "SELECT name, redirects, created_at, until FROM clients WHERE service = ? AND id = ?",
		[]any{service, id}, func(scan engine.Scan) (store.Client, error) {
			err := scan(&c.Name, (*list)(&c.Redirects), engine.Stored(&c.CreatedAt), engine.Stored(&c.Until))
			return c, err
		})
}

// KeepClient keeps a client until at least the given time. A missing client is not an error.
func (s *Records) KeepClient(ctx context.Context, service, id string, until time.Time) error {
	_, err := s.db.Run(ctx, "UPDATE clients SET until = ? WHERE service = ? AND id = ? AND until < ?",
		engine.Nanos(until), service, id, engine.Nanos(until))
	return err
}

// AddInvitation records an invitation.
func (s *Records) AddInvitation(ctx context.Context, i store.Invitation) error {
	_, err := s.db.Run(ctx, "INSERT INTO invitations (service, code, name, created_at, until) VALUES (?, ?, ?, ?, ?)",
		i.Service, i.Code, i.Name, engine.Nanos(i.CreatedAt), engine.Nanos(i.Until))
	return err
}

// TakeInvitation deletes an invitation and returns it. It returns store.ErrNotFound if the invitation does not exist, or if it was used or
// has expired.
func (s *Records) TakeInvitation(ctx context.Context, service, code string) (store.Invitation, error) {
	i := store.Invitation{Service: service, Code: code}
	err := s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		if !t.Find(ctx, "SELECT name, created_at, until FROM invitations WHERE service = ? AND code = ? AND until > ? FOR UPDATE",
			[]any{service, code, engine.Nanos(t.Now())}, &i.Name, engine.Stored(&i.CreatedAt), engine.Stored(&i.Until)) {
			return store.ErrNotFound
		}
		t.Run(ctx, "DELETE FROM invitations WHERE service = ? AND code = ?", service, code)
		return nil
	})
	return i, err
}
