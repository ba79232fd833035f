package consent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An Earlier is the last consent that a browser gave for a client, to a policy that is no longer offered.
type Earlier struct {
	Handle string
	At     time.Time // when the person agreed
	Until  time.Time // when it ends; zero: it no longer permits anything
	// Difference is how the policy has changed since then.
	service.Difference
	Unchanged []string // entries of the requested scope that it still permits
	Changed   []string // entries of the requested scope that it no longer permits, because their terms have changed
}

// Earlier returns the last consent of a browser for the client of r, if it was given to a policy that is no longer offered; otherwise nil.
// browser is the digest of the cookie: only the browser that gave a consent can find it, because anyone can send the id of a client. If
// handle is not empty, Earlier considers only the consent with that handle. Errors are a *reason.Refusal.
func (d *Service) Earlier(ctx context.Context, c agree.Call, r *Request, browser, handle string) (*Earlier, error) {
	kept, err := d.last(ctx, c, r, browser, handle)
	var a pat.Agreement
	if err == nil {
		a, err = d.store.Agreement(ctx, c.Service.ID, kept.AgreementID)
	}
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, pat.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, errorOf(err)
	case c.Service.Version(a.PolicyDigest) != nil:
		return nil, nil
	}
	out := &Earlier{Handle: kept.Handle, At: kept.CreatedAt, Difference: c.Service.Since(a.PolicyDigest)}
	goesOn, err := d.goesOn(ctx, c, r, kept, a)
	if err != nil || !goesOn {
		return out, errorOf(err)
	}
	for _, entry := range r.Scope.Entries {
		namespace, _, _ := strings.Cut(entry, ":")
		switch {
		case !slices.Contains(a.Scope, entry) && !slices.Contains(a.Scope, pat.WholeScope(namespace)):
		case c.Service.Holds(a.PolicyDigest, strings.TrimSuffix(entry, ":execute")) == nil:
			out.Unchanged = append(out.Unchanged, entry)
		default:
			out.Changed = append(out.Changed, entry)
		}
	}
	if out.Unchanged != nil {
		out.Until = kept.Until
	}
	return out, nil
}

// last returns the consent with a handle or, if handle is empty, the newest one, of this browser and the client of r. The error is
// store.ErrNotFound if there is none.
func (d *Service) last(ctx context.Context, c agree.Call, r *Request, browser, handle string) (store.Consent, error) {
	if handle == "" {
		return d.store.LastConsent(ctx, c.Service.ID, browser, r.Client.ID)
	}
	if !random(handle, handleSize) {
		return store.Consent{}, store.ErrNotFound
	}
	kept, err := d.store.Consent(ctx, c.Service.ID, handle)
	if err == nil && (!same(kept.Browser, browser) || kept.ClientID != r.Client.ID) {
		return store.Consent{}, store.ErrNotFound
	}
	return kept, err
}

// goesOn reports whether the client can still get tokens under an earlier consent.
func (d *Service) goesOn(ctx context.Context, c agree.Call, r *Request, kept store.Consent, a pat.Agreement) (bool, error) {
	if !kept.CodeUsed || a.State != pat.AgreementActive || kept.Resource != r.Resource || !d.now().Before(kept.Until) {
		return false, nil
	}
	agent, err := d.store.Agent(ctx, c.Service.ID, a.AgentID)
	return err == nil && agent.Status != pat.AgentBlocked, err
}
