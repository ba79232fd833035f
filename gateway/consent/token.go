package consent

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	handleSize = 16 // bytes
	secretSize = 32
)

// newSecret makes a handle and a secret. Clients get both, joined by a dot.
func newSecret() (handle, secret string) {
	var b Seed
	_, _ = rand.Read(b[:]) // it never fails
	return b.split()
}

// A Seed is what a handle and a secret are made from.
type Seed [handleSize + secretSize]byte

func (s *Seed) split() (handle, secret string) {
	text := base64.RawURLEncoding.EncodeToString
	return text(s[:handleSize]), text(s[handleSize:])
}

// parse splits what newSecret joined.
func parse(token string) (handle, secret string, ok bool) {
	handle, secret, ok = strings.Cut(token, ".")
	return handle, secret, ok && random(handle, handleSize) && random(secret, secretSize)
}

// random reports whether newSecret can have made a text of size bytes: no other text is looked up.
func random(text string, size int) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(b) == size && len(text) == base64.RawURLEncoding.EncodedLen(size)
}

// digestOf returns the stored form of a secret. The secret is random, so the digest need not be slow.
func digestOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Tokens are the tokens for a client.
type Tokens struct {
	pat.Issuance
	Refresh string // a secret
}

// A CodeRequest exchanges a code for tokens. RFC 6749 4.1.3, RFC 7636 4.5.
type CodeRequest struct{ Code, RedirectURI, ClientID, Verifier, Resource string }

var errGrant = failed(InvalidGrant, "The code or refresh token is not, or no longer, good.")

// Exchange issues the first tokens of a consent. The second use of a code ends the consent.
func (d *Service) Exchange(ctx context.Context, c agree.Call, r CodeRequest, fetch Fetch) (Tokens, error) {
	began := d.now()
	tokens, err := d.exchange(ctx, c, r, fetch)
	err = errorOf(err)
	d.record(c, agree.Agreement, began, tokens.Issuance, err)
	return tokens, err
}

func (d *Service) exchange(ctx context.Context, c agree.Call, r CodeRequest, fetch Fetch) (Tokens, error) {
	if _, err := open(c.Service); err != nil {
		return Tokens{}, err
	}
	kept, secret, err := find(ctx, c, r.Code, d.store.Consent)
	if err != nil {
		return Tokens{}, err
	}
	code := digestOf(secret)
	// A code passes through the browser, so a copy of it ends nothing: the client must authenticate itself first.
	switch {
	case !same(kept.Code, code):
		return Tokens{}, errGrant
	case kept.ClientID != r.ClientID || kept.RedirectURI != r.RedirectURI:
		return Tokens{}, failed(InvalidGrant, "The code was made for another client or redirect URI.")
	case !verifies(r.Verifier, kept.Challenge):
		return Tokens{}, failed(InvalidGrant, "code_verifier does not fit the code_challenge.")
	case kept.CodeUsed:
		return Tokens{}, d.replayed(ctx, c, kept)
	case !d.now().Before(kept.CodeUntil):
		return Tokens{}, failed(InvalidGrant, "The code is older than a minute.")
	}
	if err := target(c, kept, r.Resource); err != nil {
		return Tokens{}, err
	}
	client, err := d.Client(ctx, c, kept.ClientID, fetch)
	if err != nil {
		return Tokens{}, err
	}
	if client.Document != kept.Document || !client.redirects(kept.RedirectURI) {
		return Tokens{}, failed(InvalidGrant, "The client-ID metadata document has changed since: ask the person again.")
	}
	err = d.store.UseCode(ctx, c.Service.ID, kept.Handle, code)
	if errors.Is(err, store.ErrUsed) {
		return Tokens{}, d.replayed(ctx, c, kept)
	}
	if err != nil {
		return Tokens{}, err
	}
	return d.issue(ctx, c, kept, nil)
}

// verifies reports whether a code verifier matches a challenge, by S256. RFC 7636 4.1 and 4.6.
func verifies(verifier, challenge string) bool {
	unreserved := func(r rune) bool {
		return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r)
	}
	if len(verifier) < 43 || len(verifier) > 128 || strings.ContainsFunc(verifier, func(r rune) bool { return !unreserved(r) }) {
		return false
	}
	return same(digestOf(verifier), challenge)
}

// target rejects another resource than that of the consent, or one that is no longer served.
func target(c agree.Call, kept store.Consent, request string) error {
	if request != "" && request != kept.Resource || kept.Resource != Resource(c.Service.Definition) {
		return failed(InvalidTarget, "The consent is for another resource.")
	}
	return nil
}

// find returns the consent of a code or refresh token, which lookUp reads by the handle in it.
func find(
	ctx context.Context, c agree.Call, token string, lookUp func(ctx context.Context, service, handle string) (store.Consent, error),
) (kept store.Consent, secret string, err error) {
	handle, secret, ok := parse(token)
	if !ok {
		return kept, "", errGrant
	}
	kept, err = lookUp(ctx, c.Service.ID, handle)
	if errors.Is(err, store.ErrNotFound) {
		return kept, "", errGrant
	}
	return kept, secret, err
}

// replayed ends a consent whose code or refresh token was used twice: one of the two users was not the client. OAuth 2.1 4.1.3 and 4.3.1.
func (d *Service) replayed(ctx context.Context, c agree.Call, kept store.Consent) error {
	if err := d.end(ctx, c, kept, "a code or refresh token was used twice"); err != nil {
		return err
	}
	return failed(InvalidGrant, "It was used before: the consent has ended.")
}

func (d *Service) end(ctx context.Context, c agree.Call, kept store.Consent, why string) error {
	return c.Service.Issuance.Revoke(ctx, pat.Revocation{Kind: pat.RevokedAgreement, Subject: string(kept.AgreementID), Reason: why})
}

// issue issues a PAT and the refresh token that replaces the one in kept. It returns either only then.
func (d *Service) issue(ctx context.Context, c agree.Call, kept store.Consent, scope []string) (Tokens, error) {
	issued, err := c.Service.Issuance.ConsentedToken(ctx, kept.AgreementID, kept.Resource, scope)
	if err != nil {
		return Tokens{}, err
	}
	if issued.Token == "" {
		return Tokens{}, errGrant
	}
	_, secret := newSecret()
	err = d.store.Rotate(ctx, c.Service.ID, kept.Handle, kept.Refresh, digestOf(secret))
	if errors.Is(err, store.ErrUsed) {
		return Tokens{}, d.replayed(ctx, c, kept)
	}
	if err != nil {
		return Tokens{}, err
	}
	d.trust(ctx, kept, issued.Claims.Subject)
	return Tokens{issued, cmp.Or(kept.RefreshHandle, kept.Handle) + "." + secret}, nil
}

// A RefreshRequest exchanges a refresh token for further tokens. RFC 6749 6.
type RefreshRequest struct{ Token, ClientID, Scope, Resource string }

// Refresh issues further tokens of a consent; the refresh token is used up. One that was used up ends the consent.
func (d *Service) Refresh(ctx context.Context, c agree.Call, r RefreshRequest) (Tokens, error) {
	began := d.now()
	tokens, err := d.refresh(ctx, c, r)
	err = errorOf(err)
	d.record(c, agree.Renewal, began, tokens.Issuance, err)
	return tokens, err
}

func (d *Service) refresh(ctx context.Context, c agree.Call, r RefreshRequest) (Tokens, error) {
	if _, err := open(c.Service); err != nil {
		return Tokens{}, err
	}
	kept, secret, err := find(ctx, c, r.Token, d.store.ConsentByRefresh)
	switch {
	case err != nil:
		return Tokens{}, err
	case kept.Refresh == "": // no refresh token was issued yet
		return Tokens{}, errGrant
	case kept.ClientID != r.ClientID:
		return Tokens{}, failed(InvalidGrant, "The refresh token was made for another client.")
	case !same(kept.Refresh, digestOf(secret)):
		return Tokens{}, d.replayed(ctx, c, kept)
	case !d.now().Before(kept.Until):
		return Tokens{}, failed(InvalidGrant, "The consent has ended: ask the person again.")
	}
	if err := target(c, kept, r.Resource); err != nil {
		return Tokens{}, err
	}
	// Each token is a durable write. Each consent is limited separately, because many may come from one address of their client.
	if err := d.ask(d.refreshed, c.Service.ID+" "+kept.Handle); err != nil {
		return Tokens{}, err
	}
	scope := strings.Fields(r.Scope)
	if slices.Contains(scope, pat.WholeScope(c.Service.Issuer)) {
		scope = nil
	}
	return d.issue(ctx, c, kept, scope)
}

// Revoke ends the consent of a refresh token. It returns false for any other text. An already ended token is not an error. RFC 7009 2.2.
func (d *Service) Revoke(ctx context.Context, c agree.Call, token string) (mine bool, err error) {
	if _, _, ok := parse(token); !ok {
		return false, nil
	}
	began := d.now()
	kept, secret, err := find(ctx, c, token, d.store.ConsentByRefresh)
	if _, own := errors.AsType[*Error](err); own {
		return true, nil
	}
	if err == nil && same(kept.Refresh, digestOf(secret)) {
		err = d.end(ctx, c, kept, "by its client")
	}
	err = errorOf(err)
	d.record(c, agree.Revocation, began, pat.Issuance{}, err)
	return true, err
}

// Wide replaces the entries of a scope by whole namespaces if there are too many to choose from. nil: they are few enough.
func Wide(s pat.Scope) []string {
	if len(s.Entries) <= MostChoices {
		return nil
	}
	var out []string
	for _, e := range s.Entries {
		namespace, _, _ := strings.Cut(e, ":")
		if wide := pat.WholeScope(namespace); !slices.Contains(out, wide) {
			out = append(out, wide)
		}
	}
	return out
}

// MostChoices is the number of intents that a person can choose from; more are granted as a whole, or not at all.
const MostChoices = 64
