package pat_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func seeded(tb testing.TB, seed string) identity.Key {
	tb.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// target returns the address of the gateway.
func target(tb testing.TB) identity.Address {
	tb.Helper()
	return seeded(tb, "uimgate test seed").Address()
}

// A draft is an envelope with an agreement that is not yet signed.
type draft struct {
	envelope envelope.Envelope
	message  map[string]any
	raw      string // replaces message, for texts that are not JSON objects
	key      identity.Key
}

// envelope returns a signed envelope with an agreement. Each change is applied before it is signed.
func (w *world) envelope(tb testing.TB, key identity.Key, change ...func(*draft)) []byte {
	tb.Helper()
	until := uint64(w.now().Add(30 * time.Second).Unix())
	e := draft{
		envelope: envelope.Envelope{
			Target: target(tb), Session: envelope.NewSession(), SchemaDigest: protocol.Standard("UIMAgree").Digest, Expires: &until,
		},
		message: map[string]any{"policy_digest": w.terms.offer.Digest, "issuer": issuer, "scope": nil}, key: key,
	}
	for _, f := range change {
		f(&e)
	}
	text := []byte(e.raw)
	if e.raw == "" {
		text = must(json.Marshal(e.message))
	}
	if e.envelope.Payload == "" {
		e.envelope.Payload = envelope.Pack(text)
	}
	return must(json.Marshal(e.envelope.Sign(e.key)))
}

func (w *world) issueEnvelope(tb testing.TB, raw []byte) (pat.Issuance, error) {
	tb.Helper()
	return w.issuer.Issue(tb.Context(), pat.IssueRequest{Evidence: agreement.Evidence{Envelope: raw, Target: string(target(tb))}})
}

func TestEnvelopeIsAFreshAgreement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice := seeded(t, "alice recovery password")
	raw := w.envelope(t, alice, func(e *draft) { e.message["scope"] = []string{search, buy + ":execute"} })
	issued, err := w.issueEnvelope(t, raw)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := w.verify(t, issued.Token)
	// OpenSSL computes this thumbprint from the private key.
	const jkt = "SwArAfD6gpE1G1HzN7N_Lr8h18p7g9VUnpbERXzI66E"
	const spki = "MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEaISDdT2L3GUZFGCDqnkiu91-iWBdeM4if2V3z7uMIIe0kMcqmBB-7PiijFnL0Tkacae878y2BLd3cOpej7PCwg"
	if err != nil || claims.Subject != pat.AgentID(alice.Address()) || claims.KeyID != jkt || claims.Assurance != pat.Fresh ||
		!slices.Equal(claims.Scope, []string{search + ":execute", buy + ":execute"}) {
		t.Errorf("got %+v, %v", claims, err)
	}
	a, err := w.store.Agreement(t.Context(), service, issued.AgreementID)
	if err != nil || a.Form != "uagents-envelope" || a.Assurance != pat.Fresh || !bytes.Equal(a.Signature, raw) || a.Signed != nil ||
		a.AgentID != claims.Subject || a.KeyID != jkt || base64.RawURLEncoding.EncodeToString(a.PublicKey) != spki || len(a.Nonce) != 64 {
		t.Errorf("got %+v, %v", a, err)
	}
}

// An envelope is used once, in every encoding, and its PAT is returned once.
func TestEnvelopeIsUsedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice := seeded(t, "alice recovery password")
	raw := w.envelope(t, alice)
	if _, err := w.issueEnvelope(t, raw); err != nil {
		t.Fatal(err)
	}
	e := must(envelope.Parse(raw))
	order := must(identity.ParseSignature(e.Signature.String()))
	negate(order[32:])
	versioned, second := e, e
	versioned.Version, versioned.ProtocolDigest = 2, protocol.UIM().Digest
	second.Signature = order
	for name, again := range map[string][]byte{
		"unchanged": raw, "with a space": append([]byte(" "), raw...), "with s negated": must(json.Marshal(second)),
		"with another version": must(json.Marshal(versioned)), "with an additional member": append([]byte(`{"x":1,`), raw[1:]...),
		"with another spelling of the session": bytes.Replace(raw, []byte(e.Session), []byte("{"+strings.ToUpper(string(e.Session))+"}"), 1),
	} {
		if issued, err := w.issueEnvelope(t, again); !errors.Is(err, pat.ErrAgreementReplayed) || issued.Token != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.advance(t, 29*time.Second)
	if _, err := w.issueEnvelope(t, raw); !errors.Is(err, pat.ErrAgreementReplayed) {
		t.Errorf("just before it expires: %v, want %v", err, pat.ErrAgreementReplayed)
	}
	w.advance(t, time.Second)
	if _, err := w.issueEnvelope(t, raw); !errors.Is(err, pat.ErrAgreementReplayed) {
		t.Errorf("after it expired: %v, want %v", err, pat.ErrAgreementReplayed)
	}
	if _, err := w.issueEnvelope(t, must(json.Marshal(second))); !errors.Is(err, pat.ErrAgreementStale) {
		t.Errorf("after it expired, with the other s: %v, want %v", err, pat.ErrAgreementStale)
	}
	if _, err := w.issueEnvelope(t, w.envelope(t, alice)); err != nil {
		t.Errorf("another one: %v", err)
	}
}

// negate replaces s of a signature with n-s, where n is the order of secp256k1.
func negate(s []byte) {
	order := must(base64.RawStdEncoding.DecodeString("/////////////////////rqu3OavSKA7v9JejNA2QUE"))
	borrow := 0
	for i := len(s) - 1; i >= 0; i-- {
		d := int(order[i]) - int(s[i]) - borrow
		borrow = 0
		if d < 0 {
			d, borrow = d+256, 1
		}
		s[i] = byte(d)
	}
}

func TestInvalidEnvelopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice, bob := seeded(t, "alice recovery password"), seeded(t, "bob recovery password")
	at := func(d time.Duration) *uint64 { s := uint64(w.now().Add(d).Unix()); return &s }
	for name, c := range map[string]struct {
		change func(*draft)
		want   error
	}{
		"for another target":        {func(e *draft) { e.envelope.Target = bob.Address() }, pat.ErrAgreementMisdirected},
		"for another issuer":        {func(e *draft) { e.message["issuer"] = "bank.example" }, pat.ErrAgreementMisdirected},
		"an issuer in another case": {func(e *draft) { e.message["issuer"] = "Shop.example" }, pat.ErrAgreementMisdirected},
		"no issuer":                 {func(e *draft) { delete(e.message, "issuer") }, pat.ErrBadAgreement},
		"another policy":            {func(e *draft) { e.message["policy_digest"] = must(pat.PolicyDigest(policyV2)) }, pat.ErrPolicyMismatch},
		"no policy":                 {func(e *draft) { e.message["policy_digest"] = nil }, pat.ErrBadAgreement},
		"a digest that is a number": {func(e *draft) { e.message["policy_digest"] = 7 }, pat.ErrBadAgreement},
		"additional member":         {func(e *draft) { e.message["declared"] = map[string]any{} }, pat.ErrBadAgreement},
		"scope as text":             {func(e *draft) { e.message["scope"] = search }, pat.ErrBadAgreement},
		"scope with numbers":        {func(e *draft) { e.message["scope"] = []int{1} }, pat.ErrBadAgreement},
		"empty scope":               {func(e *draft) { e.message["scope"] = []string{} }, pat.ErrBadAgreement},
		"malformed scope entry":     {func(e *draft) { e.message["scope"] = []string{"no entry"} }, pat.ErrBadAgreement},
		"a duplicate member": {func(e *draft) {
			e.raw = `{"issuer":"shop.example","issuer":"shop.example","policy_digest":"x"}`
		}, pat.ErrBadAgreement},
		"not an object":                   {func(e *draft) { e.raw = `[]` }, pat.ErrBadAgreement},
		"not JSON":                        {func(e *draft) { e.raw = `agree` }, pat.ErrBadAgreement},
		"not base64":                      {func(e *draft) { e.envelope.Payload = "{}" }, pat.ErrBadAgreement},
		"message of another kind":         {func(e *draft) { e.envelope.SchemaDigest = protocol.Standard("UIMRenew").Digest }, pat.ErrBadAgreement},
		"never expires":                   {func(e *draft) { e.envelope.Expires = nil }, pat.ErrAgreementStale},
		"has expired":                     {func(e *draft) { e.envelope.Expires = at(0) }, pat.ErrAgreementStale},
		"expires in 15 minutes":           {func(e *draft) { e.envelope.Expires = at(15 * time.Minute) }, nil},
		"expires in more than 15 minutes": {func(e *draft) { e.envelope.Expires = at(15*time.Minute + time.Second) }, pat.ErrAgreementStale},
		"expires in a thousand years":     {func(e *draft) { e.envelope.Expires = at(290 * 365 * 24 * time.Hour) }, pat.ErrAgreementStale},
		"longer than 16 KiB":              {func(e *draft) { e.raw = `{"issuer":"` + strings.Repeat("x", 16<<10) + `"}` }, pat.ErrBadSignature},
	} {
		issued, err := w.issueEnvelope(t, w.envelope(t, alice, c.change))
		if !errors.Is(err, c.want) || (c.want == nil) != (issued.Token != "") {
			t.Errorf("%s: %v; want %v", name, err, c.want)
		}
	}
	good := must(envelope.Parse(w.envelope(t, alice)))
	anonymous, unsigned, other, changed := good, good, good, good
	anonymous.Sender = identity.NewUser([32]byte{1})
	unsigned.Signature = identity.Signature{}
	other.Sender = bob.Address()
	changed.Session = envelope.NewSession()
	for name, e := range map[string]envelope.Envelope{
		"address of a user": anonymous, "without signature": unsigned, "by another": other, "changed": changed,
	} {
		if _, err := w.issueEnvelope(t, must(json.Marshal(e))); !errors.Is(err, pat.ErrBadSignature) {
			t.Errorf("%s: %v, want %v", name, err, pat.ErrBadSignature)
		}
	}
	for _, text := range []string{"", "{}", "null", "[]", `{"version":1}`} {
		if _, err := w.issueEnvelope(t, []byte(text)); !errors.Is(err, pat.ErrBadSignature) {
			t.Errorf("%q: %v, want %v", text, err, pat.ErrBadSignature)
		}
	}
	nowhere := agreement.Evidence{Envelope: w.envelope(t, alice)}
	if _, err := w.issuer.Issue(t.Context(), pat.IssueRequest{Evidence: nowhere}); !errors.Is(err, pat.ErrAgreementMisdirected) {
		t.Errorf("no target: %v, want %v", err, pat.ErrAgreementMisdirected)
	}
	refused := errors.New("refused")
	request := agreement.Evidence{Envelope: w.envelope(t, alice), Target: string(target(t))}
	refusing := pat.IssueRequest{Evidence: request, Admit: func() error { return refused }}
	if _, err := w.issuer.Issue(t.Context(), refusing); !errors.Is(err, refused) {
		t.Errorf("not admitted: %v, want %v", err, refused)
	}
	if _, err := w.issuer.Issue(t.Context(), pat.IssueRequest{Evidence: request}); err != nil {
		t.Errorf("the refused agreement, once it is valid: %v", err)
	}
}

func TestEnvelopeWaitsForApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules.Admission = pat.AdmitApproval
	w.reissue(t)
	alice := seeded(t, "alice recovery password")
	raw := w.envelope(t, alice)
	first, err := w.issueEnvelope(t, raw)
	if err != nil || first.State != pat.AgreementPending || first.Token != "" {
		t.Fatalf("got %+v, %v; want no error, State %v and Token empty", first, err, pat.AgreementPending)
	}
	w.advance(t, time.Hour)
	if again, err := w.issueEnvelope(t, raw); err != nil || again.AgreementID != first.AgreementID || again.Token != "" {
		t.Errorf("got %+v, %v; want no error, AgreementID %v and Token empty", again, err, first.AgreementID)
	}
	if err := w.issuer.Approve(t.Context(), pat.AgentID(alice.Address())); err != nil {
		t.Fatal(err)
	}
	if issued, err := w.issueEnvelope(t, raw); err != nil || issued.Token == "" || issued.AgreementID != first.AgreementID {
		t.Errorf("got %+v, %v", issued, err)
	}
	if _, err := w.issueEnvelope(t, raw); !errors.Is(err, pat.ErrAgreementReplayed) {
		t.Errorf("a second PAT: %v, want %v", err, pat.ErrAgreementReplayed)
	}
}

// A secp256k1 key signs only envelopes, and its address cannot be the id of another agent.
func TestEnvelopeKeysSignOnlyEnvelopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice := seeded(t, "alice recovery password")
	key, ok := agreement.Key(string(alice.Address()))
	if !ok {
		t.Fatal("no key")
	}
	spki, point := key.SPKI(), alice.Address().Point()
	b64 := base64.RawURLEncoding.EncodeToString
	members := fmt.Sprintf(`{"crv":"secp256k1","kty":"EC","x":"%s","y":"%s"}`, b64(point[1:33]), b64(point[33:]))
	for name, public := range map[string]any{
		"SubjectPublicKeyInfo": base64.StdEncoding.EncodeToString(spki), "JWK": members,
		"compressed": base64.StdEncoding.EncodeToString(alice.Address().PublicKey()),
	} {
		if _, err := keys.ParseValue(public); !errors.Is(err, keys.ErrUnsupported) {
			t.Errorf("%s: %v, want %v", name, err, keys.ErrUnsupported)
		}
	}
	squatter := newEd()
	for _, r := range []pat.IssueRequest{
		w.fresh(t, string(alice.Address()), squatter), w.static(t, string(alice.Address()), squatter),
	} {
		if _, err := w.issuer.Issue(t.Context(), r); !errors.Is(err, pat.ErrAgentIDTaken) {
			t.Errorf("an address of another key: %v, want %v", err, pat.ErrAgentIDTaken)
		}
	}
	request := w.fresh(t, "other", squatter)
	request.SignedPolicy = string(w.envelope(t, alice))
	if _, err := w.issuer.Issue(t.Context(), request); !errors.Is(err, pat.ErrBadSignature) {
		t.Errorf("an envelope instead of a JWS: %v, want %v", err, pat.ErrBadSignature)
	}
	if _, err := w.issueEnvelope(t, w.envelope(t, alice)); err != nil {
		t.Errorf("the address with its own key: %v", err)
	}
	if _, err := w.issuer.Issue(t.Context(), w.fresh(t, string(alice.Address()), squatter)); !errors.Is(err, pat.ErrAgentIDTaken) {
		t.Errorf("an address of another key that has agreed: %v, want %v", err, pat.ErrAgentIDTaken)
	}
	if err := w.issuer.AddKey(t.Context(), pat.AgentID(alice.Address()), keyOf(t, squatter).Thumbprint()); err != nil {
		t.Fatal(err)
	}
	w.issue(t, w.fresh(t, string(alice.Address()), squatter))
	listed, bob := newEd(), string(seeded(t, "bob recovery password").Address())
	w.rules.Allow = []pat.Known{{AgentID: pat.AgentID(bob), KeyID: keyOf(t, listed).Thumbprint()}, {KeyID: keyOf(t, edKey()).Thumbprint()}}
	w.reissue(t)
	w.issue(t, w.fresh(t, bob, listed))
	if _, err := w.issuer.Issue(t.Context(), w.fresh(t, bob, edKey())); !errors.Is(err, pat.ErrAgentIDTaken) {
		t.Errorf("a key that is listed without an agent id: %v, want %v", err, pat.ErrAgentIDTaken)
	}
}

func TestEnvelopesOfOtherImplementations(t *testing.T) {
	t.Parallel()
	policy, err := os.ReadFile("testdata/uagents-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../bindings/uagents/agreement/testdata/envelope.json")
	if err != nil {
		t.Fatal(err)
	}
	read, err := agreement.Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	own, _ := agreement.Key(read.Agent)
	a := pat.Agreement{
		ID: "01994f6e-7f6c-7d2a-9b1e-0123456789ab", Service: service, Issuer: "shop.example", AgentID: pat.AgentID(read.Agent),
		KeyID: "SwArAfD6gpE1G1HzN7N_Lr8h18p7g9VUnpbERXzI66E", PublicKey: own.SPKI(),
		PolicyUID: policyUID, PolicyDigest: must(pat.PolicyDigest(policy)),
		Assurance: pat.Fresh, Form: "uagents-envelope", Signature: raw, Nonce: read.ID, State: pat.AgreementActive,
		CreatedAt: read.Expires.Add(-time.Minute),
	}
	document := pat.PolicyDocument{Service: service, Digest: a.PolicyDigest, UID: policyUID, Bytes: policy, FirstOffered: noon}
	bundle, err := pat.Export(a, document, forms())
	if err != nil {
		t.Fatal(err)
	}
	if e, err := pat.VerifyExport(bundle, forms()); err != nil || e.Agreement.AgentID != a.AgentID {
		t.Errorf("got %+v, %v; want no error and Agreement.AgentID %v", e, err, a.AgentID)
	}
	for name, at := range map[string]time.Time{
		"when it had expired": read.Expires, "more than a quarter before": read.Expires.Add(-15*time.Minute - time.Second),
	} {
		moved := a
		moved.CreatedAt = at
		if _, err := pat.Export(moved, document, forms()); !errors.Is(err, pat.ErrBadExport) {
			t.Errorf("made %s: %v, want %v", name, err, pat.ErrBadExport)
		}
	}
	bob := seeded(t, "bob recovery password").Address()
	for name, change := range map[string]func(*pat.Agreement){
		"another service":       func(a *pat.Agreement) { a.Issuer = "bank.example" },
		"another agent":         func(a *pat.Agreement) { a.AgentID = pat.AgentID(bob) },
		"an agent without key":  func(a *pat.Agreement) { a.AgentID = "alice" },
		"no key id":             func(a *pat.Agreement) { a.KeyID = "" },
		"another key":           func(a *pat.Agreement) { a.PublicKey = keys.AddressKey(string(bob), bob.Point()).SPKI() },
		"a key of another form": func(a *pat.Agreement) { a.PublicKey = keyOf(t, edKey()).SPKI() },
		"another form":          func(a *pat.Agreement) { a.Form = "jws-agreement" },
		"a nonce of upper case": func(a *pat.Agreement) { a.Nonce = strings.ToUpper(a.Nonce) },
		"the envelope changed": func(a *pat.Agreement) {
			a.Signature = bytes.Replace(a.Signature, []byte("1893456000"), []byte("1893456001"), 1)
		},
	} {
		changed := a
		change(&changed)
		if _, err := pat.Export(changed, document, forms()); !errors.Is(err, pat.ErrBadExport) {
			t.Errorf("%s: %v, want %v", name, err, pat.ErrBadExport)
		}
	}
}

// An agreement in a chat message can be verified later, and its form differs from that of a message with the issuer.
func TestChatMessageProvesAnAgreement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := fmt.Sprintf(`{"timestamp":"2026-01-02T03:04:05Z","msg_id":"6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f",`+
		`"content":[{"type":"text","text":"agree %s"}]}`, w.terms.offer.Digest)
	raw := w.envelope(t, seeded(t, "alice recovery password"), func(e *draft) {
		e.envelope.SchemaDigest, e.raw = protocol.Standard("ChatMessage").Digest, text
	})
	if _, err := w.issuer.Issue(t.Context(), pat.IssueRequest{Evidence: agreement.Evidence{Envelope: raw, Target: "agent1another"}}); !errors.Is(err,
		pat.ErrAgreementMisdirected) {
		t.Errorf("addressed to another agent: %v, want %v", err, pat.ErrAgreementMisdirected)
	}
	issued, err := w.issueEnvelope(t, raw)
	if err != nil {
		t.Fatal(err)
	}
	a := must(w.store.Agreement(t.Context(), service, issued.AgreementID))
	if a.Form != "uagents-chat" || a.Assurance != pat.Fresh {
		t.Errorf("got %+v", a)
	}
	document := pat.PolicyDocument{
		Service: service, Digest: a.PolicyDigest, UID: w.terms.offer.UID, Bytes: w.terms.offer.Bytes, FirstOffered: noon,
	}
	bundle, err := pat.Export(a, document, forms())
	if err != nil {
		t.Fatal(err)
	}
	if e, err := pat.VerifyExport(bundle, forms()); err != nil || e.Agreement.Form != "uagents-chat" {
		t.Errorf("got %+v, %v", e, err)
	}
	a.Form = "uagents-envelope"
	if _, err := pat.Export(a, document, forms()); !errors.Is(err, pat.ErrBadExport) {
		t.Errorf("with another form: %v, want %v", err, pat.ErrBadExport)
	}
}
