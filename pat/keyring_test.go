package pat_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func privateOf(tb testing.TB, text []byte) ed25519.PrivateKey {
	tb.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		tb.Fatal("no PEM")
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		tb.Fatal(err)
	}
	ed, ok := k.(ed25519.PrivateKey)
	if !ok {
		tb.Fatalf("%T", k)
	}
	return ed
}

// open opens a Keyring on the same store, as another process does.
func (w *world) open(tb testing.TB, files *memory, algorithm string) *keys.Keyring {
	tb.Helper()
	k, err := keys.Open(tb.Context(), keys.Config{
		Store: w.store, Files: files, Algorithm: algorithm, Overlap: 2 * time.Hour, Now: w.now,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func ids(list []keys.SigningKey) []keys.ID {
	var out []keys.ID
	for _, k := range list {
		out = append(out, k.ID)
	}
	return out
}

func TestKeySurvivesRestart(t *testing.T) {
	w := newWorld(t)
	token := w.issue(t, w.fresh(t, "agent", newEd())).Token
	before := w.keys.Current()
	w.keys = w.open(t, w.files, keys.EdDSA)
	w.view = pat.NewView(w.store, w.keys, w.now)
	w.refresh(t)
	w.reissue(t)
	if w.keys.Current() != before {
		t.Errorf("another key signs: %s, not %s", w.keys.Current(), before)
	}
	if _, err := w.verify(t, token); err != nil {
		t.Error(err)
	}
}

func TestKeyMissingInTheStoreIsReplaced(t *testing.T) {
	w := newWorld(t)
	first := w.keys.Current()
	stale := &memory{pem: w.files.pem}
	noError(t, w.keys.Retire(t.Context(), first, w.now()))
	w.advance(t, 48*time.Hour)
	if _, err := w.store.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	ring := w.open(t, stale, keys.EdDSA)
	if slices.Contains(ids(ring.Keys(w.now())), first) || ring.Current() == first {
		t.Error("the missing key signs or verifies")
	}
}

func TestRotation(t *testing.T) {
	w := newWorld(t)
	old := w.issue(t, w.fresh(t, "agent", newEd()))
	first := w.keys.Current()
	second, err := w.keys.Rotate(t.Context())
	if err != nil || second.ID == first || w.keys.Current() != second.ID {
		t.Fatalf("got %+v, %v", second, err)
	}
	next := w.issue(t, w.fresh(t, "agent2", newEd()))
	for name, token := range map[string]string{"before": old.Token, "after": next.Token} {
		if _, err := w.verify(t, token); err != nil {
			t.Errorf("a PAT from %s the rotation: %v", name, err)
		}
	}
	if want := base64.StdEncoding.EncodeToString(must(keys.ParseJWK(second.JWK)).SPKI()); w.keys.PublicKey(w.now()) != want {
		t.Error("uim-public-key is not the key that signs")
	}
	if got := ids(w.keys.Keys(w.now())); len(got) != 2 || !slices.IsSorted(got) {
		t.Errorf("keys %v", got)
	}
	w.advance(t, 2*time.Hour)
	if got := ids(w.keys.Keys(w.now())); !slices.Equal(got, []keys.ID{second.ID}) {
		t.Errorf("keys after the overlap: %v, want %+v", got, []keys.ID{second.ID})
	}
	if strings.Contains(string(w.files.pem), "PUBLIC") || strings.Count(string(w.files.pem), "PRIVATE KEY") != 4 {
		t.Error("the files do not contain the signing key and the previous one as PKCS#8")
	}
}

func TestKeyOutlivesItsPATsWithALongerTTL(t *testing.T) {
	w := newWorld(t) // keys overlap for two hours
	w.rules.TTL = 12 * time.Hour
	w.reissue(t)
	token := w.issue(t, w.fresh(t, "agent", newEd())).Token
	if _, err := w.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.advance(t, 12*time.Hour-time.Second)
	if _, err := w.verify(t, token); err != nil {
		t.Error(err)
	}
	w.advance(t, time.Hour)
	if got := w.keys.Keys(w.now()); len(got) != 1 {
		t.Errorf("%d keys an hour later", len(got))
	}
}

func TestRetiredKeyVerifiesNothing(t *testing.T) {
	w := newWorld(t)
	token := w.issue(t, w.fresh(t, "agent", newEd())).Token
	if _, err := w.verify(t, token); err != nil {
		t.Fatal(err)
	}
	first := w.keys.Current()
	if err := w.keys.Retire(t.Context(), first, w.now()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.verify(t, token); !errors.Is(err, pat.ErrInvalid) {
		t.Errorf("a cached PAT of the retired key: %v, want %v", err, pat.ErrInvalid)
	}
	if w.keys.Current() == first {
		t.Error("the retired key still signs")
	}
	w.issue(t, w.fresh(t, "agent2", newEd()))
	soon := w.issue(t, w.fresh(t, "agent3", newEd())).Token
	noError(t, w.keys.Retire(t.Context(), w.keys.Current(), w.now().Add(time.Minute)))
	unseen := must(pat.NewVerifier(pat.VerifierConfig{Service: service, Issuer: issuer, Keys: w.keys, View: w.view}))
	if _, err := w.verify(t, soon); err != nil {
		t.Errorf("before its key ends: %v", err)
	}
	w.advance(t, time.Minute)
	if _, err := w.verify(t, soon); !errors.Is(err, pat.ErrInvalid) {
		t.Errorf("after its key ended, out of the cache: %v, want %v", err, pat.ErrInvalid)
	}
	if _, err := unseen.Verify(t.Context(), soon, w.now()); !errors.Is(err, pat.ErrInvalid) {
		t.Errorf("after its key ended: %v, want %v", err, pat.ErrInvalid)
	}
	if err := w.keys.Retire(t.Context(), "nobody", w.now()); !errors.Is(err, keys.ErrNoKey) {
		t.Errorf("got %v, want %v", err, keys.ErrNoKey)
	}
	// A process that has the private key reads the end of the key when it starts.
	again := w.open(t, w.files, keys.EdDSA)
	if again.Current() == first {
		t.Error("after a restart the retired key signs")
	}
}

func TestKeyRetiredElsewhereIsReplaced(t *testing.T) {
	w := newWorld(t)
	first := w.keys.Current()
	there := w.open(t, &memory{}, keys.EdDSA)
	noError(t, there.Retire(t.Context(), first, w.now()))
	w.refresh(t)
	issued := w.issue(t, w.fresh(t, "agent", newEd()))
	if _, err := w.verify(t, issued.Token); err != nil || w.keys.Current() == first {
		t.Errorf("the retired key signs: %v", err)
	}
}

func TestTokensOfOtherProcessesVerify(t *testing.T) {
	w := newWorld(t)
	ring := w.open(t, &memory{}, keys.EdDSA)
	view := pat.NewView(w.store, ring, w.now)
	if err := view.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	there, err := pat.NewIssuer(pat.IssuerConfig{
		Rules: w.rules, Terms: w.terms, Store: w.store, Keys: ring, View: view, Now: w.now,
		Forms: forms(),
	})
	if err != nil {
		t.Fatal(err)
	}
	issued, err := there.Issue(t.Context(), w.fresh(t, "agent", newEd()))
	if err != nil {
		t.Fatal(err)
	}
	// This process has not read the new key yet. The unknown kid makes it read the store.
	if _, err := w.verify(t, issued.Token); err != nil {
		t.Errorf("got %v", err)
	}
	var set struct{ Keys []map[string]string }
	if err := json.Unmarshal(must(keys.SetOf(w.keys.Keys(w.now()))), &set); err != nil || len(set.Keys) != 2 {
		t.Fatalf("got %v, %v; want no error and Keys of length 2", set, err)
	}
	for _, k := range set.Keys {
		if k["kty"] != "OKP" || k["crv"] != "Ed25519" || k["alg"] != "EdDSA" || k["use"] != "sig" || k["kid"] == "" || k["x"] == "" ||
			k["uim_purpose"] != "pat" || len(k) != 7 {
			t.Errorf("got %v", k)
		}
	}
}

func TestUnknownKidReadsTheStoreAtMostOnceASecond(t *testing.T) {
	w := newWorld(t)
	unknown := func() error {
		_, err := w.verify(t, jws(t, map[string]any{"alg": "EdDSA", "typ": pat.TypePAT, "kid": "x"}, map[string]any{}, edSign(edKey())))
		return err
	}
	if err := unknown(); !errors.Is(err, pat.ErrInvalid) { // the only read in this second
		t.Fatalf("got %v, want %v", err, pat.ErrInvalid)
	}
	ring := w.open(t, &memory{}, keys.EdDSA)
	there, err := pat.NewIssuer(pat.IssuerConfig{
		Rules: w.rules, Terms: w.terms, Store: w.store, Keys: ring, View: w.view, Now: w.now,
		Forms: forms(),
	})
	if err != nil {
		t.Fatal(err)
	}
	token := must(there.Issue(t.Context(), w.fresh(t, "agent", newEd()))).Token
	if _, err := w.verify(t, token); !errors.Is(err, pat.ErrInvalid) {
		t.Errorf("the store was read again within a second: %v, want %v", err, pat.ErrInvalid)
	}
	w.add(time.Second)
	if _, err := w.verify(t, token); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

func TestAlgorithms(t *testing.T) {
	for _, alg := range []string{keys.EdDSA, keys.ES256, keys.RS256} {
		w := newWorld(t, func(_ *world, c *keys.Config) { c.Algorithm = alg })
		token := w.issue(t, w.fresh(t, "agent", newEd())).Token
		if _, err := w.verify(t, token); err != nil {
			t.Errorf("%s: %v", alg, err)
		}
		if header := string(must(base64url(token[:strings.IndexByte(token, '.')]))); !strings.Contains(header, `"alg":"`+alg+`"`) {
			t.Errorf("%s: header %s, want a text that contains %q", alg, header, `"alg":"`+alg+`"`)
		}
	}
}

// TestPATsOutliveAlgorithmChange restarts the process with each other algorithm. Earlier PATs verify until they expire. The PATs of a key
// that was retired at once do not verify, whatever its algorithm.
func TestPATsOutliveAlgorithmChange(t *testing.T) {
	t.Parallel()
	var rsaKey []byte // of all gateways that begin with RS256, because it takes a second to generate one
	for _, before := range []string{keys.EdDSA, keys.ES256, keys.RS256} {
		for _, after := range []string{keys.EdDSA, keys.ES256, keys.RS256} {
			w := newWorld(t, func(w *world, c *keys.Config) {
				c.Algorithm = before
				if before == keys.RS256 {
					w.files.pem = rsaKey
				}
			})
			if before == keys.RS256 {
				rsaKey = w.files.pem
			}
			agent := newEd()
			issued := w.issue(t, w.fresh(t, "agent", agent))
			old := w.keys.Current()
			w.keys = w.open(t, w.files, after)
			w.view = pat.NewView(w.store, w.keys, w.now)
			w.refresh(t)
			w.reissue(t)
			if _, err := w.verify(t, issued.Token); err != nil {
				t.Errorf("%s to %s: an earlier PAT: %v", before, after, err)
			}
			w.advance(t, w.rules.TTL-time.Second)
			if _, err := w.issuer.Renew(t.Context(), w.renewalWithProof(t, issued, agent)); err != nil {
				t.Errorf("%s to %s: a renewal: %v", before, after, err)
			}
			if err := w.keys.Retire(t.Context(), old, w.now()); err != nil {
				t.Fatal(err)
			}
			if _, err := w.verify(t, issued.Token); !errors.Is(err, pat.ErrInvalid) {
				t.Errorf("%s to %s: after the end of its key: %v, want %v", before, after, err, pat.ErrInvalid)
			}
		}
	}
}

func TestUnreadableKeyFiles(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{
		"nonsense": "nonsense-canary", "public": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("canary")})),
		"broken": strings.Replace(string(w.files.pem), "M", "N", 1), "more behind": string(w.files.pem) + "canary",
		"huge": strings.Repeat(string(w.files.pem), 1000),
	} {
		_, err := keys.Open(t.Context(), keys.Config{
			Store: w.store, Files: &memory{pem: []byte(text)}, Algorithm: keys.EdDSA, Overlap: time.Hour, Now: w.now,
		})
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecordWithADifferentKeyIsRejected(t *testing.T) {
	w := newWorld(t)
	jwk := keyOf(t, edKey()).JWK()
	for _, k := range []keys.SigningKey{
		{ID: w.keys.Current(), Algorithm: keys.EdDSA, JWK: jwk, NotAfter: w.now().Add(time.Hour)},
		{ID: keyOf(t, edKey()).Thumbprint(), Algorithm: keys.RS256, JWK: jwk},
		{ID: "x", Algorithm: keys.EdDSA, JWK: []byte("{}")},
	} {
		if err := w.keys.Apply(k); err == nil {
			t.Errorf("got %+v", k)
		}
	}
	if got := ids(w.keys.Keys(w.now())); !slices.Equal(got, []keys.ID{w.keys.Current()}) {
		t.Errorf("got %v", got)
	}
}

func TestKeysOfAnotherPurpose(t *testing.T) {
	w := newWorld(t)
	files := &memory{}
	cards, err := w.keys.For(t.Context(), keys.ForCards, keys.EdDSA, files)
	noError(t, err)
	payload := []byte(`{"name":"shop"}`)
	signed, err := cards.SignDetached(t.Context(), map[string]any{"typ": "JOSE"}, payload)
	noError(t, err)
	input := signed.Protected + "." + base64.RawURLEncoding.EncodeToString(payload)
	public := privateOf(t, files.pem).Public().(ed25519.PublicKey) //nolint:forcetypeassert // the test opened an Ed25519 key
	if !ed25519.Verify(public, []byte(input), must(base64url(signed.Signature))) {
		t.Error("the signature does not verify")
	}
	header := string(must(base64url(signed.Protected)))
	if want := `{"alg":"EdDSA","kid":"` + string(cards.Current()) + `","typ":"JOSE"}`; header != want {
		t.Errorf("header %s, not %s", header, want)
	}
	if got := ids(w.keys.Keys(w.now())); len(got) != 2 || !slices.Contains(got, cards.Current()) {
		t.Errorf("published %v", got)
	}
	if got, want := w.keys.PublicKey(w.now()), base64.StdEncoding.EncodeToString(keyOf(t, privateOf(t, w.files.pem)).SPKI()); got != want {
		t.Error("uim-public-key is not the key of PATs")
	}
	// The card key is published, but a PAT that it signs does not verify.
	own := w.issue(t, w.fresh(t, "agent", newEd())).Token
	var claims map[string]any
	noError(t, json.Unmarshal(must(base64url(strings.Split(own, ".")[1])), &claims))
	forged := jws(t, map[string]any{"alg": "EdDSA", "typ": pat.TypePAT, "kid": cards.Current()}, claims, edSign(privateOf(t, files.pem)))
	if _, err := w.verify(t, forged); !errors.Is(err, pat.ErrInvalid) {
		t.Errorf("got %v, want %v", err, pat.ErrInvalid)
	}
	again, err := w.open(t, w.files, keys.EdDSA).For(t.Context(), keys.ForCards, keys.EdDSA, files)
	noError(t, err)
	if again.Current() != cards.Current() {
		t.Error("after a restart another key signs")
	}
	first := cards.Current()
	noError(t, w.keys.Retire(t.Context(), first, w.now()))
	if _, err = cards.SignDetached(t.Context(), nil, payload); err != nil || cards.Current() == first {
		t.Errorf("a retired key signs: %v", err)
	}
	if w.keys.Current() == first {
		t.Error("the card key signs PATs")
	}
	// A key file of another purpose is not used.
	other, err := w.keys.For(t.Context(), keys.ForCards, keys.EdDSA, &memory{pem: w.files.pem})
	noError(t, err)
	if other.Current() == w.keys.Current() {
		t.Error("the key of PATs signs cards")
	}
}
