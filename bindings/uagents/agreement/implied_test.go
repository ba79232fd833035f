package agreement_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat"
)

// ownModel is the digest of a model of an operator.
var ownModel = envelope.ModelDigest("model:" + strings.Repeat("a", 64))

// calls returns a signed envelope with a message of a model, from the agent alice to itself.
func calls(tb testing.TB, model envelope.ModelDigest) ([]byte, identity.Address) {
	tb.Helper()
	key, err := identity.FromSeed("alice recovery password", 0)
	if err != nil {
		tb.Fatal(err)
	}
	e := envelope.Envelope{
		Target: key.Address(), Session: envelope.NewSession(), SchemaDigest: model, Payload: envelope.Pack([]byte(`{"wish": "lamp"}`)),
	}
	raw, err := json.Marshal(e.Sign(key))
	if err != nil {
		tb.Fatal(err)
	}
	return raw, key.Address()
}

func TestCall(t *testing.T) {
	t.Parallel()
	raw, alice := calls(t, ownModel)
	signer, accepted, err := agreement.Call{Envelope: raw, Target: string(alice), Model: ownModel}.Verify("shop.example", pat.Offer{})
	if err != nil || signer.ID != pat.AgentID(alice) || accepted.Assurance != pat.Implied || accepted.Form != "uagents-model" ||
		string(accepted.Signature) != string(raw) || accepted.Nonce != "" || accepted.Scope != nil || !accepted.Expires.IsZero() {
		t.Errorf("got %+v, %+v, %v", signer, accepted, err)
	}
	standard, _ := calls(t, protocol.Standard("UIMExecute").Digest)
	for name, row := range map[string]struct {
		call agreement.Call
		want error
	}{
		"another target":   {agreement.Call{Envelope: raw, Target: "agent1x", Model: ownModel}, pat.ErrAgreementMisdirected},
		"no target":        {agreement.Call{Envelope: raw, Model: ownModel}, pat.ErrAgreementMisdirected},
		"another model":    {agreement.Call{Envelope: raw, Target: string(alice), Model: "model:b"}, pat.ErrBadAgreement},
		"a standard model": {agreement.Call{Envelope: standard, Target: string(alice), Model: protocol.Standard("UIMExecute").Digest}, pat.ErrBadAgreement},
		"changed": {agreement.Call{
			Envelope: []byte(strings.Replace(string(raw), `"expires":null`, `"expires":1893456000`, 1)), Target: string(alice), Model: ownModel,
		}, pat.ErrBadSignature},
		"too long": {agreement.Call{
			Envelope: append(raw, strings.Repeat(" ", agreement.MaxBytes)...), Target: string(alice), Model: ownModel,
		}, pat.ErrBadSignature},
	} {
		if signer, _, err := row.call.Verify("shop.example", pat.Offer{}); !errors.Is(err, row.want) || signer.ID != "" {
			t.Errorf("%s: got %+v, %v; want %v", name, signer, err, row.want)
		}
	}
}

// TestExportOfCall exports an implied agreement, and checks that changed records of it are not proved.
func TestExportOfCall(t *testing.T) {
	t.Parallel()
	forms := []pat.Form{agreement.Form()}
	raw, alice := calls(t, ownModel)
	offer, err := pat.NewOffer([]byte(`{"uid": "https://shop.example/policy"}`), "https://shop.example/policy")
	if err != nil {
		t.Fatal(err)
	}
	key, _ := agreement.Key(string(alice))
	a := pat.Agreement{
		ID: "01a229b1-b97c-7078-b4a7-010dbeffed51", Service: "shop", Issuer: "shop.example", AgentID: pat.AgentID(alice), KeyID: key.Thumbprint(),
		PublicKey: key.SPKI(), PolicyUID: offer.UID, PolicyDigest: offer.Digest, Assurance: pat.Implied, Form: "uagents-model", Signature: raw,
		Scope: []string{"shop.example:search:v1:execute"}, State: pat.AgreementActive, CreatedAt: time.Unix(1, 0),
	}
	policy := pat.PolicyDocument{Service: "shop", Digest: offer.Digest, UID: offer.UID, Bytes: offer.Bytes, FirstOffered: time.Unix(0, 0)}
	bundle, err := pat.Export(a, policy, forms)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := pat.VerifyExport(bundle, forms); err != nil || e.Agreement.AgentID != a.AgentID || e.Agreement.Assurance != pat.Implied {
		t.Errorf("got %+v, %v", e.Agreement, err)
	}
	for name, change := range map[string]func(*pat.Agreement){
		"no scope":                    func(a *pat.Agreement) { a.Scope = nil },
		"as a fresh agreement":        func(a *pat.Agreement) { a.Assurance = pat.Fresh },
		"as an agreement by UIMAgree": func(a *pat.Agreement) { a.Form = "uagents-envelope" },
		"another agent":               func(a *pat.Agreement) { a.AgentID = "alice" },
		"a nonce":                     func(a *pat.Agreement) { a.Nonce = strings.Repeat("a", 64) },
		"a plan":                      func(a *pat.Agreement) { a.Plan = "pro" },
		"another envelope":            func(a *pat.Agreement) { a.Signature = signed(t) },
	} {
		changed := a
		change(&changed)
		if _, err := pat.Export(changed, policy, forms); !errors.Is(err, pat.ErrBadExport) {
			t.Errorf("%s: got %v; want %v", name, err, pat.ErrBadExport)
		}
	}
}

func FuzzCall(f *testing.F) {
	raw, alice := calls(f, ownModel)
	f.Add(raw)
	f.Add(signed(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		signer, accepted, err := agreement.Call{Envelope: raw, Target: string(alice), Model: ownModel}.Verify("shop.example", pat.Offer{})
		if err != nil {
			if signer.ID != "" || accepted.Form != "" {
				t.Errorf("got %+v, %+v, %v; want neither", signer, accepted, err)
			}
			return
		}
		if !agreement.IsAddress(string(signer.ID)) || accepted.Assurance != pat.Implied {
			t.Errorf("got %+v, %+v", signer, accepted)
		}
	})
}
