package pat

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/pat/keys"
)

// token returns the record of a new PAT.
func (i *Issuer) token(a Agreement, s Scope, requested []string, now time.Time) Token {
	lmt := limitOf(s.Limit)
	id := TokenID(rand.Text())
	t := Token{
		ID: id, Family: id, Service: i.rules.Service, AgreementID: a.ID, AgentID: a.AgentID, KeyID: a.KeyID, PolicyDigest: a.PolicyDigest,
		Scope: scopeClaim(s.Entries, requested), LimitRate: lmt.Rate, LimitPeriod: lmt.Period, Assurance: a.Assurance,
		Declared: a.Declared(),
	}
	t.IssuedAt = i.view.firstIssue(i.rules.Service, i.claims(t), now)
	t.ExpiresAt = t.IssuedAt.Add(i.rules.TTL)
	return t
}

// issue signs a PAT, records it, and only then returns it. If a revocation that the View has not read yet would end the PAT, issue gives
// the PAT a later time of issue. Errors: ErrBlocked, ErrRevoked if the consent has ended, ErrAgreementReplayed if a PAT with this jti is
// already recorded, and those of the key ring and the store.
func (i *Issuer) issue(ctx context.Context, t Token) (string, *Claims, error) {
	text, claims, err := i.sign(ctx, &t)
	if err != nil {
		return "", nil, err
	}
	err = i.store.Issue(ctx, t)
	if errors.Is(err, ErrEnded) && t.Assurance == Consent {
		return "", nil, ErrRevoked
	}
	if errors.Is(err, ErrEnded) && i.view.Refresh(ctx) == nil { // a revocation that the view had not yet read
		first := i.view.firstIssue(t.Service, claims, i.now())
		if t.NotBefore.Before(first) {
			t.NotBefore, t.ExpiresAt = time.Time{}, first.Add(t.ExpiresAt.Sub(t.Start()))
		}
		t.IssuedAt = first
		if text, claims, err = i.sign(ctx, &t); err != nil {
			return "", nil, err
		}
		err = i.store.Issue(ctx, t)
	}
	switch {
	case errors.Is(err, ErrBlocked):
		return "", nil, &BlockedError{AgentID: t.AgentID}
	case err != nil:
		if _, known := i.store.Token(ctx, t.Service, t.ID); known == nil {
			return "", nil, ErrAgreementReplayed
		}
		return "", nil, fmt.Errorf("recording the PAT: %w", err)
	}
	return text, claims, nil
}

// soleTokenID returns the jti of the only PAT that is issued for a fresh agreement after it was pending, so that two concurrent requests
// cannot get two PATs. Like every jti of this package it is in base32, because a leading "-" would be a flag on a command line.
func soleTokenID(agreement AgreementID) TokenID {
	sum := sha256.Sum256([]byte("jti of the one PAT under " + string(agreement)))
	return TokenID(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// claims returns the claims of a recorded PAT.
func (i *Issuer) claims(t Token) *Claims {
	return &Claims{
		Issuer: i.rules.Issuer, Subject: t.AgentID, ID: t.ID, Family: t.Family, IssuedAt: t.IssuedAt.UTC(), NotBefore: t.Start().UTC(),
		ExpiresAt: t.ExpiresAt.UTC(),
		Scope:     t.Scope, Policy: i.rules.PolicyURL, PolicyDigest: t.PolicyDigest, Limit: Limit{t.LimitRate, t.LimitPeriod}.rate(),
		KeyID: t.KeyID, Agreement: t.AgreementID, Assurance: t.Assurance, Declared: t.Declared, Resource: t.Resource, Budget: t.Budget,
	}
}

// sign signs the PAT of a record, and sets SigningKeyID in the record. If the PAT would be longer than MaxToken, the error is a
// *ScopeFormError.
func (i *Issuer) sign(ctx context.Context, t *Token) (string, *Claims, error) {
	key, err := i.keys.PrivateKey(ctx)
	if err != nil {
		return "", nil, err
	}
	t.SigningKeyID = key.ID
	claims := i.claims(*t)
	token := jwt.NewWithClaims(keys.Method(key.Algorithm), jwt.MapClaims(claims.payload()))
	token.Header["typ"], token.Header["kid"] = TypePAT, key.ID
	text, err := token.SignedString(key.Private)
	if err != nil {
		return "", nil, fmt.Errorf("signing the PAT: %w", err)
	}
	if len(text) > MaxToken {
		return "", nil, &ScopeFormError{fmt.Sprintf("the scope makes the PAT longer than %d bytes: request fewer intents", MaxToken)}
	}
	return text, claims, nil
}
