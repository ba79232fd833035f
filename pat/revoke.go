package pat

import (
	"context"
	"errors"
	"fmt"
)

// RevokeToken ends the PAT that is shown: who has it may end it. What is no PAT of this service, or has
// ended, is no error. UIM core 4.5, RFC 7009 2.2. The error wraps what the store says.
func (i *Issuer) RevokeToken(ctx context.Context, token string) error {
	now := i.now()
	c, err := i.verifier.read(ctx, token, now)
	if err != nil || now.After(i.forgotten(c.ExpiresAt)) {
		return nil //nolint:nilerr // RFC 7009 2.2: an invalid token is revoked already
	}
	return i.revoke(ctx, Revocation{Kind: RevokedToken, Subject: string(c.ID), Until: i.forgotten(c.ExpiresAt), Reason: "by its bearer"})
}

// Revoke ends PATs by the operator's word: r names a jti, an agreement, an agent (which is blocked too) or a policy's
// digest, and why; the rest of r is the Issuer's. What was never issued can be revoked as well. Once it returns nil
// this process lets none of them in, and no other for longer than MaxAge.
func (i *Issuer) Revoke(ctx context.Context, r Revocation) error {
	r.Until = i.forgotten(i.now().Add(MaxTTL))
	switch r.Kind {
	case RevokedToken:
		switch t, err := i.store.Token(ctx, i.rules.Service, TokenID(r.Subject)); {
		case err == nil:
			r.Until = i.forgotten(t.ExpiresAt)
		case !errors.Is(err, ErrNotFound):
			return fmt.Errorf("looking up the PAT: %w", err)
		}
	case RevokedAgreement, RevokedAgent, RevokedPolicy:
	default:
		return fmt.Errorf("%.20q is not token, agreement, agent or policy", r.Kind)
	}
	if r.Subject == "" {
		return fmt.Errorf("revoking a %s: which one?", r.Kind)
	}
	return i.revoke(ctx, r)
}

func (i *Issuer) revoke(ctx context.Context, r Revocation) error {
	r.Service, r.At = i.rules.Service, i.now()
	if err := i.store.Revoke(ctx, r); err != nil {
		return fmt.Errorf("revoking: %w", err)
	}
	// It is durable, so it has succeeded. Here it holds at once; should the Refresh fail, the View comes to
	// know the rest by itself, or grows old and then lets nobody in.
	i.view.note(r)
	_ = i.view.Refresh(ctx)
	return nil
}

// Approve admits an agent whose agreement is pending.
func (i *Issuer) Approve(ctx context.Context, id AgentID) error {
	return i.change(ctx, id, func(c *AgentChange) { c.Approved = true })
}

// Unblock lets a blocked agent agree again. The PATs that blocking ended stay ended.
func (i *Issuer) Unblock(ctx context.Context, id AgentID) error {
	return i.change(ctx, id, func(c *AgentChange) { c.Status, c.Reason = AgentActive, "" })
}

// AddKey gives an agent one more key.
func (i *Issuer) AddKey(ctx context.Context, id AgentID, key KeyID) error {
	if _, err := ParseKeyID(string(key)); err != nil {
		return err
	}
	return i.change(ctx, id, func(c *AgentChange) { c.AddKey = key })
}

func (i *Issuer) change(ctx context.Context, id AgentID, edit func(*AgentChange)) error {
	a, err := i.store.Agent(ctx, i.rules.Service, id)
	if err != nil {
		return fmt.Errorf("looking up the agent: %w", err)
	}
	c := AgentChange{Service: a.Service, ID: a.ID, Status: a.Status, Reason: a.Reason, Approved: a.Approved}
	edit(&c)
	if err := i.store.SetAgent(ctx, c); err != nil {
		return fmt.Errorf("changing the agent: %w", err)
	}
	return i.view.Refresh(ctx)
}
