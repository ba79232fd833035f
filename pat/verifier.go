package pat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/pat/keys"
)

// MaxToken is the maximum size of a PAT in bytes.
const MaxToken = 24 << 10

// defaultCached is how many verified PATs a Verifier caches by default.
const defaultCached = 10_000

// A VerifierConfig configures a Verifier.
type VerifierConfig struct {
	Service string        // id of the service
	Issuer  string        // iss and aud of its PATs
	Leeway  time.Duration // tolerated difference between two clocks, at most 5 minutes
	Grace   time.Duration // how long after exp a PAT may still be renewed
	Keys    *keys.Keyring
	View    *View
	// Reserved maps an agent id to the only keys that may have it. The Verifier rejects a PAT of such an id with any other key as revoked; for
	// a renewal, the Issuer rejects it.
	Reserved map[AgentID][]keys.ID
	Cached   int // how many verified PATs are cached; 0 means 10,000
}

// A Verifier verifies the PATs of one service under one version of the configuration; a reload creates a new Verifier. It is safe for
// concurrent use.
type Verifier struct {
	c     VerifierConfig
	cache *cache.Cache[[sha256.Size]byte, *cachedPAT]
}

// A cachedPAT is a PAT whose signature, form and issuer were verified. Times and revocations are checked whenever it is sent again.
type cachedPAT struct {
	claims *Claims
	keys   uint64    // version of the set of keys
	until  time.Time // when its key ends; zero if the key still signs
}

// NewVerifier makes a Verifier with an empty cache.
func NewVerifier(c VerifierConfig) (*Verifier, error) {
	if c.Service == "" || c.Issuer == "" || c.Keys == nil || c.View == nil {
		return nil, errors.New("a verifier needs a service, its issuer, keys and a view")
	}
	if c.Leeway < 0 || c.Leeway > maxLeeway || c.Grace < 0 || c.Grace > maxGrace {
		return nil, fmt.Errorf("leeway must be 0 to %s, and renew_grace 0 to %s", maxLeeway, maxGrace)
	}
	c.Cached = cmp.Or(c.Cached, defaultCached)
	return &Verifier{c, cache.New(cache.Options[[sha256.Size]byte, *cachedPAT]{Max: c.Cached})}, nil
}

// Verify returns the claims of a PAT that is valid at now. Terms.Holds checks whether its agreement still holds. The error is of kind
// ErrMissing, ErrInvalid, ErrExpired, ErrNotYetValid, ErrRevoked, ErrBlocked or ErrUnavailable. See UIM core, section 4.3.
func (v *Verifier) Verify(ctx context.Context, token string, now time.Time) (*Claims, error) {
	c, err := v.read(ctx, token, now)
	if err != nil {
		return nil, err
	}
	if err := v.checkTimes(c, now, 0); err != nil {
		if now.After(c.ExpiresAt.Add(v.c.Leeway + v.c.Grace)) {
			v.cache.Remove(digestToken(token))
		}
		return nil, err
	}
	if err := v.checkView(c, now, false); err != nil {
		return nil, err
	}
	return c, nil
}

// StillGood returns nil if a PAT that Verify accepted is valid at now. It reads only memory, so that it can be called right before an
// action. The errors are those of Verify.
func (v *Verifier) StillGood(c *Claims, now time.Time) error {
	if c.Issuer != v.c.Issuer {
		return ErrInvalid
	}
	if err := v.checkTimes(c, now, 0); err != nil {
		return err
	}
	return v.checkView(c, now, false)
}

// verifyForRenewal is like Verify, but also accepts a PAT that has expired within the grace, or that was already renewed.
func (v *Verifier) verifyForRenewal(ctx context.Context, token string, now time.Time) (*Claims, error) {
	c, err := v.read(ctx, token, now)
	if err != nil {
		return nil, err
	}
	if err := v.checkTimes(c, now, v.c.Grace); err != nil {
		return nil, err
	}
	if err := v.checkView(c, now, true); err != nil {
		return nil, err
	}
	return c, nil
}

// read returns the claims of a PAT that this service issued, whether or not it has expired or was revoked. The error is of kind ErrMissing
// or ErrInvalid.
func (v *Verifier) read(ctx context.Context, token string, now time.Time) (*Claims, error) {
	if token == "" {
		return nil, ErrMissing
	}
	if len(token) > MaxToken {
		return nil, errorOfKind(ErrInvalid, "a PAT may have at most %d bytes", MaxToken)
	}
	sum := digestToken(token)
	version := v.c.Keys.Version()
	if known, ok := v.cache.Get(sum); ok && known.keys == version && (known.until.IsZero() || now.Before(known.until)) {
		return known.claims, nil
	}
	c, until, err := v.parse(ctx, token, now)
	if err != nil {
		return nil, err
	}
	// version was read before parse: if the keys have changed since, the entry is never used.
	v.cache.Set(sum, &cachedPAT{c, version, until})
	return c, nil
}

// buffers holds buffers for digestToken, so that it does not copy the token of every call to the heap.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func digestToken(token string) [sha256.Size]byte {
	b, ok := buffers.Get().(*[]byte)
	if !ok {
		return sha256.Sum256([]byte(token))
	}
	*b = append((*b)[:0], token...)
	sum := sha256.Sum256(*b)
	buffers.Put(b)
	return sum
}

func (v *Verifier) parse(ctx context.Context, token string, now time.Time) (c *Claims, until time.Time, err error) {
	j, err := keys.ParseJWS(token, MaxToken)
	if err != nil || j.SentTyp != TypePAT {
		return nil, until, ErrInvalid
	}
	key, ok := v.c.Keys.Lookup(ctx, keys.ID(j.KeyID), now)
	if !ok || j.Alg != key.Algorithm || !j.SignedBy(key.Key) {
		return nil, until, ErrInvalid
	}
	c, err = readClaims(j.Payload)
	if err != nil || c.Issuer != v.c.Issuer {
		return nil, until, ErrInvalid
	}
	return c, key.NotAfter, nil
}

func (v *Verifier) checkTimes(c *Claims, now time.Time, grace time.Duration) error {
	switch { // RFC 7519 4.1.4 to 4.1.6
	case !now.Before(c.ExpiresAt.Add(v.c.Leeway + grace)):
		return ErrExpired
	case now.Before(c.NotBefore.Add(-v.c.Leeway)), now.Before(c.IssuedAt.Add(-v.c.Leeway)):
		return ErrNotYetValid
	case !c.NotBefore.Before(c.ExpiresAt):
		return ErrInvalid
	}
	return nil
}

func (v *Verifier) checkView(c *Claims, now time.Time, renewal bool) error {
	if !v.c.View.Fresh(now) {
		return ErrUnavailable
	}
	if reserved := v.c.Reserved[c.Subject]; !renewal && reserved != nil && !slices.Contains(reserved, c.KeyID) {
		return ErrRevoked
	}
	return v.c.View.check(v.c.Service, c, now, renewal)
}

// Introspection is the response of RFC 7662 section 2.2 about a PAT. If the PAT is not active, all other members are empty.
type Introspection struct {
	Active       bool          `json:"active"`
	TokenType    string        `json:"token_type,omitempty"` // Bearer
	Scope        string        `json:"scope,omitempty"`      // entries separated by spaces: RFC 7662 2.2
	ClientID     AgentID       `json:"client_id,omitempty"`  // the agent id
	Subject      AgentID       `json:"sub,omitempty"`
	Issuer       string        `json:"iss,omitempty"`
	Audience     string        `json:"aud,omitempty"`
	ID           TokenID       `json:"jti,omitempty"`
	IssuedAt     int64         `json:"iat,omitempty"`
	NotBefore    int64         `json:"nbf,omitempty"`
	ExpiresAt    int64         `json:"exp,omitempty"`
	Policy       string        `json:"pol,omitempty"`
	PolicyDigest string        `json:"pol_digest,omitempty"`
	Agreement    AgreementID   `json:"agr,omitempty"`
	Limit        *Limit        `json:"lmt,omitempty"`
	Confirmation *Confirmation `json:"cnf,omitempty"`
	Assurance    Assurance     `json:"assurance,omitempty"`
}

// Confirmation names the key of a PAT. See RFC 7800, section 3.1.
type Confirmation struct {
	KeyID keys.ID `json:"jkt"`
}

// Introspect returns the state of a token, which need not be a PAT. holds returns an error if no agreement to the policy with this digest
// permits a call any more, as Terms.Holds does. The only error of Introspect is of kind ErrUnavailable.
func (v *Verifier) Introspect(ctx context.Context, token string, holds func(digest string) error, now time.Time) (Introspection, error) {
	c, err := v.Verify(ctx, token, now)
	if errors.Is(err, ErrUnavailable) {
		return Introspection{}, err
	}
	if err != nil || holds(c.PolicyDigest) != nil {
		return Introspection{}, nil //nolint:nilerr // RFC 7662 2.2: an invalid token is not active
	}
	lmt := limitOf(c.Limit)
	var confirmation *Confirmation
	if c.KeyID != "" {
		confirmation = &Confirmation{c.KeyID}
	}
	return Introspection{
		Active: true, TokenType: "Bearer", Scope: strings.Join(c.Scope, " "), ClientID: c.Subject, Subject: c.Subject, Issuer: c.Issuer,
		Audience: c.Issuer,
		ID:       c.ID, IssuedAt: c.IssuedAt.Unix(), NotBefore: c.NotBefore.Unix(), ExpiresAt: c.ExpiresAt.Unix(),
		Policy: c.Policy, PolicyDigest: c.PolicyDigest, Agreement: c.Agreement, Limit: &lmt,
		Confirmation: confirmation, Assurance: c.Assurance,
	}, nil
}
