package pat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// A RenewRequest requests a successor of a PAT, which expires later. UIM core 4.4.
type RenewRequest struct {
	Token string // the PAT, valid or expired for less than the grace
	Proof string // proof of key over RenewDigest of its jti; may be empty if none is required
	// Proved is a proof instead of Proof: the message with the request is signed. Anyone who intercepts it can send it again, so it is
	// accepted once, even for the same successor. nil: it is not signed.
	Proved *Proof
	// Sender is the agent that sent the request, and SenderKey its key, if the transport proves them. A PAT of another agent, or of
	// another key, is refused with ErrInvalid. Empty: the transport does not prove it.
	Sender    AgentID
	SenderKey keys.ID
	// Admit is called once the PAT was verified, and before the store is used; its error ends the renewal. nil: admitted.
	Admit func() error
}

// Renew issues a successor under the same agreement, and ends the old PAT within a minute. The same renewal within that
// minute returns the same successor. A renewal without proof of key is permitted only where static agreements are
// accepted and the policy charges nothing, and only within a day of the agreement. Errors: those of
// Verifier.Verify and VerifyProof, and of kind ErrPolicyChanged, ErrProofRequired, ErrProofReplayed, ErrNotAdmitted,
// ErrAgentIDTaken, ErrKeyTaken, ErrNothingGranted, and the store's own.
func (i *Issuer) Renew(ctx context.Context, r RenewRequest) (Issuance, error) {
	now := i.now()
	claims, err := i.verifier.verifyForRenewal(ctx, r.Token, now)
	if err != nil {
		return Issuance{}, err
	}
	switch {
	case r.SenderKey != "" && r.SenderKey != claims.KeyID:
		return Issuance{}, errorOfKind(ErrInvalid, "the PAT is another key's than the sender's")
	case r.Sender != "" && r.Sender != claims.Subject:
		return Issuance{}, errorOfKind(ErrInvalid, "the PAT is another agent's than the sender's")
	}
	if err := claims.Agreed(i.terms.Offer().Digest); err != nil {
		return Issuance{}, err
	}
	if claims.Assurance == Consent { // ConsentedToken makes its successors
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
	scope, err := i.scope(ctx, agreement, claims.Scope, nil)
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

// renewable returns the records of a PAT that may have a successor. A PAT that was renewed more than a minute ago may not.
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
		return nil, errorOfKind(ErrBadSignature, "the key of the agreement is not the PAT's")
	case r.Proved != nil && r.Proved.Key.Thumbprint() != c.KeyID:
		return nil, errorOfKind(ErrInvalid, "the PAT is another key's than the one that signed")
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

// renewWithoutProof checks whether a PAT may be renewed without proof of key, and bounds how long the successor lives.
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

// succeed records next as the successor of old, and returns it; if old already has a successor, it returns that one. once: see
// Renewal.Once.
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
		return Token{}, ErrBlocked
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
