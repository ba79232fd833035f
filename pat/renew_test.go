package pat_test

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// renewalWithProof returns a request to renew a PAT with a proof of this key.
func (w *world) renewalWithProof(tb testing.TB, i pat.Issuance, key ed25519.PrivateKey) pat.RenewRequest {
	tb.Helper()
	proof, err := pat.SignProof(key, pat.ProofBinding{Audience: issuer, TokenID: i.Claims.ID, Digest: must(pat.RenewDigest(i.Claims.ID))},
		w.now())
	if err != nil {
		tb.Fatal(err)
	}
	return pat.RenewRequest{Token: i.Token, Proof: proof}
}

func (w *world) renew(tb testing.TB, r pat.RenewRequest) pat.Issuance {
	tb.Helper()
	i, err := w.issuer.Renew(tb.Context(), r)
	if err != nil {
		tb.Fatal(err)
	}
	return i
}

func TestRenewal(t *testing.T) {
	w := newWorld(t)
	w.terms.charges = true
	key := newEd()
	old := w.issue(t, w.fresh(t, "agent", key))
	w.advance(t, 50*time.Minute)
	next := w.renew(t, w.renewalWithProof(t, old, key))
	c, err := w.verify(t, next.Token)
	if err != nil || c.ID == old.Claims.ID || c.Agreement != old.Claims.Agreement || !c.ExpiresAt.Equal(w.now().Add(time.Hour)) ||
		c.Assurance != pat.Fresh {
		t.Fatalf("got %+v, %v", c, err)
	}
	w.advance(t, 59*time.Second)
	if _, err := w.verify(t, old.Token); err != nil {
		t.Errorf("just before it expires: %v", err)
	}
	w.advance(t, time.Second)
	if _, err := w.verify(t, old.Token); !errors.Is(err, pat.ErrRevoked) {
		t.Errorf("after it: %v, want %v", err, pat.ErrRevoked)
	}
	if _, err := w.verify(t, next.Token); err != nil {
		t.Errorf("its successor: %v", err)
	}
}

func TestRepeatedRenewalHasTheSameSuccessor(t *testing.T) {
	w := newWorld(t, func(w *world, _ *keys.Config) { w.rules.Grace = 10 * time.Minute })
	key := newEd()
	for name, age := range map[string]time.Duration{"alive": 30 * time.Minute, "within the grace": time.Hour + 5*time.Minute} {
		old := w.issue(t, w.fresh(t, "agent", key))
		w.advance(t, age)
		r := w.renewalWithProof(t, old, key)
		next := w.renew(t, r)
		w.advance(t, 59*time.Second)
		if again := w.renew(t, r); again.Token != next.Token {
			t.Errorf("%s: the same request gave another PAT", name)
		}
		if again := w.renew(t, w.renewalWithProof(t, old, key)); again.Claims.ID != next.Claims.ID {
			t.Errorf("%s: a second proof gave another PAT", name)
		}
		w.advance(t, 2*time.Second)
		if _, err := w.issuer.Renew(t.Context(), w.renewalWithProof(t, old, key)); !errors.Is(err, pat.ErrRevoked) {
			t.Errorf("%s: two successors of one PAT: %v, want %v", name, err, pat.ErrRevoked)
		}
	}
}

func TestRenewalInTheGrace(t *testing.T) {
	w := newWorld(t, func(w *world, _ *keys.Config) { w.rules.Grace = 10 * time.Minute })
	key := newEd()
	old := w.issue(t, w.fresh(t, "agent", key))
	w.advance(t, time.Hour+10*time.Minute+29*time.Second)
	if _, err := w.verify(t, old.Token); !errors.Is(err, pat.ErrExpired) {
		t.Errorf("the expired PAT: %v, want %v", err, pat.ErrExpired)
	}
	if next := w.renew(t, w.renewalWithProof(t, old, key)); next.Token == "" {
		t.Error("no PAT")
	}
	other := newEd()
	late := w.issue(t, w.fresh(t, "late", other))
	w.advance(t, time.Hour+10*time.Minute+30*time.Second)
	if _, err := w.issuer.Renew(t.Context(), w.renewalWithProof(t, late, other)); !errors.Is(err, pat.ErrExpired) {
		t.Errorf("after the grace: %v, want %v", err, pat.ErrExpired)
	}
}

func TestInvalidRenewals(t *testing.T) {
	key := newEd()
	for name, tt := range map[string]struct {
		spoil func(*testing.T, *world, pat.Issuance, *pat.RenewRequest)
		want  error
	}{
		"valid": {func(*testing.T, *world, pat.Issuance, *pat.RenewRequest) {}, nil},
		"without proof, free": {func(_ *testing.T, _ *world, _ pat.Issuance, r *pat.RenewRequest) {
			r.Proof = ""
		}, nil},
		"without proof, charged": {func(_ *testing.T, w *world, _ pat.Issuance, r *pat.RenewRequest) {
			r.Proof, w.terms.charges = "", true
		}, pat.ErrProofRequired},
		"without proof, freshness required": {func(t *testing.T, w *world, _ pat.Issuance, r *pat.RenewRequest) {
			t.Helper()
			r.Proof, w.rules.Freshness = "", pat.FreshnessRequired
			w.reissue(t)
		}, pat.ErrProofRequired},
		"proof by another key": {func(t *testing.T, w *world, i pat.Issuance, r *pat.RenewRequest) {
			t.Helper()
			*r = w.renewalWithProof(t, i, newEd())
		}, pat.ErrBadSignature},
		"proof of a call": {func(_ *testing.T, w *world, i pat.Issuance, r *pat.RenewRequest) {
			r.Proof = must(pat.SignProof(key, pat.ProofBinding{Audience: issuer, TokenID: i.Claims.ID, Digest: must(pat.ExecuteDigest(search, nil))},
				w.now()))
		}, pat.ErrBadProof},
		"old proof": {func(t *testing.T, w *world, _ pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			w.advance(t, 6*time.Minute)
		}, pat.ErrBadProof},
		"no PAT": {func(_ *testing.T, _ *world, _ pat.Issuance, r *pat.RenewRequest) { r.Token = "" }, pat.ErrMissing},
		"revoked": {func(t *testing.T, w *world, i pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			noError(t, w.issuer.Revoke(t.Context(), pat.Revocation{Kind: pat.RevokedToken, Subject: string(i.Claims.ID)}))
		}, pat.ErrRevoked},
		"agreement revoked": {func(t *testing.T, w *world, i pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			noError(t, w.issuer.Revoke(t.Context(), pat.Revocation{Kind: pat.RevokedAgreement, Subject: string(i.AgreementID)}))
		}, pat.ErrRevoked},
		"agreement revoked by another process": {func(t *testing.T, w *world, i pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			noError(t, w.store.Revoke(t.Context(), pat.Revocation{
				Service: service, Kind: pat.RevokedAgreement, Subject: string(i.AgreementID),
				At: w.now(), Until: w.now().Add(time.Hour),
			}))
		}, pat.ErrRevoked},
		"revoked by another process": {func(t *testing.T, w *world, i pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			noError(t, w.store.Revoke(t.Context(),
				pat.Revocation{Service: service, Kind: pat.RevokedToken, Subject: string(i.Claims.ID), At: w.now(), Until: w.now().Add(time.Hour)}))
		}, pat.ErrRevoked},
		"agent blocked": {func(t *testing.T, w *world, _ pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			noError(t, w.issuer.Revoke(t.Context(), pat.Revocation{Kind: pat.RevokedAgent, Subject: "agent", Reason: "abuse"}))
		}, pat.ErrBlocked},
		"agent blocked by another process": {func(t *testing.T, w *world, _ pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			noError(t, w.store.Revoke(t.Context(),
				pat.Revocation{Service: service, Kind: pat.RevokedAgent, Subject: "agent", At: w.now(), Until: w.now().Add(time.Hour)}))
		}, pat.ErrBlocked},
		"policy changed": {func(t *testing.T, w *world, _ pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			w.terms.offer = offerOf(t, policyV2)
		}, pat.ErrPolicyChanged},
		"no longer admitted": {func(t *testing.T, w *world, _ pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			w.rules.Admission = pat.AdmitAllowlist
			w.reissue(t)
		}, pat.ErrNotAdmitted},
		"approval withdrawn": {func(t *testing.T, w *world, _ pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			w.rules.Admission = pat.AdmitApproval
			w.reissue(t)
		}, pat.ErrNotAdmitted},
		"id reserved in the meantime": {func(t *testing.T, w *world, _ pat.Issuance, _ *pat.RenewRequest) {
			t.Helper()
			w.rules.Allow = []pat.Known{{AgentID: "agent", KeyID: keyOf(t, edKey()).Thumbprint()}}
			w.reissue(t)
		}, pat.ErrAgentIDTaken},
		"outdated view": {func(_ *testing.T, w *world, _ pat.Issuance, _ *pat.RenewRequest) { w.add(1100 * time.Millisecond) }, pat.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			issued := w.issue(t, w.fresh(t, "agent", key))
			w.advance(t, time.Minute)
			r := w.renewalWithProof(t, issued, key)
			tt.spoil(t, w, issued, &r)
			got, err := w.issuer.Renew(t.Context(), r)
			if !errors.Is(err, tt.want) || (err != nil) != (got.Token == "") {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

func noError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestProofRenewsOnce(t *testing.T) {
	w := newWorld(t)
	key := newEd()
	issued := w.issue(t, w.fresh(t, "agent", key))
	r := w.renewalWithProof(t, issued, key)
	next := w.renew(t, r)
	// The nonce of the proof is used for every other purpose of the key too.
	spent := must(pat.VerifyProof(r.Proof, keyOf(t, key),
		pat.ProofBinding{Audience: issuer, TokenID: issued.Claims.ID, Digest: must(pat.RenewDigest(issued.Claims.ID))}, w.now()))
	type m = map[string]any
	again := jws(t, m{"typ": pat.TypeProof, "alg": "EdDSA", "kid": keyOf(t, key).Thumbprint()}, m{
		"iat": w.now().Unix(), "jti": spent.Nonce, "aud": issuer, "pat": next.Claims.ID, "digest": must(pat.RenewDigest(next.Claims.ID)),
	}, edSign(key))
	if _, err := w.issuer.Renew(t.Context(), pat.RenewRequest{Token: next.Token, Proof: again}); !errors.Is(err, pat.ErrProofReplayed) {
		t.Errorf("got %v, want %v", err, pat.ErrProofReplayed)
	}
}

func TestRenewalWithoutProofEndsAfterADay(t *testing.T) {
	for _, assurance := range []pat.Assurance{pat.Static, pat.Fresh} {
		w := newWorld(t)
		key := newEd()
		request := w.static(t, "agent", key)
		if assurance == pat.Fresh {
			request = w.fresh(t, "agent", key)
		}
		issued := w.issue(t, request)
		made, entries := w.now(), len(issued.Claims.Scope)
		for range 23 {
			w.advance(t, time.Hour)
			issued = w.renew(t, pat.RenewRequest{Token: issued.Token})
		}
		w.advance(t, 30*time.Minute)
		issued = w.renew(t, pat.RenewRequest{Token: issued.Token})
		if got := issued.Claims.ExpiresAt; !got.Equal(made.Add(24 * time.Hour)) {
			t.Errorf("%s: expires at %s, want a day after the agreement", assurance, got)
		}
		w.advance(t, 30*time.Minute)
		if _, err := w.issuer.Renew(t.Context(), pat.RenewRequest{Token: issued.Token}); !errors.Is(err, pat.ErrProofRequired) {
			t.Errorf("%s: %v, want %v", assurance, err, pat.ErrProofRequired)
		}
		next := w.renew(t, w.renewalWithProof(t, issued, key))
		if next.Claims.Assurance != assurance || len(next.Claims.Scope) != entries {
			t.Errorf("the proof of a renewal changed the agreement: %+v", next.Claims)
		}
	}
}

// A thief can renew a stolen PAT, so revoking a PAT also revokes its renewals.
func TestRevokingAPATEndsItsRenewals(t *testing.T) {
	for name, revoke := range map[string]func(w *world, first, second, third pat.Issuance) error{
		"the first, by the operator": func(w *world, first, _, _ pat.Issuance) error {
			return w.issuer.Revoke(t.Context(), pat.Revocation{Kind: pat.RevokedToken, Subject: string(first.Claims.ID), Reason: "stolen"})
		},
		"the first, by its bearer": func(w *world, first, _, _ pat.Issuance) error { return w.issuer.RevokeToken(t.Context(), first.Token) },
		"the second, by its bearer": func(w *world, _, second, _ pat.Issuance) error {
			return w.issuer.RevokeToken(t.Context(), second.Token)
		},
		"the last, by the operator": func(w *world, _, _, third pat.Issuance) error {
			return w.issuer.Revoke(t.Context(), pat.Revocation{Kind: pat.RevokedToken, Subject: string(third.Claims.ID), Reason: "stolen"})
		},
	} {
		w := newWorld(t)
		key := newEd()
		first := w.issue(t, w.fresh(t, "agent", key))
		other := w.issue(t, w.fresh(t, "agent", key))
		w.advance(t, 10*time.Minute)
		second := w.renew(t, pat.RenewRequest{Token: first.Token})
		w.advance(t, 10*time.Minute)
		third := w.renew(t, w.renewalWithProof(t, second, key))
		if first.Claims.Family != first.Claims.ID || third.Claims.Family != first.Claims.ID {
			t.Errorf("family %s of %s, %s of its renewal", first.Claims.Family, first.Claims.ID, third.Claims.Family)
		}
		noError(t, revoke(w, first, second, third))
		if _, err := w.verify(t, third.Token); !errors.Is(err, pat.ErrRevoked) {
			t.Errorf("%s: its renewal: %v, want %v", name, err, pat.ErrRevoked)
		}
		if _, err := w.issuer.Renew(t.Context(), w.renewalWithProof(t, third, key)); !errors.Is(err, pat.ErrRevoked) {
			t.Errorf("%s: renewing its renewal: %v, want %v", name, err, pat.ErrRevoked)
		}
		if _, err := w.verify(t, other.Token); err != nil {
			t.Errorf("%s: another PAT of the agent: %v", name, err)
		}
	}
}
