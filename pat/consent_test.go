package pat_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/pat"
)

const resource = "https://shop.example/mcp"

func (w *world) consent(tb testing.TB, change ...func(*pat.ConsentRequest)) (pat.Agreement, error) {
	tb.Helper()
	r := pat.ConsentRequest{
		ClientID: "https://client.example/c.json", ClientDocument: "sha-256:d", ClientName: "Client", RedirectHost: "localhost",
		Resource: resource, PolicyDigest: w.terms.offer.Digest, Scope: []string{search, buy}, Page: "sha-256:p",
		Address: "192.0.2.0/24", UserAgent: "Browser",
	}
	for _, f := range change {
		f(&r)
	}
	return w.issuer.Consent(tb.Context(), r)
}

func (w *world) consented(tb testing.TB, change ...func(*pat.ConsentRequest)) pat.Agreement {
	tb.Helper()
	a, err := w.consent(tb, change...)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func (w *world) consentedToken(tb testing.TB, id pat.AgreementID) pat.Issuance {
	tb.Helper()
	issued, err := w.issuer.ConsentedToken(tb.Context(), id, resource, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return issued
}

func payloadOf(tb testing.TB, token string) map[string]any {
	tb.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		tb.Fatal(err)
	}
	var payload map[string]any
	if err := json.Unmarshal(raw, &payload); err != nil {
		tb.Fatal(err)
	}
	return payload
}

func TestConsentIsRecorded(t *testing.T) {
	w := newWorld(t)
	a := w.consented(t)
	record, ok := a.Consent()
	if !ok || record.AgentID != a.AgentID || string(a.AgentID) != "mcp."+record.ID[:16] || !pat.Consented(a.AgentID) {
		t.Fatalf("%+v, %v of %s", record, ok, a.AgentID)
	}
	if a.KeyID != "" || a.Assurance != pat.Consent || a.Form != "consent" || record.IssuedAt != noon.Unix() ||
		record.Policy.Digest != w.terms.offer.Digest || record.ClientName != "Client" || record.Page != "sha-256:p" {
		t.Errorf("%+v\n%+v", a, record)
	}
	if diff := cmp.Diff([]string{search + ":execute"}, record.Scope); diff != "" { // intents that charge are excluded
		t.Errorf("scope (-want +got):\n%s", diff)
	}
	issued := w.consentedToken(t, a.ID)
	claims, err := w.verify(t, issued.Token)
	if err != nil || claims.Assurance != pat.Consent || claims.KeyID != "" || claims.Subject != a.AgentID || claims.Resource != resource ||
		claims.Issuer != issuer || claims.Agreement != a.ID {
		t.Errorf("got %+v, %v", claims, err)
	}
	payload := payloadOf(t, issued.Token)
	if _, has := payload["cnf"]; has || payload["assurance"] != "consent" {
		t.Errorf("the payload: %v", payload)
	}
	if diff := cmp.Diff([]any{issuer, resource}, payload["aud"]); diff != "" {
		t.Errorf("aud (-want +got):\n%s", diff)
	}
	found, err := w.issuer.Verifier().Introspect(t.Context(), issued.Token, w.terms.Holds, w.now())
	if err != nil || !found.Active || found.Confirmation != nil || found.Assurance != pat.Consent {
		t.Errorf("introspection: %+v, %v", found, err)
	}
	if other := w.consented(t); other.AgentID == a.AgentID {
		t.Error("two consents have the same agent")
	}
}

func TestConsentLimits(t *testing.T) {
	w := newWorld(t)
	issued := w.consentedToken(t, w.consented(t).ID)
	for name, proof := range map[string]string{"without proof": "", "with one": "a.b.c"} {
		if _, err := w.issuer.Renew(t.Context(), pat.RenewRequest{Token: issued.Token, Proof: proof}); !errors.Is(err, pat.ErrProofRequired) {
			t.Errorf("renewed %s: %v, want %v", name, err, pat.ErrProofRequired)
		}
	}
	for name, r := range map[string]pat.IssueRequest{
		"fresh": w.fresh(t, string(issued.Claims.Subject), newEd()), "static": w.static(t, "mcp.0123456789abcdef", newEd()),
	} {
		if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrAgentIDTaken) {
			t.Errorf("a key claims the agent id of a consent, %s: %v, want %v", name, err, pat.ErrAgentIDTaken)
		}
	}
	refused := map[string]struct {
		change func(*pat.ConsentRequest)
		want   error
	}{
		"another policy was shown": {func(r *pat.ConsentRequest) { r.PolicyDigest = "sha-256:other" }, pat.ErrPolicyMismatch},
		"empty scope":              {func(r *pat.ConsentRequest) { r.Scope = nil }, pat.ErrBadScope},
		"only charged intents":     {func(r *pat.ConsentRequest) { r.Scope = []string{buy} }, pat.ErrFreshRequired},
		"unknown intent":           {func(r *pat.ConsentRequest) { r.Scope = []string{"shop.example:x:v1"} }, pat.ErrNothingGranted},
		"not admitted":             {func(r *pat.ConsentRequest) { r.Admit = func() error { return errTooMany } }, errTooMany},
	}
	for name, tt := range refused {
		if _, err := w.consent(t, tt.change); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	w.rules.Freshness = pat.FreshnessRequired
	w.reissue(t)
	if _, err := w.consent(t); !errors.Is(err, pat.ErrFreshRequired) {
		t.Errorf("if fresh agreements are required: %v, want %v", err, pat.ErrFreshRequired)
	}
	if _, err := w.issuer.ConsentedToken(t.Context(), issued.AgreementID, resource, nil); !errors.Is(err, pat.ErrFreshRequired) {
		t.Errorf("a further token if fresh agreements are required: %v, want %v", err, pat.ErrFreshRequired)
	}
}

var errTooMany = errors.New("too many")

func TestConsentEnds(t *testing.T) {
	revoke := func(kind pat.RevocationKind, subject func(pat.Issuance) string) func(*testing.T, *world, pat.Issuance) {
		return func(t *testing.T, w *world, i pat.Issuance) {
			t.Helper()
			noError(t, w.issuer.Revoke(t.Context(), pat.Revocation{Kind: kind, Subject: subject(i), Reason: "test"}))
		}
	}
	for name, tt := range map[string]struct {
		end   func(*testing.T, *world, pat.Issuance)
		token error // of the existing PATs
		next  error // of a new PAT
	}{
		"by its bearer": {func(t *testing.T, w *world, i pat.Issuance) {
			t.Helper()
			noError(t, w.issuer.RevokeToken(t.Context(), i.Token))
		}, pat.ErrRevoked, pat.ErrRevoked},
		"by the operator, one PAT": {
			revoke(pat.RevokedToken, func(i pat.Issuance) string { return string(i.Claims.ID) }), pat.ErrRevoked, pat.ErrRevoked,
		},
		"by the operator, agreement": {
			revoke(pat.RevokedAgreement, func(i pat.Issuance) string { return string(i.AgreementID) }), pat.ErrRevoked, pat.ErrRevoked,
		},
		"by the operator, agent": {
			revoke(pat.RevokedAgent, func(i pat.Issuance) string { return string(i.Claims.Subject) }), pat.ErrBlocked, pat.ErrBlocked,
		},
		"changed policy": {func(t *testing.T, w *world, _ pat.Issuance) {
			t.Helper()
			w.terms = &terms{offer: offerOf(t, policyV2), limit: w.terms.limit}
			w.reissue(t)
		}, nil, pat.ErrPolicyChanged}, // Claims.Agreed refuses the PAT
		"admission of known agents": {func(t *testing.T, w *world, _ pat.Issuance) {
			t.Helper()
			w.rules.Admission = pat.AdmitAllowlist
			w.reissue(t)
		}, nil, pat.ErrNotAdmitted},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := w.consented(t)
			first, second := w.consentedToken(t, a.ID), w.consentedToken(t, a.ID)
			tt.end(t, w, first)
			for _, i := range []pat.Issuance{first, second} {
				if _, err := w.verify(t, i.Token); !errors.Is(err, tt.token) {
					t.Errorf("a PAT: %v, want %v", err, tt.token)
				}
			}
			if _, err := w.issuer.ConsentedToken(t.Context(), a.ID, resource, nil); !errors.Is(err, tt.next) {
				t.Errorf("another PAT: %v, want %v", err, tt.next)
			}
		})
	}
	w := newWorld(t)
	fresh := w.issue(t, w.fresh(t, "agent", newEd()))
	for _, id := range []pat.AgreementID{"unknown", fresh.AgreementID} {
		if _, err := w.issuer.ConsentedToken(t.Context(), id, resource, nil); !errors.Is(err, pat.ErrRevoked) {
			t.Errorf("a consent PAT for the agreement %s: %v, want %v", id, err, pat.ErrRevoked)
		}
	}
}

func TestConsentAdmission(t *testing.T) {
	w := newWorld(t)
	w.rules.Admission = pat.AdmitApproval
	w.reissue(t)
	a := w.consented(t)
	if issued := w.consentedToken(t, a.ID); a.State != pat.AgreementPending || issued.State != pat.AgreementPending || issued.Token != "" {
		t.Fatalf("%+v %+v; want a pending consent", a, issued)
	}
	noError(t, w.issuer.Approve(t.Context(), a.AgentID))
	if issued := w.consentedToken(t, a.ID); issued.Token == "" {
		t.Error("no PAT after the approval")
	}
	invited := func(r *pat.ConsentRequest) { r.Invited, r.Invitation = true, "Ann" }
	w.consentedToken(t, w.consented(t, invited).ID)
	w.rules.Admission = pat.AdmitAllowlist
	w.reissue(t)
	if _, err := w.consent(t); !errors.Is(err, pat.ErrNotAdmitted) {
		t.Errorf("without invitation: %v, want %v", err, pat.ErrNotAdmitted)
	}
	a = w.consented(t, invited)
	if record, _ := a.Consent(); record.Invitation != "Ann" || w.consentedToken(t, a.ID).Token == "" {
		t.Errorf("got %+v", record)
	}
	agent, err := w.store.Agent(t.Context(), service, a.AgentID)
	if err != nil || !agent.Approved {
		t.Errorf("%+v, %v; want an approved agent", agent, err)
	}
}

func TestConsentRecordIsVerified(t *testing.T) {
	w := newWorld(t)
	a := w.consented(t)
	policy, err := w.store.Policy(t.Context(), service, a.PolicyDigest)
	noError(t, err)
	bundle, err := pat.Export(a, policy, forms())
	noError(t, err)
	if text := string(bundle); strings.Contains(text, "agent_public_key") || strings.Contains(text, `"jkt"`) ||
		!strings.Contains(text, "gateway_public_key") {
		t.Errorf("the bundle does not identify the key: %.600s", text)
	}
	e, err := pat.VerifyExport(bundle, forms())
	if err != nil || e.Agreement.AgentID != a.AgentID || e.Agreement.KeyID != "" {
		t.Fatalf("got %+v, %v; want no error, AgentID %v and KeyID empty", e.Agreement, err, a.AgentID)
	}
	for name, change := range map[string]func(*pat.Agreement){
		"another agent":                 func(a *pat.Agreement) { a.AgentID = "mcp.0123456789abcdef" },
		"a wider scope":                 func(a *pat.Agreement) { a.Scope = append(a.Scope, buy) },
		"another time":                  func(a *pat.Agreement) { a.CreatedAt = a.CreatedAt.Add(time.Hour) },
		"another issuer":                func(a *pat.Agreement) { a.Issuer = "other.example" },
		"form of a fresh agreement":     func(a *pat.Agreement) { a.Assurance, a.KeyID = pat.Fresh, keyOf(t, edKey()).Thumbprint() },
		"with an agent key":             func(a *pat.Agreement) { a.KeyID = keyOf(t, edKey()).Thumbprint() },
		"signed by another gateway key": func(a *pat.Agreement) { a.PublicKey = keyOf(t, edKey()).SPKI() },
		"another record":                func(a *pat.Agreement) { other := w.consented(t); a.Signature = other.Signature },
		"another plan":                  func(a *pat.Agreement) { a.Plan = "pro" },
		"with the member signed":        func(a *pat.Agreement) { a.Signed = []byte("x") },
	} {
		bad := a
		change(&bad)
		if _, err := pat.Export(bad, policy, forms()); !errors.Is(err, pat.ErrBadExport) {
			t.Errorf("%s: %v, want %v", name, err, pat.ErrBadExport)
		}
	}
}

// A PAT with a key must not pass for a consent PAT, or the other way round.
func TestClaimsOfConsentAreReadStrictly(t *testing.T) {
	w := newWorld(t)
	good := payloadOf(t, w.consentedToken(t, w.consented(t).ID).Token)
	header := map[string]any{"alg": "EdDSA", "typ": pat.TypePAT, "kid": w.keys.Current()}
	own := edSign(w.private(t))
	if _, err := w.verify(t, jws(t, header, good, own)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(map[string]any){
		"a key under consent":          func(c map[string]any) { c["cnf"] = map[string]any{"jkt": "x"} },
		"no key and no consent":        func(c map[string]any) { delete(c, "assurance") },
		"static agreement without key": func(c map[string]any) { c["assurance"] = "static" },
		"unknown assurance":            func(c map[string]any) { c["assurance"] = "promised" },
		"three audiences":              func(c map[string]any) { c["aud"] = []any{issuer, resource, "x"} },
		"another issuer first":         func(c map[string]any) { c["aud"] = []any{resource, issuer} },
		"an empty resource":            func(c map[string]any) { c["aud"] = []any{issuer, ""} },
		"an audience in a list":        func(c map[string]any) { c["aud"] = []any{issuer} },
		"no audience":                  func(c map[string]any) { delete(c, "aud") },
	} {
		claims := maps.Clone(good)
		change(claims)
		if _, err := w.verify(t, jws(t, header, claims, own)); !errors.Is(err, pat.ErrInvalid) {
			t.Errorf("%s: %v, want %v", name, err, pat.ErrInvalid)
		}
	}
}
