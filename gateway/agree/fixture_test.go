package agree_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

const (
	deskAgents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:find:v1", "intent_name": "Find", "description": "Find.", "endpoint": {"url": "https://shop.example/find", "method": "GET"}},
    {"intent_uid": "shop.example:buy:v1", "intent_name": "Buy", "description": "Buy.", "endpoint": {"url": "https://shop.example/buy", "method": "POST"}},
    {"intent_uid": "shop.example:secret:v1", "intent_name": "Secret", "description": "Secret.", "endpoint": {"url": "https://shop.example/secret", "method": "POST"}}
  ]
}`
	deskPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:find:v1", "action": "execute"},
    {"target": "shop.example:buy:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`
	find = "shop.example:find:v1:execute"
	buy  = "shop.example:buy:v1:execute"
)

// A desk is a Desk of a service, with a real store.
type desk struct {
	*gatetest.Gate
	events []*agree.Event
	from   string
}

func newDesk(t *testing.T, settings string) *desk {
	t.Helper()
	return &desk{Gate: gatetest.New(t,
		settings+"\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n", func(g *gatetest.Gate) {
			g.Write("agents.json", deskAgents)
			g.Write("policy.json", deskPolicy)
		}), from: "192.0.2.1"}
}

func (d *desk) service() *service.Service { return d.Directory.Current().Service("default") }

func (d *desk) call() agree.Call {
	return agree.Call{Service: d.service(), From: d.from, Observe: func(e *agree.Event) { d.events = append(d.events, e) }}
}

// last is what was recorded of the last call.
func (d *desk) last() *agree.Event {
	d.Helper()
	if len(d.events) == 0 {
		d.Fatal("no event was recorded")
	}
	return d.events[len(d.events)-1]
}

func (d *desk) issue(r pat.IssueRequest) (pat.Issuance, error) {
	return d.Agreements.Issue(d.Context(), d.call(), func() (pat.IssueRequest, error) { return r, nil })
}

func (d *desk) renew(token, proof string) (pat.Issuance, error) {
	return d.Agreements.Renew(d.Context(), d.call(), func() (pat.RenewRequest, error) {
		return pat.RenewRequest{Token: token, Proof: proof}, nil
	})
}

func (d *desk) introspect(bearer, token string) (pat.Introspection, error) {
	return d.Agreements.Introspect(d.Context(), d.call(), bearer, func() (string, error) { return token, nil })
}

// claims are those of a fresh agreement that is accepted.
func (d *desk) claims(id string) pat.AgreementClaims {
	offer := d.service().Offer()
	return pat.AgreementClaims{
		AgentID: pat.AgentID(id), Audience: d.service().Issuer, URL: d.service().At("/api/pat/issue"), IssuedAt: d.Now(),
		Nonce:     fmt.Sprintf("nonce-of-%s-%d", strings.Repeat("x", 16), len(d.events)),
		PolicyUID: offer.UID, PolicyDigest: offer.Digest,
	}
}

// fresh is an agreement that is accepted.
func (d *desk) fresh(a *gatetest.Agent, edit ...func(*pat.AgreementClaims)) pat.IssueRequest {
	d.Helper()
	c := d.claims(string(a.ID))
	for _, e := range edit {
		e(&c)
	}
	signed, err := pat.SignAgreement(a.Key, c)
	d.Must(err)
	return pat.IssueRequest{AgentID: string(a.ID), SignedPolicy: signed, PublicKey: a.PublicKey}
}

// static is an agreement that signs the bare policy.
func (d *desk) static(a *gatetest.Agent) pat.IssueRequest {
	d.Helper()
	return pat.IssueRequest{
		AgentID: string(a.ID), PublicKey: a.PublicKey,
		SignedPolicy: base64.StdEncoding.EncodeToString(ed25519.Sign(a.Key, d.service().Offer().Bytes)),
	}
}

// agreed is an agent with a PAT.
func (d *desk) agreed(id string) *gatetest.Agent {
	d.Helper()
	a := d.Unapproved(id)
	issued, err := d.issue(d.fresh(a))
	d.Must(err)
	a.Token = issued.Token
	return a
}

// contained is an agent with a PAT under a static agreement.
func (d *desk) contained(id string) *gatetest.Agent {
	d.Helper()
	a := d.Unapproved(id)
	issued, err := d.issue(d.static(a))
	d.Must(err)
	a.Token = issued.Token
	return a
}

// proof signs the renewal of an agent's PAT.
func (d *desk) proof(a *gatetest.Agent) string {
	d.Helper()
	return d.proofOf(a, jwt.MapClaims{"jti": rand.Text()})
}

// proofOf signs the renewal of an agent's PAT with claims of the proof's own.
func (d *desk) proofOf(a *gatetest.Agent, own jwt.MapClaims) string {
	d.Helper()
	jti := d.TokenID(a)
	digest, err := pat.RenewDigest(jti)
	d.Must(err)
	claims := jwt.MapClaims{"iat": d.Now().Unix(), "aud": d.service().Issuer, "pat": jti, "digest": digest}
	maps.Copy(claims, own)
	proof := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	proof.Header["typ"], proof.Header["kid"] = pat.TypeProof, a.KeyID
	text, err := proof.SignedString(a.Key)
	d.Must(err)
	return text
}

// revoke ends what subject names.
func (d *desk) revoke(kind pat.RevocationKind, subject string) {
	d.Helper()
	d.Must(d.service().Issuance.Revoke(d.Context(), pat.Revocation{Kind: kind, Subject: subject, Reason: "test"}))
	d.Pass(time.Second)
}

// refused is the Refusal of an error.
func refused(t *testing.T, err error) *reason.Refusal {
	t.Helper()
	f, ok := errors.AsType[*reason.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a *reason.Refusal", err)
	}
	return f
}
