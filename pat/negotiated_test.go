package pat_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/agreement"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// Test keys that others have published.
const (
	publishedKey = "6d8d2b87d987641e2ca3f1991c1cccf08a118759e81fabdbf7e8484f27af015e"
	firstKey     = "0000000000000000000000000000000000000000000000000000000000000001"
)

func aeaKey(tb testing.TB, digits string) identity.Key {
	tb.Helper()
	return must(identity.NewKey(must(hex.DecodeString(digits))))
}

// An acceptance is the evidence of an accepted offer, and the options of the request.
type acceptance struct {
	agreement.Evidence

	Scope []string
	Admit func() error
}

func (w *world) issueNegotiated(tb testing.TB, r acceptance) (pat.Issuance, error) {
	tb.Helper()
	return w.issuer.Issue(tb.Context(), pat.IssueRequest{Evidence: r.Evidence, Scope: r.Scope, Admit: r.Admit})
}

// accepted returns an agent's acceptance of an offer, which it signs after the changes.
func (w *world) accepted(tb testing.TB, ledger identity.Ledger, change ...func(*acceptance)) acceptance {
	tb.Helper()
	agent := aeaKey(tb, publishedKey)
	r := acceptance{Scope: []string{search}, Evidence: agreement.Evidence{
		Agreement: identity.Agreement{
			Gateway: aeaKey(tb, firstKey).Public(identity.Fetchai).Address(), Agent: agent.Public(ledger).Address(),
			Nonce: strings.Repeat("0123456789abcdef", 2), PolicySHA256: w.terms.offer.SHA256(),
		},
		Until: w.now().Add(5 * time.Minute), Ledger: string(ledger), PublicKey: agent.Public(ledger).String(),
	}}
	for _, f := range change {
		f(&r)
	}
	if r.Signature == "" {
		r.Signature = agent.Sign(ledger, r.Text())
	}
	return r
}

func TestAcceptedOfferIsAFreshAgreement(t *testing.T) {
	t.Parallel()
	for _, ledger := range []identity.Ledger{identity.Fetchai, identity.Cosmos, identity.Ethereum} {
		w := newWorld(t)
		r := w.accepted(t, ledger)
		issued, err := w.issueNegotiated(t, r)
		if err != nil {
			t.Fatal(ledger, err)
		}
		claims, err := w.verify(t, issued.Token)
		if err != nil || claims.Subject != pat.AgentID(r.Agent) || claims.Assurance != pat.Fresh ||
			strings.Join(claims.Scope, " ") != search+":execute" {
			t.Errorf("%s: %+v, %v", ledger, claims, err)
		}
		a := must(w.store.Agreement(t.Context(), service, issued.AgreementID))
		key, err := a.Key()
		text := strings.Join([]string{"uim-aea-1", r.Gateway, r.Agent, r.PolicySHA256, r.Nonce}, "\n")
		if err != nil || a.Form != "aea-1" || a.KeyID != key.Thumbprint() || string(a.Signed) != text || string(a.Signature) != r.Signature ||
			a.Nonce != r.Nonce || key.Algorithm() != "ES256K" {
			t.Errorf("%s: %+v, %v", ledger, a, err)
		}
		bundle, err := pat.Export(a, must(w.store.Policy(t.Context(), service, a.PolicyDigest)), forms())
		if err != nil {
			t.Fatal(ledger, err)
		}
		if e, err := pat.VerifyExport(bundle, forms()); err != nil || e.Agreement.AgentID != a.AgentID || e.Agreement.KeyID != a.KeyID {
			t.Errorf("%s: got %+v, %v; want no error, Agreement.AgentID %v and Agreement.KeyID %v", ledger, e, err, a.AgentID, a.KeyID)
		}
		again := r
		again.Until = w.now().Add(time.Minute) // the nonce determines whether the acceptance is used
		if twice, err := w.issueNegotiated(t, again); !errors.Is(err, pat.ErrAgreementReplayed) || twice.Token != "" {
			t.Errorf("%s: a second PAT: %v", ledger, err)
		}
	}
}

func TestInvalidAcceptances(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refused := errors.New("refused")
	signed := w.accepted(t, identity.Fetchai).Signature
	other := aeaKey(t, firstKey).Public(identity.Fetchai)
	for name, c := range map[string]struct {
		change func(*acceptance)
		want   error
	}{
		"no signature":                   {func(r *acceptance) { r.Signature = " " }, pat.ErrBadSignature},
		"of another offer":               {func(r *acceptance) { r.Nonce, r.Signature = "another", signed }, pat.ErrBadSignature},
		"of another gateway":             {func(r *acceptance) { r.Gateway, r.Signature = other.Address()+"x", signed }, pat.ErrBadSignature},
		"of another agent":               {func(r *acceptance) { r.Agent, r.PublicKey = other.Address(), other.String() }, pat.ErrBadSignature},
		"with another's key":             {func(r *acceptance) { r.PublicKey = other.String() }, pat.ErrBadSignature},
		"sender that is not an address":  {func(r *acceptance) { r.Agent = "alice" }, pat.ErrBadSignature},
		"no sender":                      {func(r *acceptance) { r.Agent = "" }, pat.ErrBadSignature},
		"no recipient":                   {func(r *acceptance) { r.Gateway = "" }, pat.ErrBadSignature},
		"without nonce":                  {func(r *acceptance) { r.Nonce = "" }, pat.ErrBadSignature},
		"no key":                         {func(r *acceptance) { r.PublicKey = "" }, keys.ErrUnsupported},
		"on another ledger":              {func(r *acceptance) { r.Ledger = "solana" }, keys.ErrUnsupported},
		"address in Ethereum's notation": {func(r *acceptance) { r.Ledger = "ethereum" }, keys.ErrUnsupported},
		"to another policy":              {func(r *acceptance) { r.PolicySHA256 = strings.Repeat("a", 64) }, pat.ErrPolicyMismatch},
		"policy digest in uppercase":     {func(r *acceptance) { r.PolicySHA256 = strings.ToUpper(r.PolicySHA256) }, pat.ErrPolicyMismatch},
		"expired offer":                  {func(r *acceptance) { r.Until = w.now() }, pat.ErrAgreementStale},
		"offer expires too late":         {func(r *acceptance) { r.Until = w.now().Add(15*time.Minute + time.Second) }, pat.ErrAgreementStale},
		"with a bad scope":               {func(r *acceptance) { r.Scope = []string{"a b"} }, pat.ErrBadScope},
		"not admitted":                   {func(r *acceptance) { r.Admit = func() error { return refused } }, refused},
	} {
		if _, err := w.issueNegotiated(t, w.accepted(t, identity.Fetchai, c.change)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := w.issueNegotiated(t, w.accepted(t, "")); err == nil {
		t.Error("an acceptance without a ledger is accepted")
	}
	good := w.accepted(t, identity.Fetchai, func(r *acceptance) { r.Ledger = "" })
	if _, err := w.issueNegotiated(t, good); err != nil {
		t.Errorf("the refused acceptance, once it is valid and with the default ledger: %v", err)
	}
}

func TestAcceptanceWaitsForApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules.Admission = pat.AdmitApproval
	w.reissue(t)
	r := w.accepted(t, identity.Ethereum)
	first, err := w.issueNegotiated(t, r)
	if err != nil || first.State != pat.AgreementPending || first.Token != "" {
		t.Fatalf("got %+v, %v; want no error, State %v and Token empty", first, err, pat.AgreementPending)
	}
	w.advance(t, time.Hour)
	if again, err := w.issueNegotiated(t, r); err != nil || again.AgreementID != first.AgreementID || again.Token != "" {
		t.Errorf("got %+v, %v; want no error, AgreementID %v and Token empty", again, err, first.AgreementID)
	}
	if err := w.issuer.Approve(t.Context(), pat.AgentID(r.Agent)); err != nil {
		t.Fatal(err)
	}
	if issued, err := w.issueNegotiated(t, r); err != nil || issued.Token == "" || issued.AgreementID != first.AgreementID {
		t.Errorf("got %+v, %v", issued, err)
	}
	if _, err := w.issueNegotiated(t, r); !errors.Is(err, pat.ErrAgreementReplayed) {
		t.Errorf("a second PAT: %v, want %v", err, pat.ErrAgreementReplayed)
	}
}

// Only the key of an agent address can have the address as its id.
func TestAgentAddressesBelongToTheirKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	squatter := newEd()
	for _, ledger := range []identity.Ledger{identity.Fetchai, identity.Cosmos, identity.Ethereum} {
		address := aeaKey(t, publishedKey).Public(ledger).Address()
		for name, id := range map[string]string{"the address": address, "the address in lowercase": strings.ToLower(address)} {
			if _, err := w.issuer.Issue(t.Context(), w.fresh(t, id, squatter)); !errors.Is(err, pat.ErrAgentIDTaken) {
				t.Errorf("%s, %s: %v, want %v", ledger, name, err, pat.ErrAgentIDTaken)
			}
		}
	}
	for _, id := range []string{"fetch1", "0x12", "cosmos1w508d6qejxtdg4y5r3zarvary0c5xw7k6ah60d"} { // not the address of a key
		w.issue(t, w.fresh(t, id, newEd()))
	}
	r := w.accepted(t, identity.Fetchai)
	if _, err := w.issueNegotiated(t, r); err != nil {
		t.Errorf("the address with its own key: %v", err)
	}
	second := w.accepted(t, identity.Cosmos, func(r *acceptance) { r.Nonce = "another" })
	if _, err := w.issueNegotiated(t, second); !errors.Is(err, pat.ErrKeyTaken) {
		t.Errorf("a key with two ids: %v, want %v", err, pat.ErrKeyTaken)
	}
}

func TestEvidenceOfAnotherAcceptance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issued, err := w.issueNegotiated(t, w.accepted(t, identity.Fetchai))
	if err != nil {
		t.Fatal(err)
	}
	a := must(w.store.Agreement(t.Context(), service, issued.AgreementID))
	policy := must(w.store.Policy(t.Context(), service, a.PolicyDigest))
	other := aeaKey(t, firstKey).Public(identity.Fetchai)
	spki := keys.AddressKey("", other.Point()).SPKI()
	for name, change := range map[string]func(*pat.Agreement){
		"another agent":      func(a *pat.Agreement) { a.AgentID = pat.AgentID(other.Address()) },
		"another key":        func(a *pat.Agreement) { a.PublicKey = spki },
		"no key":             func(a *pat.Agreement) { a.PublicKey = nil },
		"another kind":       func(a *pat.Agreement) { a.PublicKey = keyOf(t, newEd()).SPKI() },
		"another key id":     func(a *pat.Agreement) { a.KeyID = "" },
		"another nonce":      func(a *pat.Agreement) { a.Nonce += "0" },
		"a scope":            func(a *pat.Agreement) { a.Scope = []string{search} },
		"another signature":  func(a *pat.Agreement) { a.Signature = []byte(strings.ToLower(string(a.Signature))) },
		"another text":       func(a *pat.Agreement) { a.Signed = append(a.Signed, '\n') },
		"no text":            func(a *pat.Agreement) { a.Signed = nil },
		"lower assurance":    func(a *pat.Agreement) { a.Assurance = pat.Static },
		"another form":       func(a *pat.Agreement) { a.Form = "uagents-envelope" },
		"the form of a JWS":  func(a *pat.Agreement) { a.Form = "jws-agreement" },
		"another policy uid": func(a *pat.Agreement) { a.PolicyUID += "x" },
	} {
		changed := a
		change(&changed)
		if _, err := pat.Export(changed, policy, forms()); !errors.Is(err, pat.ErrBadExport) {
			t.Errorf("%s: %v, want %v", name, err, pat.ErrBadExport)
		}
	}
	spaced := policy
	spaced.Bytes = append([]byte("  \n"), policy.Bytes...) // the same policy, but not the signed bytes
	if _, err := pat.Export(a, spaced, forms()); !errors.Is(err, pat.ErrBadExport) {
		t.Errorf("other bytes of the policy: %v, want %v", err, pat.ErrBadExport)
	}
}
