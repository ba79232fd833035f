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

// newSecret returns a random handle and a random secret. Clients receive both, joined by a dot.
func newSecret() (handle, secret string) {
	var b Seed
	_, _ = rand.Read(b[:]) // never fails
	return b.split()
}

// A Seed holds the random bytes of a handle and a secret.
type Seed [handleSize + secretSize]byte

func (s *Seed) split() (handle, secret string) {
	text := base64.RawURLEncoding.EncodeToString
	return text(s[:handleSize]), text(s[handleSize:])
}

// parse splits a token into handle and secret. ok is false if newSecret cannot have produced them.
func parse(token string) (handle, secret string, ok bool) {
	handle, secret, ok = strings.Cut(token, ".")
	return handle, secret, ok && random(handle, handleSize) && random(secret, secretSize)
}

// random reports whether newSecret can have produced text from size bytes. Only such a string may be passed to the store.
func random(text string, size int) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(b) == size && len(text) == base64.RawURLEncoding.EncodedLen(size)
}

// digestOf returns the form in which a secret is stored. The secret is random, so a fast digest is sufficient.
func digestOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Tokens are the PAT and the refresh token for a client.
type Tokens struct {
	pat.Issuance
	Refresh string // a secret
}

// A CodeRequest is a request to exchange a code for tokens (RFC 6749 4.1.3, RFC 7636 4.5).
type CodeRequest struct{ Code, RedirectURI, ClientID, Verifier, Resource string }

var errGrant = failed(InvalidGrant, "The code or refresh token is not valid, or no longer valid.")

// Exchange issues the first tokens of a consent in exchange for a code. If the code was used before, Exchange revokes the consent. Errors
// are an *Error or a *reason.Refusal.
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
	// A code passes through the browser, where others may copy it. So the client must prove possession of the code verifier before the reuse
	// of a code can revoke the consent.
	switch {
	case !same(kept.Code, code):
		return Tokens{}, errGrant
	case kept.ClientID != r.ClientID || kept.RedirectURI != r.RedirectURI:
		return Tokens{}, failed(InvalidGrant, "The code was issued to another client or for another redirect URI.")
	case !verifies(r.Verifier, kept.Challenge):
		return Tokens{}, failed(InvalidGrant, "code_verifier does not match the code_challenge.")
	case kept.CodeUsed:
		return Tokens{}, d.replayed(ctx, c, kept)
	case !d.now().Before(kept.CodeUntil):
		return Tokens{}, failed(InvalidGrant, "The code has expired: it was valid for one minute.")
	}
	if err := target(c, kept, r.Resource); err != nil {
		return Tokens{}, err
	}
	client, err := d.Client(ctx, c, kept.ClientID, fetch)
	if err != nil {
		return Tokens{}, err
	}
	if client.Document != kept.Document || !client.redirects(kept.RedirectURI) {
		return Tokens{}, failed(InvalidGrant, "The client-ID metadata document has changed since the consent: ask the person again.")
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

// verifies reports whether a code verifier matches a challenge by the method S256. See RFC 7636, sections 4.1 and 4.6.
func verifies(verifier, challenge string) bool {
	unreserved := func(r rune) bool {
		return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r)
	}
	if len(verifier) < 43 || len(verifier) > 128 || strings.ContainsFunc(verifier, func(r rune) bool { return !unreserved(r) }) {
		return false
	}
	return same(digestOf(verifier), challenge)
}

// target returns an error if the request names a resource other than that of the consent, or if the service no longer has that resource.
func target(c agree.Call, kept store.Consent, request string) error {
	if request != "" && request != kept.Resource || kept.Resource != Resource(c.Service.Definition) {
		return failed(InvalidTarget, "The consent is for another resource.")
	}
	return nil
}

// find returns the consent and the secret of a code or refresh token. lookUp reads the consent by the handle in the token.
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

// replayed revokes a consent whose code or refresh token was used twice, because one of the two users is not the client. It returns the
// error for the client. See OAuth 2.1, sections 4.1.3 and 4.3.1.
func (d *Service) replayed(ctx context.Context, c agree.Call, kept store.Consent) error {
	if err := d.end(ctx, c, kept, "a code or refresh token was used twice"); err != nil {
		return err
	}
	return failed(InvalidGrant, "The code or refresh token was already used, so the consent was revoked.")
}

func (d *Service) end(ctx context.Context, c agree.Call, kept store.Consent, why string) error {
	return c.Service.Issuance.Revoke(ctx, pat.Revocation{Kind: pat.RevokedAgreement, Subject: string(kept.AgreementID), Reason: why})
}

// issue issues a PAT and a refresh token. It returns them only after the store has replaced the refresh token of kept with the new one. If
// another request has replaced that token first, issue revokes the consent.
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

// A RefreshRequest is a request to exchange a refresh token for new tokens. See RFC 6749, section 6.
type RefreshRequest struct{ Token, ClientID, Scope, Resource string }

// Refresh issues new tokens of a consent in exchange for a refresh token, which can be used once. If the refresh token was used before,
// Refresh revokes the consent. Errors are an *Error or a *reason.Refusal.
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
		return Tokens{}, failed(InvalidGrant, "The refresh token was issued to another client.")
	case !same(kept.Refresh, digestOf(secret)):
		return Tokens{}, d.replayed(ctx, c, kept)
	case !d.now().Before(kept.Until):
		return Tokens{}, failed(InvalidGrant, "The consent has ended: ask the person again.")
	}
	if err := target(c, kept, r.Resource); err != nil {
		return Tokens{}, err
	}
	// Each token needs a durable write. The limit applies to each consent, because a client may serve many people from one address.
	if err := d.ask("refresh", c.Service.ID+" "+kept.Handle); err != nil {
		return Tokens{}, err
	}
	scope := strings.Fields(r.Scope)
	if slices.Contains(scope, pat.WholeScope(c.Service.Issuer)) {
		scope = nil
	}
	return d.issue(ctx, c, kept, scope)
}

// Revoke revokes the consent of a refresh token. mine reports whether token has the form of a refresh token. A token that is unknown or no
// longer valid is not an error. Errors are a *reason.Refusal. See RFC 7009, section 2.2.
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
		err = d.end(ctx, c, kept, "revoked by its client")
	}
	err = errorOf(err)
	d.record(c, agree.Revocation, began, pat.Issuance{}, err)
	return true, err
}

// Wide returns the namespaces of a scope, as scope entries, if the scope has more than MostChoices entries. Otherwise it returns nil.
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

// MostChoices is the maximum number of intents among which a person can choose. If there are more, a person grants whole namespaces.
const MostChoices = 64
