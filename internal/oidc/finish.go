package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/uimgate/uimgate/internal/fetch"
)

const (
	skew    = time.Minute // maximum difference between the clocks of gateway and provider
	maxCode = 8 << 10     // bytes of an authorization code
)

// A Person has signed in at the provider.
type Person struct {
	Attempt Attempt
	Subject string // identifies the person at the provider
	Name    string // for people: the email address, the user name or Subject; at most 200 characters, without invisible ones
	Role    string // the highest one; empty with ErrNoRole
	// AuthenticatedAt is when the provider last authenticated the person. Zero: the provider does not report it.
	AuthenticatedAt time.Time
}

// Finish returns the person who has signed in. cookie is the value that Begin returned, and query is the query with which the provider
// redirected the browser. If the attempt has a Session, the provider must have authenticated the person since the attempt began: otherwise
// the error wraps ErrStale. If the error is ErrNoRole, all fields of the Person except Role are set; if it is ErrStale, all are set. A
// cookie can be used once.
func (p *Provider) Finish(ctx context.Context, cookie string, query url.Values) (Person, error) {
	a, err := p.open(cookie)
	if err != nil {
		return Person{}, err
	}
	if !same(query.Get("state"), a.state()) || !p.spend(a) {
		return Person{}, ErrAttempt
	}
	m, err := p.metadata(ctx)
	if err != nil {
		return Person{}, err
	}
	if iss := query.Get("iss"); iss != p.o.Issuer && (iss != "" || m.issIs) {
		return Person{}, fmt.Errorf("%w: the response comes from another issuer", ErrAttempt)
	}
	if query.Has("error") {
		return Person{}, fmt.Errorf("%w: %s", ErrDenied, errorCode(query.Get("error")))
	}
	code := query.Get("code")
	if code == "" || len(code) > maxCode {
		return Person{}, fmt.Errorf("%w: the response has no code", ErrDenied)
	}
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	default:
		return Person{}, ErrBusy
	}
	return p.exchange(p.context(ctx), m, a, code)
}

// exchange exchanges a code for the identity of a person.
func (p *Provider) exchange(ctx context.Context, m *metadata, a *Attempt, code string) (Person, error) {
	token, err := p.flow(m).Exchange(ctx, code, oauth2.VerifierOption(a.verifier()))
	if err != nil {
		return Person{}, exchangeError(err)
	}
	raw, _ := token.Extra("id_token").(string)
	var unread error
	id, err := m.verifier.Verify(context.WithValue(ctx, keyError{}, &unread), raw)
	if unread != nil {
		return Person{}, transportError(unread, "it does not answer at its jwks_uri")
	}
	if err != nil {
		return Person{}, tokenError(err)
	}
	switch {
	case id.Subject == "" || len(id.Subject) > maxValue:
		return Person{}, fmt.Errorf("%w: it names no person", ErrIdentity)
	case !same(id.Nonce, a.nonce()):
		return Person{}, fmt.Errorf("%w: it belongs to another sign-in", ErrIdentity)
	case id.AccessTokenHash != "" && id.VerifyAccessToken(token.AccessToken) != nil:
		return Person{}, fmt.Errorf("%w: it belongs to another access token", ErrIdentity)
	}
	c, err := claimsOf(id.Claims)
	if err != nil {
		return Person{}, err
	}
	if party, given := c.tree["azp"]; given && party != p.o.ClientID || !given && len(id.Audience) > 1 {
		return Person{}, fmt.Errorf("%w: it was issued to another client", ErrIdentity)
	}
	person := Person{Attempt: *a, Subject: id.Subject, AuthenticatedAt: c.authenticated()}
	if now := p.o.Now(); person.AuthenticatedAt.After(now) {
		if person.AuthenticatedAt.After(now.Add(skew)) {
			return Person{}, fmt.Errorf("%w: its auth_time is in the future", ErrIdentity)
		}
		person.AuthenticatedAt = now
	}
	all := []claims{c}
	if m.userinfo && !c.has(p.o.Claim) {
		more, err := userInfo(ctx, m, id.Subject, token)
		if err != nil {
			return Person{}, err
		}
		all = append(all, more)
	}
	person.Name = nameOf(id.Subject, all)
	if person.Role = roleOf(p.o.Roles, p.o.Claim, all); person.Role == "" {
		return person, ErrNoRole
	}
	if a.Session != "" && person.AuthenticatedAt.Before(a.At.Add(-skew)) {
		return person, ErrStale
	}
	return person, nil
}

// userInfo returns the claims of the UserInfo endpoint (OpenID Connect Core 1.0 section 5.3).
func userInfo(ctx context.Context, m *metadata, subject string, token *oauth2.Token) (claims, error) {
	info, err := m.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return claims{}, transportError(err, "it does not answer at its userinfo_endpoint")
	}
	if info.Subject != subject {
		return claims{}, fmt.Errorf("%w: the userinfo_endpoint describes another person", ErrIdentity)
	}
	return claimsOf(info.Claims)
}

// exchangeError returns an error for a code that could not be exchanged, without the code and without text from the provider.
func exchangeError(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.ErrorCode != "" {
		code := errorCode(refused.ErrorCode)
		if code == "invalid_client" || code == "unauthorized_client" {
			return fmt.Errorf("%w: it does not accept admin.oidc.client_id and client_secret: %s", ErrAway, code)
		}
		return fmt.Errorf("%w: %s", ErrDenied, code)
	}
	return transportError(err, "it does not answer at its token_endpoint")
}

// transportError returns an error that wraps ErrAway, with the cause if the gateway knows it, and otherwise with text.
func transportError(err error, text string) error {
	if failed, ok := errors.AsType[*fetch.Error](err); ok {
		return fmt.Errorf("%w: %w", ErrAway, failed)
	}
	if errors.Is(err, fetch.ErrRefused) {
		return fmt.Errorf("%w: an address of it is not permitted", ErrAway)
	}
	return fmt.Errorf("%w: %s", ErrAway, text)
}

// tokenError returns the error of an ID token that is not valid, without text from the token.
func tokenError(err error) error {
	if _, ok := errors.AsType[*goidc.TokenExpiredError](err); ok {
		return fmt.Errorf("%w: it has expired", ErrIdentity)
	}
	return fmt.Errorf("%w: its issuer, audience, time or signature is wrong", ErrIdentity)
}

// errorCode returns code if it has the form of an OAuth error code, and otherwise a description that does not contain code.
func errorCode(code string) string {
	unusual := func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') }
	if len(code) > 64 || strings.ContainsFunc(code, unusual) {
		return "an unknown error"
	}
	return code
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
