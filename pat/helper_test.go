package pat_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	aeaagreement "github.com/uimgate/uimgate/bindings/aea/agreement"
	mrpagreement "github.com/uimgate/uimgate/bindings/mrp/agreement"
	uagentsagreement "github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store/sqlstore"
)

const (
	service   = "shop"
	issuer    = "shop.example"
	policyUID = "https://shop.example/policy/1"
	policyURL = "https://shop.example/api/policy"
	issueURL  = "https://shop.example/api/pat/issue"
	search    = "shop.example:search:v1"
	buy       = "shop.example:buy:v1" // charges
)

var recipient = pat.Recipient{Issuer: issuer, URLs: []string{issueURL}}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A clock changes only when add is called.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// Keys of every kind.
var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	edKey    = sync.OnceValue(func() ed25519.PrivateKey { return newEd() })
	policyV1 = []byte(`{"uid": "https://shop.example/policy/1", "permission": [{"action": "execute", "price": 1.50, "note": "ä"}]}`)
	policyV2 = []byte(`{"uid": "https://shop.example/policy/1", "permission": []}`)
)

func newEd() ed25519.PrivateKey {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	return must(k, err)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func keyOf(tb testing.TB, s crypto.Signer) keys.Key {
	tb.Helper()
	k, err := keys.New(s.Public())
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func offerOf(tb testing.TB, raw []byte) pat.Offer {
	tb.Helper()
	o, err := pat.NewOffer(raw, policyUID)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// jws returns a compact JWS with any header and payload. sign is a crypto.Signer for a JOSE signature, or a function that returns the
// signature.
func jws(tb testing.TB, header, payload any, sign func(input []byte) []byte) string {
	tb.Helper()
	part := func(v any) string {
		if raw, ok := v.([]byte); ok {
			return base64.RawURLEncoding.EncodeToString(raw)
		}
		b, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	input := part(header) + "." + part(payload)
	return input + "." + base64.RawURLEncoding.EncodeToString(sign([]byte(input)))
}

func edSign(k ed25519.PrivateKey) func([]byte) []byte {
	return func(input []byte) []byte { return ed25519.Sign(k, input) }
}

// A memory stores private keys in memory.
type memory struct{ pem []byte }

func (m *memory) Load() ([]byte, error) { return m.pem, nil }
func (m *memory) Save(b []byte) error   { m.pem = slices.Clone(b); return nil }

// A terms offers search for free, buy for a charge, and the intents in more.
type terms struct {
	offer   pat.Offer
	later   []pat.DatedOffer
	past    []pat.Offer
	more    []string
	charges bool
	limit   limit.Rate
}

func (t *terms) Offers() []pat.DatedOffer {
	return append([]pat.DatedOffer{{Offer: t.offer}}, t.later...)
}
func (t *terms) Past() []pat.Offer { return t.past }
func (t *terms) Holds(digest string) error {
	if !slices.ContainsFunc(t.Offers(), func(o pat.DatedOffer) bool { return o.Digest == digest }) {
		return &pat.PolicyChangedError{Agreed: digest, Offered: t.offer.Digest}
	}
	return nil
}

func (t *terms) Plans(string) []string { return nil }

func (t *terms) Scope(_ context.Context, r pat.ScopeRequest) (pat.Scope, error) {
	s := pat.Scope{Limit: t.limit, Charges: t.charges}
	offered := append([]string{search, buy}, t.more...)
	requested := r.Requested
	if len(requested) == 0 || strings.HasSuffix(requested[0], ":*:*:execute") {
		requested = nil
		for _, uid := range offered {
			requested = append(requested, uid+":execute")
		}
	}
	for _, e := range requested {
		switch uid := strings.TrimSuffix(e, ":execute"); {
		case !slices.Contains(offered, uid):
			s.Omitted = append(s.Omitted, pat.OmittedEntry{Entry: e, Reason: "INTENT_NOT_FOUND"})
		case uid == buy && r.Assurance != pat.Fresh:
			s.Omitted = append(s.Omitted, pat.OmittedEntry{Entry: e, Reason: reason.FreshAgreementRequired})
		default:
			s.Entries = append(s.Entries, e)
		}
	}
	return s, nil
}

// A world is a service with a real store.
type world struct {
	*clock
	store  *sqlstore.Store
	files  *memory
	keys   *keys.Keyring
	view   *pat.View
	terms  *terms
	rules  pat.Rules
	issuer *pat.Issuer
}

func newWorld(tb testing.TB, change ...func(*world, *keys.Config)) *world {
	tb.Helper()
	w := &world{clock: &clock{t: noon}, files: &memory{}}
	w.terms = &terms{offer: offerOf(tb, policyV1), limit: limit.Rate{Max: 1000, Period: limit.Hour}}
	w.rules = pat.Rules{
		Service: service, Issuer: issuer, PolicyURL: policyURL, IssueURLs: []string{issueURL}, TTL: time.Hour, Leeway: 30 * time.Second,
		Freshness: pat.FreshnessOptional, Admission: pat.AdmitOpen,
	}
	c := keys.Config{Files: w.files, Algorithm: keys.EdDSA, Overlap: 2 * time.Hour, Now: w.now}
	for _, f := range change {
		f(w, &c)
	}
	path := filepath.Join(tb.TempDir(), "state.db")
	sqlitetest.Empty.Copy(tb, path)
	st, err := sqlstore.Open(tb.Context(), path, sqlstore.Options{Now: w.now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := st.Close(); err != nil {
			tb.Error(err)
		}
	})
	w.store, c.Store = st, st
	if w.keys, err = keys.Open(tb.Context(), c); err != nil {
		tb.Fatal(err)
	}
	w.view = pat.NewView(st, w.keys, w.now)
	w.refresh(tb)
	w.reissue(tb)
	return w
}

// reissue replaces the issuer, as a reload of the configuration does.
func (w *world) reissue(tb testing.TB) {
	tb.Helper()
	i, err := pat.NewIssuer(pat.IssuerConfig{
		Rules: w.rules, Terms: w.terms, Store: w.store, Keys: w.keys, View: w.view, Now: w.now,
		Forms: forms(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	w.issuer = i
}

func (w *world) refresh(tb testing.TB) {
	tb.Helper()
	if err := w.view.Refresh(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// advance moves the clock and refreshes the view.
func (w *world) advance(tb testing.TB, d time.Duration) {
	tb.Helper()
	w.add(d)
	w.refresh(tb)
}

// fresh returns a request with a fresh agreement that is signed now.
func (w *world) fresh(tb testing.TB, agentID string, key ed25519.PrivateKey, change ...func(*pat.AgreementClaims)) pat.IssueRequest {
	tb.Helper()
	c := pat.AgreementClaims{
		AgentID: pat.AgentID(agentID), Audience: issuer, URL: issueURL, IssuedAt: w.now(),
		PolicyUID: w.terms.offer.UID, PolicyDigest: w.terms.offer.Digest,
	}
	for _, f := range change {
		f(&c)
	}
	signed, err := pat.SignAgreement(key, c)
	if err != nil {
		tb.Fatal(err)
	}
	return pat.IssueRequest{AgentID: agentID, SignedPolicy: signed, PublicKey: string(keyOf(tb, key).JWK())}
}

// static returns a request with a signature over the policy.
func (w *world) static(tb testing.TB, agentID string, key ed25519.PrivateKey) pat.IssueRequest {
	tb.Helper()
	return pat.IssueRequest{
		AgentID: agentID, SignedPolicy: base64.StdEncoding.EncodeToString(ed25519.Sign(key, w.terms.offer.Bytes)),
		PublicKey: string(keyOf(tb, key).JWK()),
	}
}

func (w *world) issue(tb testing.TB, r pat.IssueRequest) pat.Issuance {
	tb.Helper()
	issued, err := w.issuer.Issue(tb.Context(), r)
	if err != nil {
		tb.Fatal(err)
	}
	return issued
}

func (w *world) verify(tb testing.TB, token string) (*pat.Claims, error) {
	tb.Helper()
	return w.issuer.Verifier().Verify(tb.Context(), token, w.now())
}

// forms returns the forms of all protocols.
func forms() []pat.Form {
	return []pat.Form{uagentsagreement.Form(), aeaagreement.Form(), mrpagreement.Form()}
}
