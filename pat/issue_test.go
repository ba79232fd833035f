package pat_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// jtiForm matches every jti. A command line never reads a text of this form as a flag.
var jtiForm = regexp.MustCompile(`^[A-Z2-7]{26}$`)

func TestIssueForAFreshAgreement(t *testing.T) {
	w := newWorld(t)
	w.add(300 * time.Millisecond)
	w.refresh(t)
	key := newEd()
	issued := w.issue(t, w.fresh(t, "agent", key))
	c, err := w.verify(t, issued.Token)
	if err != nil {
		t.Fatal(err)
	}
	want := pat.Claims{
		Issuer: issuer, Subject: "agent", ID: c.ID, Family: c.ID, IssuedAt: noon, NotBefore: noon, ExpiresAt: noon.Add(time.Hour),
		Scope: []string{search + ":execute", buy + ":execute"}, Policy: policyURL, PolicyDigest: w.terms.offer.Digest,
		Limit: limit.Rate{Max: 1000, Period: limit.Hour}, KeyID: keyOf(t, key).Thumbprint(), Agreement: issued.AgreementID, Assurance: pat.Fresh,
	}
	if got := fmt.Sprintf("%+v", *c); got != fmt.Sprintf("%+v", want) {
		t.Errorf("claims\n%s\nwant\n%+v", got, want)
	}
	if id, err := uuid.Parse(string(c.Agreement)); err != nil || id.Version() != 7 {
		t.Errorf("agreement id %s: %v", c.Agreement, err)
	}
	if !jtiForm.MatchString(string(c.ID)) {
		t.Errorf("jti %s, want %s", c.ID, jtiForm)
	}
	// The token has exactly these members.
	parts := strings.Split(issued.Token, ".")
	header := string(must(base64url(parts[0])))
	if want := `{"alg":"EdDSA","kid":"` + string(w.keys.Current()) + `","typ":"uim-pat+jwt"}`; header != want {
		t.Errorf("header %s, want %s", header, want)
	}
	payload := must(strictjson.DecodeObject(must(base64url(parts[1]))))
	var names []string
	for name := range payload {
		names = append(names, name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "agr aud cnf exp iat iss jti lmt nbf pol pol_digest scope sub" {
		t.Errorf("members %s, want %q", got, "agr aud cnf exp iat iss jti lmt nbf pol pol_digest scope sub")
	}
	// The stored agreement.
	a, err := w.store.Agreement(t.Context(), service, issued.AgreementID)
	if err != nil || a.AgentID != "agent" || a.Assurance != pat.Fresh || a.State != pat.AgreementActive || a.KeyID != c.KeyID {
		t.Errorf("got %+v, %v", a, err)
	}
	if p, err := w.store.Policy(t.Context(), service, c.PolicyDigest); err != nil || string(p.Bytes) != string(policyV1) {
		t.Errorf("got %s, %v", p.Bytes, err)
	}
	if k, err := w.store.Token(t.Context(), service, c.ID); err != nil || !k.ExpiresAt.Equal(c.ExpiresAt) ||
		k.SigningKeyID != w.keys.Current() {
		t.Errorf("got %+v, %v", k, err)
	}
}

func TestStaticAgreementIsLimited(t *testing.T) {
	w := newWorld(t)
	r := w.static(t, "agent", newEd())
	issued := w.issue(t, r)
	c, err := w.verify(t, issued.Token)
	if err != nil || c.Assurance != pat.Static || !slices.Equal(c.Scope, []string{search + ":execute"}) {
		t.Fatalf("got %+v, %v; want no error, Assurance %v and Scope %+v", c, err, pat.Static, []string{search + ":execute"})
	}
	if want := []pat.OmittedEntry{{Entry: buy + ":execute", Reason: "FRESH_AGREEMENT_REQUIRED"}}; !slices.Equal(issued.Omitted, want) {
		t.Errorf("omitted %v, want %v", issued.Omitted, want)
	}
	if again := w.issue(t, r); again.AgreementID != issued.AgreementID || again.Claims.ID == issued.Claims.ID {
		t.Errorf("the same signature again: agreement %s and %s", issued.AgreementID, again.AgreementID)
	}
	r.Scope = []string{buy}
	if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrFreshRequired) {
		t.Errorf("a scope that only has charges: %v, want %v", err, pat.ErrFreshRequired)
	}
	w.rules.Freshness = pat.FreshnessRequired
	w.reissue(t)
	r.Scope = nil
	if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrFreshRequired) {
		t.Errorf("freshness required: %v, want %v", err, pat.ErrFreshRequired)
	}
	w.issue(t, w.fresh(t, "agent2", newEd()))
}

func TestFreshAgreementIsUsedOnce(t *testing.T) {
	w := newWorld(t)
	r := w.fresh(t, "agent", newEd())
	w.issue(t, r)
	if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrAgreementReplayed) {
		t.Errorf("at once: %v, want %v", err, pat.ErrAgreementReplayed)
	}
	w.advance(t, 4*time.Minute)
	if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrAgreementReplayed) {
		t.Errorf("within the window: %v, want %v", err, pat.ErrAgreementReplayed)
	}
	w.advance(t, 48*time.Hour)
	if _, err := w.store.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.issuer.Issue(t.Context(), r); err == nil {
		t.Error("the agreement was accepted again days later")
	}
	// Each key has its own nonces, so another agent may send the same one.
	nonce := func(c *pat.AgreementClaims) { c.Nonce = "0123456789abcdef" }
	w.issue(t, w.fresh(t, "b", newEd(), nonce))
	w.issue(t, w.fresh(t, "c", newEd(), nonce))
}

func TestIDBelongsToTheFirstKey(t *testing.T) {
	w := newWorld(t)
	first, second := newEd(), newEd()
	w.issue(t, w.fresh(t, "agent", first))
	_, err := w.issuer.Issue(t.Context(), w.fresh(t, "agent", second))
	taken, ok := errors.AsType[*pat.AgentIDTakenError](err)
	if !ok || !errors.Is(err, pat.ErrAgentIDTaken) || string(taken.Suggestion) != "agent."+string(keyOf(t, second).Thumbprint()[:8]) {
		t.Fatalf("got %v", err)
	}
	_, err = w.issuer.Issue(t.Context(), w.fresh(t, "other", first))
	if other, ok := errors.AsType[*pat.KeyTakenError](err); !ok || other.AgentID != "agent" || !errors.Is(err, pat.ErrKeyTaken) {
		t.Errorf("one key, two ids: %#v, want the id of the key", err)
	}
	// Anyone who has seen a static agreement can send it, so it does not show the id of its key.
	_, err = w.issuer.Issue(t.Context(), w.static(t, "other", first))
	if _, ok := errors.AsType[*pat.KeyTakenError](err); ok || !errors.Is(err, pat.ErrKeyTaken) {
		t.Errorf("one key, two ids, in a static agreement: %#v, want only %v", err, pat.ErrKeyTaken)
	}
	w.issue(t, w.fresh(t, string(taken.Suggestion), second))
	third := newEd()
	if err := w.issuer.AddKey(t.Context(), "agent", keyOf(t, third).Thumbprint()); err != nil {
		t.Fatal(err)
	}
	w.issue(t, w.fresh(t, "agent", third))
}

func TestSuggestedIDIsAlwaysValid(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("a", 200)
	w.issue(t, w.fresh(t, long, newEd()))
	_, err := w.issuer.Issue(t.Context(), w.fresh(t, long, newEd()))
	taken, ok := errors.AsType[*pat.AgentIDTakenError](err)
	if !ok {
		t.Fatal(err)
	}
	if _, err := pat.ParseAgentID(string(taken.Suggestion)); err != nil {
		t.Fatalf("got %v", err)
	}
}

func TestAdmission(t *testing.T) {
	known, bound, stranger := newEd(), newEd(), newEd()
	w := newWorld(t, func(w *world, _ *keys.Config) {
		w.rules.Allow = []pat.Known{{KeyID: keyOf(t, known).Thumbprint()}, {AgentID: "bound", KeyID: keyOf(t, bound).Thumbprint()}}
		w.rules.Parties = []pat.Known{{AgentID: "party", KeyID: keyOf(t, edKey()).Thumbprint()}}
	})
	refused := func(agentID string, r pat.IssueRequest, want error) {
		t.Helper()
		if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, want) {
			t.Errorf("%s under %s: %v, want %v", agentID, w.rules.Admission, err, want)
		}
	}
	for _, admission := range []pat.Admission{pat.AdmitOpen, pat.AdmitAllowlist, pat.AdmitApproval} {
		w.rules.Admission = admission
		w.reissue(t)
		w.issue(t, w.fresh(t, "anything", known))
		w.issue(t, w.fresh(t, "bound", bound))
		w.issue(t, w.fresh(t, "party", edKey()))
		taken := pat.ErrAgentIDTaken
		if admission == pat.AdmitAllowlist {
			taken = pat.ErrNotAdmitted // an unlisted key does not learn whether an id is taken
		}
		refused("bound", w.fresh(t, "bound", stranger), taken)
		refused("bound", w.fresh(t, "bound", known), pat.ErrAgentIDTaken)
		refused("party", w.fresh(t, "party", stranger), taken)
		refused("free", w.fresh(t, "free", bound), pat.ErrKeyTaken)
	}
	w.rules.Admission = pat.AdmitAllowlist
	w.reissue(t)
	refused("stranger", w.fresh(t, "stranger", stranger), pat.ErrNotAdmitted)
	w.rules.Admission = pat.AdmitOpen
	w.reissue(t)
	w.issue(t, w.fresh(t, "stranger", stranger))
	if a, err := w.store.Agent(t.Context(), service, "bound"); err != nil || !a.Approved {
		t.Errorf("an agent in allow: %+v, %v; want it approved", a, err)
	}
	if a, err := w.store.Agent(t.Context(), service, "stranger"); err != nil || a.Approved {
		t.Errorf("another agent: %+v, %v; want it unapproved", a, err)
	}
}

func TestApproval(t *testing.T) {
	for name, request := range map[string]func(*world) pat.IssueRequest{
		"fresh":  func(w *world) pat.IssueRequest { return w.fresh(t, "agent", edKey()) },
		"static": func(w *world) pat.IssueRequest { return w.static(t, "agent", edKey()) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world, _ *keys.Config) { w.rules.Admission = pat.AdmitApproval })
			r := request(w)
			first := w.issue(t, r)
			if first.State != pat.AgreementPending || first.Token != "" || first.Claims != nil || first.AgreementID == "" {
				t.Fatalf("got %+v", first)
			}
			w.advance(t, 2*time.Hour) // the same request, long after the agreement expired
			if again := w.issue(t, r); again.State != pat.AgreementPending || again.AgreementID != first.AgreementID || again.Token != "" {
				t.Fatalf("got %+v; want State %v, AgreementID %v and Token empty", again, pat.AgreementPending, first.AgreementID)
			}
			if err := w.issuer.Approve(t.Context(), "agent"); err != nil {
				t.Fatal(err)
			}
			issued := w.issue(t, r)
			if c, err := w.verify(t, issued.Token); err != nil || c.Agreement != first.AgreementID || issued.State != pat.AgreementActive {
				t.Fatalf("got %+v, %v", issued, err)
			}
			if name == "fresh" {
				if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrAgreementReplayed) {
					t.Errorf("a second PAT for one agreement: %v, want %v", err, pat.ErrAgreementReplayed)
				}
			}
			again := w.issue(t, w.fresh(t, "agent", edKey()))
			if want := map[string]pat.AgreementState{"fresh": pat.AgreementActive, "static": pat.AgreementPending}[name]; again.State != want {
				t.Errorf("an agreement after the first was approved: %s, want %s", again.State, want)
			}
		})
	}
	w := newWorld(t, func(w *world, _ *keys.Config) { w.rules.Admission = pat.AdmitApproval })
	old := w.fresh(t, "agent", edKey())
	w.advance(t, 6*time.Minute)
	if _, err := w.issuer.Issue(t.Context(), old); !errors.Is(err, pat.ErrAgreementStale) {
		t.Errorf("an expired agreement that was not pending: %v, want %v", err, pat.ErrAgreementStale)
	}
}

func TestPendingAgreementYieldsOnePAT(t *testing.T) {
	w := newWorld(t, func(w *world, _ *keys.Config) { w.rules.Admission = pat.AdmitApproval })
	r := w.fresh(t, "agent", edKey())
	w.issue(t, r)
	w.advance(t, time.Second)
	noError(t, w.issuer.Approve(t.Context(), "agent"))
	var wg sync.WaitGroup
	var got atomic.Int64
	for range 8 {
		wg.Go(func() {
			switch issued, err := w.issuer.Issue(t.Context(), r); {
			case err == nil:
				got.Add(1)
				if !jtiForm.MatchString(string(issued.Claims.ID)) {
					t.Errorf("jti %s, want %s", issued.Claims.ID, jtiForm)
				}
			case !errors.Is(err, pat.ErrAgreementReplayed):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Errorf("%d PATs, want 1", got.Load())
	}
}

func TestScope(t *testing.T) {
	w := newWorld(t)
	entries := func(r pat.IssueRequest) ([]string, []pat.OmittedEntry) {
		t.Helper()
		i := w.issue(t, r)
		return i.Claims.Scope, i.Omitted
	}
	r := w.fresh(t, "a", newEd())
	r.Scope = []string{search, search + ":execute", "shop.example:nothing:v1"}
	got, omitted := entries(r)
	if !slices.Equal(got, []string{search + ":execute"}) ||
		!slices.Equal(omitted, []pat.OmittedEntry{{Entry: "shop.example:nothing:v1:execute", Reason: "INTENT_NOT_FOUND"}}) {
		t.Errorf("%v, omitted %v", got, omitted)
	}
	signed := func(c *pat.AgreementClaims) { c.Scope = []string{search} }
	if got, _ := entries(w.fresh(t, "b", newEd(), signed)); !slices.Equal(got, []string{search + ":execute"}) {
		t.Errorf("the scope of the agreement: %v, want %+v", got, []string{search + ":execute"})
	}
	r = w.fresh(t, "c", newEd(), signed)
	r.Scope = []string{buy, search}
	if got, omitted := entries(r); !slices.Equal(got, []string{search + ":execute"}) ||
		!slices.Equal(omitted, []pat.OmittedEntry{{Entry: buy + ":execute", Reason: reason.ScopeExceeded}}) {
		t.Errorf("a scope beyond the agreement: %v, %v", got, omitted)
	}
	r = w.fresh(t, "d", newEd(), signed)
	r.Scope = []string{buy}
	_, err := w.issuer.Issue(t.Context(), r)
	if refusal, ok := errors.AsType[*pat.ScopeError](err); !ok || len(refusal.Omitted) != 1 {
		t.Errorf("nothing left: %v", err)
	}
	if _, err := w.store.Agent(t.Context(), service, "d"); !errors.Is(err, pat.ErrNotFound) {
		t.Errorf("after a refusal: %v, want %v", err, pat.ErrNotFound)
	}
	for _, bad := range [][]string{
		{"x"},
		{"a:b:c:delete"},
		{"a:b:c:d:execute"},
		{"a:b :c:execute"},
		{strings.Repeat("x", 400) + ":b:c"},
		make([]string, 2000),
	} {
		r := w.fresh(t, "e", newEd())
		r.Scope = bad
		if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrBadScope) {
			t.Errorf("%.40v: %v, want %v", bad, err, pat.ErrBadScope)
		}
	}
}

func TestLargeScopeNamesTheNamespace(t *testing.T) {
	w := newWorld(t)
	for n := range 62 {
		w.terms.more = append(w.terms.more, fmt.Sprintf("shop.example:i%d:v1", n))
	}
	i := w.issue(t, w.fresh(t, "a", newEd()))
	if len(i.Claims.Scope) != 64 {
		t.Errorf("%d entries, want 64", len(i.Claims.Scope))
	}
	w.terms.more = append(w.terms.more, "other.example:x:v1")
	i = w.issue(t, w.fresh(t, "b", newEd()))
	if !slices.Equal(i.Claims.Scope, []string{"shop.example:*:*:execute", "other.example:*:*:execute"}) {
		t.Errorf("got %v, want %+v", i.Claims.Scope, []string{"shop.example:*:*:execute", "other.example:*:*:execute"})
	}
	r := w.fresh(t, "c", newEd())
	r.Scope = append([]string{search}, w.terms.more...)
	r.Scope = append(r.Scope, buy)
	if i = w.issue(t, r); len(i.Claims.Scope) != 65 {
		t.Errorf("%d entries, want the 65 that were requested by name", len(i.Claims.Scope))
	}
	for n := range 900 {
		w.terms.more = append(w.terms.more, fmt.Sprintf("shop.example:%s%d:v1", strings.Repeat("x", 100), n))
	}
	r = w.fresh(t, "d", newEd())
	r.Scope = w.terms.more
	if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrBadScope) {
		t.Errorf("a PAT that is too long: %v, want %v", err, pat.ErrBadScope)
	}
}

func TestPermits(t *testing.T) {
	c := pat.Claims{Scope: []string{"a.b:c:v1:execute", "d.e:*:*:execute", "f:*:v1:execute", "*:*:*:execute", "g:h:v1:read", "*"}}
	for uid, want := range map[string]bool{
		"a.b:c:v1": true, "d.e:x:v2": true,
		"a.b:c:v2": false, "a.b:d:v1": false, "d.e.f:x:v1": false, "e:x:v1": false, "f:x:v1": false, "g:h:v1": false, "z:y:v1": false,
		"f:*:v1": false, "d.e:*:*": false, "*:*:*": false, "d.e:x": false, "d.e:x:v1:execute": false, "d.e::v1": false, ":x:v1": false, "": false,
	} {
		if got := c.Permits(uid); got != want {
			t.Errorf("%q: %v, want %v", uid, got, want)
		}
	}
}

func TestPolicyMismatchAtIssue(t *testing.T) {
	w := newWorld(t)
	r := w.static(t, "agent", edKey())
	w.terms = &terms{offer: offerOf(t, policyV2), past: []pat.Offer{w.terms.offer}, limit: w.terms.limit}
	w.reissue(t)
	_, err := w.issuer.Issue(t.Context(), r)
	if mismatch, ok := errors.AsType[*pat.PolicyMismatchError](err); !ok || mismatch.Digest != w.terms.offer.Digest {
		t.Fatalf("got %v", err)
	}
}

func TestRulesAreChecked(t *testing.T) {
	w := newWorld(t)
	for name, spoil := range map[string]func(*pat.Rules){
		"no issuer": func(r *pat.Rules) { r.Issuer = "" }, "no ttl": func(r *pat.Rules) { r.TTL = 0 },
		"long ttl":        func(r *pat.Rules) { r.TTL = 25 * time.Hour },
		"negative leeway": func(r *pat.Rules) { r.Leeway = -1 }, "long grace": func(r *pat.Rules) { r.Grace = 25 * time.Hour },
		"freshness": func(r *pat.Rules) { r.Freshness = "" }, "admission": func(r *pat.Rules) { r.Admission = "all" },
		"allow without key": func(r *pat.Rules) { r.Allow = []pat.Known{{AgentID: "x"}} },
		"party without id":  func(r *pat.Rules) { r.Parties = []pat.Known{{KeyID: keyOf(t, edKey()).Thumbprint()}} },
	} {
		r := w.rules
		spoil(&r)
		if _, err := pat.NewIssuer(pat.IssuerConfig{
			Rules: r, Terms: w.terms, Store: w.store, Keys: w.keys, View: w.view,
			Now: w.now,
		}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestReservedIDBelongsToItsKey claims an id with another key before the configuration reserves the id for a party.
func TestReservedIDBelongsToItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stranger, party := newEd(), newEd()
	squatted := w.issue(t, w.fresh(t, "party", stranger))
	w.rules.Parties = []pat.Known{{AgentID: "party", KeyID: keyOf(t, party).Thumbprint()}}
	w.reissue(t)
	if _, err := w.verify(t, squatted.Token); !errors.Is(err, pat.ErrRevoked) {
		t.Errorf("the stranger's PAT: %v, want %v", err, pat.ErrRevoked)
	}
	if _, err := w.issuer.Renew(t.Context(), w.renewalWithProof(t, squatted, stranger)); err == nil {
		t.Error("the PAT of the stranger was renewed")
	}
	w.advance(t, 2*time.Second)
	issued := w.issue(t, w.fresh(t, "party", party))
	w.advance(t, 2*time.Second)
	if _, err := w.verify(t, issued.Token); err != nil {
		t.Errorf("the party's PAT: %v", err)
	}
	w.rules.Parties = nil // the id stays with the party
	w.reissue(t)
	if _, err := w.issuer.Issue(t.Context(), w.fresh(t, "party", stranger)); !errors.Is(err, pat.ErrAgentIDTaken) {
		t.Errorf("the stranger agrees again: %v, want %v", err, pat.ErrAgentIDTaken)
	}
	if _, err := w.verify(t, squatted.Token); !errors.Is(err, pat.ErrRevoked) {
		t.Errorf("the stranger's PAT: %v, want %v", err, pat.ErrRevoked)
	}
}
