package pat

import (
	"context"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/pat/keys"
)

// RevokeToken ends the given PAT and all its renewals or, under a consent or an implied agreement, the agreement. Possession of the PAT is
// sufficient. It is not an error if token is not a PAT of this service, or has already ended. See UIM core, section 4.5; RFC 7009, section
// 2.2. The error wraps that of the store.
func (i *Issuer) RevokeToken(ctx context.Context, token string) error {
	now := i.now()
	c, err := i.verifier.read(ctx, token, now)
	if err != nil || now.After(i.forgetAt(c.ExpiresAt)) {
		return nil //nolint:nilerr // RFC 7009 2.2: an invalid token is revoked already
	}
	r := Revocation{Kind: RevokedToken, Subject: string(c.Family), Reason: "by its bearer"}
	if c.Assurance.lastingEvidence() {
		r.Kind, r.Subject = RevokedAgreement, string(c.Agreement)
	}
	return i.revoke(ctx, r)
}

// Revoke ends PATs for the operator. r names a reason and one subject: a jti, an agreement, an agent or the digest of a policy. If the
// subject is a jti, the renewals of that PAT end too or, if the PAT is under a consent or an implied agreement, that agreement. An agent is
// also blocked. Revoke sets the other fields of r. The subject need not exist. After Revoke returns nil, this process accepts none of these
// PATs, and no other process accepts one for longer than MaxAge.
func (i *Issuer) Revoke(ctx context.Context, r Revocation) error {
	switch r.Kind {
	case RevokedToken:
		switch t, err := i.store.Token(ctx, i.rules.Service, TokenID(r.Subject)); {
		case err == nil && t.Assurance.lastingEvidence():
			r.Kind, r.Subject = RevokedAgreement, string(t.AgreementID)
		case err == nil:
			r.Subject = string(t.Family)
		case !errors.Is(err, ErrNotFound):
			return fmt.Errorf("looking up the PAT: %w", err)
		}
	case RevokedAgreement, RevokedAgent, RevokedPolicy:
	default:
		return fmt.Errorf("%.20q is not token, agreement, agent or policy", r.Kind)
	}
	if r.Subject == "" {
		return fmt.Errorf("revoking a %s: the subject is missing", r.Kind)
	}
	return i.revoke(ctx, r)
}

func (i *Issuer) revoke(ctx context.Context, r Revocation) error {
	r.Service, r.At = i.rules.Service, i.now()
	r.Until = i.forgetAt(r.At.Add(MaxTTL))
	if err := i.store.Revoke(ctx, r); err != nil {
		return fmt.Errorf("revoking: %w", err)
	}
	// The revocation is durable, so it has succeeded. It takes effect in this process immediately. If the Refresh fails, the View reads the
	// rest later, or becomes too old and then accepts no PAT.
	i.view.applyOwn(r)
	_ = i.view.Refresh(ctx)
	return nil
}

// Approve admits an agent: it approves the record that ToApprove returns.
func (i *Issuer) Approve(ctx context.Context, id AgentID) error {
	record, err := i.ToApprove(ctx, id)
	if err != nil {
		return err
	}
	return i.change(ctx, record, func(c *AgentChange) { c.Approved = true })
}

// ToApprove returns the id of the record that an approval of an agent concerns: the record of the agent or, if only static agreements wait
// for approval or exist, the record of its principal. The error is ErrNotFound if the agent never agreed.
func (i *Issuer) ToApprove(ctx context.Context, id AgentID) (AgentID, error) {
	var found AgentID
	for _, record := range []AgentID{id, PrincipalOf(id, Static).Record()} {
		a, err := i.store.Agent(ctx, i.rules.Service, record)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && len(a.Keys) == 0 && !Consented(id): // it was blocked before it agreed
		case err != nil:
			return "", fmt.Errorf("looking up the agent: %w", err)
		case a.Waiting:
			return record, nil
		case found == "":
			found = record
		}
	}
	if found == "" {
		return "", fmt.Errorf("looking up the agent: %w", ErrNotFound)
	}
	return found, nil
}

// Unblock permits a blocked agent to agree again. PATs that the block ended remain invalid. The error wraps ErrNotFound if the agent is
// unknown.
func (i *Issuer) Unblock(ctx context.Context, id AgentID) error {
	return i.change(ctx, id, func(c *AgentChange) { c.Status, c.Reason = AgentActive, "" })
}

// AddKey adds a key to the keys that may have the id of an agent. Errors: keys.ErrUnsupported, ErrBadAgentID, ErrNotFound,
// ErrKeyTaken, and those of the store.
func (i *Issuer) AddKey(ctx context.Context, id AgentID, key keys.ID) error {
	if _, err := keys.ParseID(string(key)); err != nil {
		return err
	}
	if _, err := ParseAgentID(string(id)); err != nil { // a record of static agreements has only one key
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
