package pat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// A RenewRequest requests a successor of a PAT, with a later expiry. See UIM core, section 4.4.
type RenewRequest struct {
	Token string // the PAT: valid, or expired for less than the grace period
	Proof string // proof of key over RenewDigest of its jti; may be empty if none is required
	// Proved replaces Proof if the message that contains the request is signed; otherwise it is nil. Anyone who intercepts such a message can
	// send it again, so each message is accepted only once, even for the same successor.
	Proved *Proof
	// Sender and SenderKey are the agent that sent the request and its key, if the transport proves them; otherwise they are empty. Renew
	// returns ErrInvalid for a PAT of a different agent or key.
	Sender    AgentID
	SenderKey keys.ID
	// Admit is called after the PAT was verified and before the store is used. If it returns an error, Renew returns that error. A nil Admit
	// admits every renewal.
	Admit func() error
}

// Renew issues a successor under the same agreement, and ends the old PAT within a minute. The same renewal within that minute returns the
// same successor. A renewal without proof of key is permitted only if the service accepts static agreements and the policy charges nothing,
// and only within a day of the agreement. Errors: those of Verifier.Verify and VerifyProof, errors of kind ErrPolicyChanged,
// ErrProofRequired, ErrProofReplayed, ErrNotAdmitted, ErrAgentIDTaken, ErrKeyTaken, ErrNothingGranted and ErrFreshRequired, and those of
// the key ring and the store.
func (i *Issuer) Renew(ctx context.Context, r RenewRequest) (Issuance, error) {
	now := i.now()
	claims, err := i.verifier.verifyForRenewal(ctx, r.Token, now)
	if err != nil {
		return Issuance{}, err
	}
	switch {
	case r.SenderKey != "" && r.SenderKey != claims.KeyID:
		return Issuance{}, errorOfKind(ErrInvalid, "the PAT does not belong to the sender's key")
	case r.Sender != "" && r.Sender != claims.Subject:
		return Issuance{}, errorOfKind(ErrInvalid, "the PAT does not belong to the sender")
	}
	if err := i.terms.Holds(claims.PolicyDigest); err != nil {
		return Issuance{}, err
	}
	if claims.Assurance.lastingEvidence() { // ConsentedToken and Issue issue further PATs
		return Issuance{}, ErrProofRequired
	}
	if err := admitted(r.Admit); err != nil {
		return Issuance{}, err
	}
	old, agreement, err := i.renewable(ctx, claims, now)
	if err != nil {
		return Issuance{}, err
	}
	proof, err := i.renewalProof(r, claims, agreement, now)
	if err != nil {
		return Issuance{}, err
	}
	if approved, _, err := i.admit(ctx, claims.Subject, claims.KeyID, claims.Assurance); err != nil {
		return Issuance{}, err
	} else if !approved {
		return Issuance{}, ErrNotAdmitted
	}
	scope, err := i.scope(ctx, agreement, claims.Scope, nil, nil)
	if err != nil {
		return Issuance{}, err
	}
	next := i.token(agreement, scope, claims.Scope, now)
	next.Family = old.Family
	if proof == nil {
		if err := i.renewWithoutProof(&next, scope, agreement); err != nil {
			return Issuance{}, err
		}
	}
	if _, _, err := i.sign(ctx, &next); err != nil { // a token that cannot be signed must not be recorded
		return Issuance{}, err
	}
	if next, err = i.succeed(ctx, old, next, proof, r.Proved != nil, claims); err != nil {
		return Issuance{}, err
	}
	next.Declared = agreement.Declared()
	text, renewed, err := i.sign(ctx, &next)
	if err != nil {
		return Issuance{}, err
	}
	return Issuance{State: AgreementActive, AgreementID: agreement.ID, Token: text, Claims: renewed, Omitted: scope.Omitted}, nil
}

// renewable returns the records of a PAT that may have a successor. It returns ErrRevoked if the PAT was renewed more than a minute ago,
// the store has no record of it, or its agreement is not active.
func (i *Issuer) renewable(ctx context.Context, c *Claims, now time.Time) (Token, Agreement, error) {
	old, err := i.store.Token(ctx, i.rules.Service, c.ID)
	if errors.Is(err, ErrNotFound) { // the signature is ours, but the store was restored to an earlier state
		return Token{}, Agreement{}, ErrRevoked
	}
	if err != nil {
		return Token{}, Agreement{}, fmt.Errorf("looking up the PAT: %w", err)
	}
	if old.RenewedTo != "" && old.RenewedAt.Before(now.Add(-lastMinute)) {
		return Token{}, Agreement{}, ErrRevoked
	}
	a, err := i.store.Agreement(ctx, i.rules.Service, c.Agreement)
	if errors.Is(err, ErrNotFound) || (err == nil && a.State != AgreementActive) {
		return Token{}, Agreement{}, ErrRevoked
	}
	if err != nil {
		return Token{}, Agreement{}, fmt.Errorf("looking up the agreement: %w", err)
	}
	return old, a, nil
}

func (i *Issuer) renewalProof(r RenewRequest, c *Claims, a Agreement, now time.Time) (*Proof, error) {
	if r.Proof == "" && r.Proved == nil {
		return nil, nil //nolint:nilnil // no proof was sent
	}
	key, err := a.Key()
	switch {
	case err != nil || key.Thumbprint() != c.KeyID:
		return nil, errorOfKind(ErrBadSignature, "the key of the agreement is not the key of the PAT")
	case r.Proved != nil && r.Proved.Key.Thumbprint() != c.KeyID:
		return nil, errorOfKind(ErrInvalid, "the PAT does not belong to the key that signed the request")
	case r.Proved != nil:
		return r.Proved, nil
	}
	digest, err := RenewDigest(c.ID)
	if err != nil {
		return nil, err
	}
	proof, err := VerifyProof(r.Proof, key, ProofBinding{Audience: i.rules.Issuer, TokenID: c.ID, Digest: digest}, now)
	if err != nil {
		return nil, err
	}
	return &proof, nil
}

// renewWithoutProof returns ErrProofRequired if a PAT may not be renewed without proof of key. Otherwise it makes the successor expire at
// most unprovedLife after the agreement.
func (i *Issuer) renewWithoutProof(next *Token, s Scope, a Agreement) error {
	if i.rules.Freshness == FreshnessRequired || s.Charges {
		return ErrProofRequired
	}
	end := a.CreatedAt.Add(unprovedLife).Truncate(time.Second)
	if next.ExpiresAt.After(end) {
		next.ExpiresAt = end
	}
	if !next.IssuedAt.Before(next.ExpiresAt) {
		return ErrProofRequired
	}
	return nil
}

// succeed records next as the successor of old and returns it. If old already has a successor, it returns that one. The parameter
// once is Renewal.Once.
func (i *Issuer) succeed(ctx context.Context, old, next Token, proof *Proof, once bool, c *Claims) (Token, error) {
	ends := next.IssuedAt.Add(lastMinute)
	if old.ExpiresAt.Before(ends) {
		ends = old.ExpiresAt
	}
	renewal := Renewal{Old: old.ID, Next: next, Ends: ends, RepeatSince: next.IssuedAt.Add(-lastMinute)}
	if proof != nil {
		renewal.Nonce, renewal.NonceUntil, renewal.Once = proof.Nonce, proof.Until, once
	}
	successor, err := i.store.Renew(ctx, renewal)
	switch {
	case errors.Is(err, ErrReplayed):
		return Token{}, ErrProofReplayed
	case errors.Is(err, ErrNotFound):
		return Token{}, ErrRevoked
	case errors.Is(err, ErrBlocked): // or revoked at this moment: the refreshed view decides
		if err := i.view.Refresh(ctx); err != nil {
			return Token{}, ErrUnavailable
		}
		if err := i.view.check(i.rules.Service, c, i.now(), true); err != nil {
			return Token{}, err
		}
		return Token{}, &BlockedError{c.Subject, c.ID}
	case err != nil:
		return Token{}, fmt.Errorf("recording the renewal: %w", err)
	}
	if successor.ID == next.ID {
		i.view.applyOwn(Revocation{
			Service: i.rules.Service, Kind: RevokedRenewed, Subject: string(old.ID), At: ends,
			Until: i.forgetAt(old.ExpiresAt),
		})
	}
	return successor, nil
}

// forgetAt returns when a PAT that expires at exp can no longer be used, not even for a renewal.
func (i *Issuer) forgetAt(exp time.Time) time.Time { return exp.Add(i.rules.Grace + i.rules.Leeway) }
