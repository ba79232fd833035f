package pat_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func TestCurrentPAT(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice := seeded(t, "alice recovery password")
	agent := pat.AgentID(alice.Address())
	key, ok := agreement.Key(string(agent))
	if !ok {
		t.Fatal(agent)
	}
	current := func(want error) pat.TokenID {
		t.Helper()
		text, err := w.issuer.Current(t.Context(), agent, key.Thumbprint())
		if !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
		if err != nil {
			return ""
		}
		claims, err := w.verify(t, text)
		if err != nil || claims.Subject != agent || claims.KeyID != key.Thumbprint() || claims.Assurance != pat.Fresh {
			t.Fatalf("got %+v, %v", claims, err)
		}
		return claims.ID
	}
	agreed := func() pat.Issuance {
		t.Helper()
		w.advance(t, time.Second)
		issued, err := w.issueEnvelope(t, w.envelope(t, alice))
		if err != nil {
			t.Fatal(err)
		}
		return issued
	}
	current(pat.ErrMissing)
	first := agreed()
	second := agreed()
	if id := current(nil); id != second.Claims.ID {
		t.Errorf("%s, want the second, %s", id, second.Claims.ID)
	}
	w.issue(t, w.fresh(t, "another", newEd()))
	if _, err := w.issuer.Current(t.Context(), "another", key.Thumbprint()); !errors.Is(err, pat.ErrMissing) {
		t.Errorf("a PAT of another key: %v, want %v", err, pat.ErrMissing)
	}
	if err := w.issuer.RevokeToken(t.Context(), second.Token); err != nil {
		t.Fatal(err)
	}
	if id := current(nil); id != first.Claims.ID {
		t.Errorf("%s, want the first, %s", id, first.Claims.ID)
	}
	renewed := w.renew(t, pat.RenewRequest{Token: first.Token})
	if id := current(nil); id != renewed.Claims.ID {
		t.Errorf("%s, want the renewed, %s", id, renewed.Claims.ID)
	}
	if err := w.issuer.RevokeToken(t.Context(), renewed.Token); err != nil {
		t.Fatal(err)
	}
	current(pat.ErrRevoked)
	w.advance(t, 2*time.Hour)
	current(pat.ErrMissing)
}

func TestRenewalProvedByItsMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.terms.charges = true
	alice := seeded(t, "alice recovery password")
	issued, err := w.issueEnvelope(t, w.envelope(t, alice))
	if err != nil {
		t.Fatal(err)
	}
	keyOf := func(seed string) keys.Key {
		key, _ := agreement.Key(string(seeded(t, seed).Address()))
		return key
	}
	proved := func(nonce, seed string) *pat.Proof {
		return &pat.Proof{Nonce: nonce, Until: w.now().Add(time.Minute), Key: keyOf(seed)}
	}
	w.advance(t, time.Minute)
	if _, err := w.issuer.Renew(t.Context(), pat.RenewRequest{Token: issued.Token}); !errors.Is(err, pat.ErrProofRequired) {
		t.Errorf("without: %v, want %v", err, pat.ErrProofRequired)
	}
	other := pat.RenewRequest{Token: issued.Token, Proved: proved("n", "bob recovery password")}
	if _, err := w.issuer.Renew(t.Context(), other); !errors.Is(err, pat.ErrInvalid) {
		t.Errorf("with another key: %v, want %v", err, pat.ErrInvalid)
	}
	next := w.renew(t, pat.RenewRequest{Token: issued.Token, Proved: proved("n", "alice recovery password")})
	for name, token := range map[string]string{"of the same PAT": issued.Token, "sender is another agent": next.Token} {
		again := pat.RenewRequest{Token: token, Proved: proved("n", "alice recovery password")}
		if _, err := w.issuer.Renew(t.Context(), again); !errors.Is(err, pat.ErrProofReplayed) {
			t.Errorf("again, %s: %v, want %v", name, err, pat.ErrProofReplayed)
		}
	}
	same := w.renew(t, pat.RenewRequest{Token: issued.Token, Proved: proved("m", "alice recovery password")})
	if same.Claims.ID != next.Claims.ID {
		t.Errorf("%s, want the existing successor %s", same.Claims.ID, next.Claims.ID)
	}
}
