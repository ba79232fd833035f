package agent_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	vectorIssuer = "shop.example"
	vectorAgent  = "my-agent"
	vectorIssue  = "https://shop.example/api/pat/issue"
	vectorToken  = "example-pat-0001"
)

// signedVector signs the canonical forms of header and payload. The product must make the same bytes with SignJWS. Signatures of a key
// that is not repeatable are left out.
func signedVector(t *testing.T, k vectorKey, header, payload object) (jws string, vector object) {
	t.Helper()
	jws, err := keys.SignJWS(k, header, payload) // sets alg
	if err != nil {
		t.Fatal(err)
	}
	head, body := canonical(t, header), canonical(t, payload)
	b64 := base64.RawURLEncoding
	input := b64.EncodeToString([]byte(head)) + "." + b64.EncodeToString([]byte(body))
	if !strings.HasPrefix(jws, input+".") {
		t.Errorf("the product signs %s, not the canonical form", jws)
	}
	vector = object{"key": k.name, "header": head, "payload": body, "input": input}
	if k.repeatable {
		vector["jws"] = jws
	}
	return jws, vector
}

func offeredVector(t *testing.T) pat.Offer {
	t.Helper()
	offer, err := pat.NewOffer([]byte(vectorPolicy), "https://shop.example/policy/1")
	if err != nil {
		t.Fatal(err)
	}
	return offer
}

func agreementVectors(t *testing.T, signers map[string]vectorKey) []object {
	t.Helper()
	offer := offeredVector(t)
	digest, err := pat.PolicyDigest([]byte(vectorPolicy))
	if err != nil {
		t.Fatal(err)
	}
	var list []object
	add := func(k vectorKey, more object) {
		payload := object{
			"iss": vectorAgent, "aud": vectorIssuer, "htu": vectorIssue, "iat": vectorTime.Unix(), "jti": "example-agreement-0001",
			"policy": object{"uid": "https://shop.example/policy/1", "digest": digest},
		}
		maps.Copy(payload, more)
		jws, vector := signedVector(t, k, object{"typ": pat.TypeAgreement}, payload)
		key, err := keys.New(k.Public())
		if err != nil {
			t.Fatal(err)
		}
		_, err = pat.VerifyAgreement(pat.Presentation{AgentID: vectorAgent, Signed: jws, Key: key},
			pat.Recipient{Issuer: vectorIssuer, URLs: []string{vectorIssue}}, offer, nil, vectorTime)
		if err != nil {
			t.Errorf("the agreement with %s: %v", k.name, err)
		}
		vector["claims"] = payload
		list = append(list, vector)
	}
	for _, name := range acceptedKeys {
		add(signers[name], nil)
	}
	add(signers["ed25519"], object{"scope": []string{"shop.example:search-products:v1", "shop.example:place-order:v1"}})
	add(signers["ed25519"], object{"declared": object{"purpose": []string{"research"}, "spatial": []string{"DE"}}})
	return list
}

// provedVector makes a proof of key, and verifies it.
func provedVector(t *testing.T, k vectorKey, nonce, digest string) object {
	t.Helper()
	payload := object{"iat": vectorTime.Unix(), "jti": nonce, "aud": vectorIssuer, "pat": vectorToken, "digest": digest}
	jws, vector := signedVector(t, k, object{"typ": pat.TypeProof, "kid": k.thumbprint}, payload)
	key, err := keys.New(k.Public())
	if err != nil {
		t.Fatal(err)
	}
	binding := pat.ProofBinding{Audience: vectorIssuer, TokenID: vectorToken, Digest: digest}
	if _, err := pat.VerifyProof(jws, key, binding, vectorTime); err != nil {
		t.Errorf("the proof with %s: %v", k.name, err)
	}
	vector["claims"] = payload
	return vector
}

func proofVectors(t *testing.T, signers map[string]vectorKey) []object {
	t.Helper()
	parameters := map[string]any{"product_id": "desk-lamp", "quantity": json.Number("2.0"), "gift_note": "für Zoë"}
	digest, err := pat.ExecuteDigest("shop.example:place-order:v1", parameters)
	if err != nil {
		t.Fatal(err)
	}
	var list []object
	for _, name := range acceptedKeys {
		list = append(list, provedVector(t, signers[name], "example-proof-00001", digest))
	}
	return list
}

func renewalVectors(t *testing.T, signers map[string]vectorKey) []object {
	t.Helper()
	digest, err := pat.RenewDigest(vectorToken)
	if err != nil {
		t.Fatal(err)
	}
	var list []object
	for _, name := range acceptedKeys {
		vector := provedVector(t, signers[name], "example-renewal-0001", digest)
		vector["token_id"], vector["digest"], vector["canonical"] = vectorToken, digest, canonical(t, object{"renew": vectorToken})
		list = append(list, vector)
	}
	return list
}

// tokenVectors are responses to agreements and renewals under the policy of the vectors.
func tokenVectors(t *testing.T, k vectorKey) object {
	t.Helper()
	digest, err := pat.PolicyDigest([]byte(vectorPolicy))
	if err != nil {
		t.Fatal(err)
	}
	client, err := agent.New(agent.Options{Key: k, AgentID: vectorAgent, Now: func() time.Time { return vectorTime }})
	if err != nil {
		t.Fatal(err)
	}
	token := func(more object) string {
		claims := object{
			"iss": vectorIssuer, "aud": vectorIssuer, "sub": vectorAgent, "jti": vectorToken, "iat": vectorTime.Unix(), "exp": vectorTime.Unix() + 3600,
			"pol_digest": digest, "agr": "agr-1", "cnf": object{"jkt": k.thumbprint}, "scope": []string{"shop.example:place-order:v1:execute"},
		}
		maps.Copy(claims, more)
		b64 := base64.RawURLEncoding
		return b64.EncodeToString([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + b64.EncodeToString([]byte(canonical(t, claims))) + "." + b64.EncodeToString(make([]byte, 64))
	}
	var list []object
	for _, one := range []struct {
		name   string
		status int
		body   string
	}{
		{"a token", 200, canonical(t, object{
			"uim-pat": token(nil), "expires_at": "2026-11-21T13:00:00Z", "agreement_id": "agr-1", "scope": []string{"shop.example:place-order:v1:execute"},
			"scope_omitted": []object{{"entry": "shop.example:secret:v1:execute", "reason": "INSUFFICIENT_PERMISSIONS"}},
		})},
		{"a token that is valid later", 200, canonical(t, object{"uim-pat": token(object{"nbf": vectorTime.Unix() + 60}), "expires_at": "2026-11-21T13:00:00Z"})},
		{"an opaque token", 200, `{"uim-pat":"opaque","expires_at":"2026-11-21T13:00:00Z","agreement_id":"agr-1"}`},
		{"pending", 202, `{"status":"pending","agreement_id":"agr-2"}`},
		{"for another policy", 200, canonical(t, object{"uim-pat": token(object{"pol_digest": "sha-256:" + strings.Repeat("A", 43)})})},
		{"for another key", 200, canonical(t, object{"uim-pat": token(object{"cnf": object{"jkt": strings.Repeat("A", 43)}})})},
		{"a line break in the token", 200, `{"uim-pat":"a\r\nX-Injected: 1"}`},
		{"no token", 200, `{"expires_at":"2026-11-21T13:00:00Z"}`},
		{"not JSON", 200, `<!doctype html>`},
	} {
		session := agent.Session{Issuer: vectorIssuer, PolicyDigest: digest}
		session, err := agent.ReadPAT(client, session, fetch.Answer{Status: one.status, Body: []byte(one.body)})
		list = append(list, object{"name": one.name, "status": one.status, "body": one.body, "want": tokenWant(session, err)})
	}
	return object{"policy_digest": digest, "key": k.name, "answers": list}
}

// tokenWant returns what a client keeps of a response, or the kind of its error.
func tokenWant(s agent.Session, err error) object {
	if pending, ok := errors.AsType[*agent.PendingError](err); ok {
		return object{"error": "pending", "agreement_id": pending.AgreementID}
	}
	if changed, ok := errors.AsType[*agent.PolicyChangedError](err); ok {
		return object{"error": "policy_changed", "offered": changed.Offered}
	}
	if err != nil {
		return object{"error": "unusable"}
	}
	want := object{"token": s.Token(), "token_id": s.TokenID(), "agreement_id": s.AgreementID, "scope": s.Scope}
	for name, at := range map[string]time.Time{"expires_at": s.ExpiresAt, "not_before": s.NotBefore} {
		if !at.IsZero() {
			want[name] = at.Unix()
		}
	}
	var omitted []object
	for _, one := range s.ScopeOmitted {
		omitted = append(omitted, object{"entry": one.Entry, "reason": one.Reason})
	}
	if omitted != nil {
		want["scope_omitted"] = omitted
	}
	return want
}
