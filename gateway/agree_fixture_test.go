package gateway_test

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
	agreeAgents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:find:v1", "intent_name": "Find", "description": "Find.", "endpoint": {"url": "https://shop.example/find", "method": "GET"}},
    {"intent_uid": "shop.example:buy:v1", "intent_name": "Buy", "description": "Buy.", "endpoint": {"url": "https://shop.example/buy", "method": "POST"}},
    {"intent_uid": "shop.example:secret:v1", "intent_name": "Secret", "description": "Secret.", "endpoint": {"url": "https://shop.example/secret", "method": "POST"}}
  ]
}`
	agreePolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:find:v1", "action": "execute"},
    {"target": "shop.example:buy:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`
	finding = "shop.example:find:v1:execute"
	buying  = "shop.example:buy:v1:execute"
)

// An agreeTest calls the agree.Service of a gateway with a real store, and collects the events.
type agreeTest struct {
	*gatetest.Gate
	events []*agree.Event
	from   string
}

func newAgreeTest(t *testing.T, settings string) *agreeTest {
	t.Helper()
	return &agreeTest{Gate: gatetest.New(t,
		settings+"\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n", func(g *gatetest.Gate) {
			g.Write("agents.json", agreeAgents)
			g.Write("policy.json", agreePolicy)
		}), from: "192.0.2.1"}
}

func (d *agreeTest) service() *service.Service { return d.Directory.Current().Service("default") }

func (d *agreeTest) call() agree.Call {
	return agree.Call{Service: d.service(), From: d.from, Observe: func(e *agree.Event) { d.events = append(d.events, e) }}
}

// last returns the event of the last call.
func (d *agreeTest) last() *agree.Event {
	d.Helper()
	if len(d.events) == 0 {
		d.Fatal("no event was recorded")
	}
	return d.events[len(d.events)-1]
}

func (d *agreeTest) issue(r pat.IssueRequest) (pat.Issuance, error) {
	return d.Agreements.Issue(d.Context(), d.call(), func() (pat.IssueRequest, error) { return r, nil })
}

func (d *agreeTest) renew(token, proof string) (pat.Issuance, error) {
	return d.Agreements.Renew(d.Context(), d.call(), func() (pat.RenewRequest, error) {
		return pat.RenewRequest{Token: token, Proof: proof}, nil
	})
}

func (d *agreeTest) introspect(bearer, token string) (pat.Introspection, error) {
	return d.Agreements.Introspect(d.Context(), d.call(), bearer, func() (string, error) { return token, nil })
}

// claims returns the claims of a valid fresh agreement.
func (d *agreeTest) claims(id string) pat.AgreementClaims {
	offer := d.service().Offer()
	return pat.AgreementClaims{
		AgentID: pat.AgentID(id), Audience: d.service().Issuer, URL: d.service().At("/api/pat/issue"), IssuedAt: d.Now(),
		Nonce:     fmt.Sprintf("nonce-of-%s-%d", strings.Repeat("x", 16), len(d.events)),
		PolicyUID: offer.UID, PolicyDigest: offer.Digest,
	}
}

// fresh returns the request of a valid fresh agreement. Each edit changes the claims before they are signed.
func (d *agreeTest) fresh(a *gatetest.Agent, edit ...func(*pat.AgreementClaims)) pat.IssueRequest {
	d.Helper()
	c := d.claims(string(a.ID))
	for _, e := range edit {
		e(&c)
	}
	signed, err := pat.SignAgreement(a.Key, c)
	d.Must(err)
	return pat.IssueRequest{AgentID: string(a.ID), SignedPolicy: signed, PublicKey: a.PublicKey}
}

// static returns the request of a static agreement: a signature over the bytes of the policy.
func (d *agreeTest) static(a *gatetest.Agent) pat.IssueRequest {
	d.Helper()
	return pat.IssueRequest{
		AgentID: string(a.ID), PublicKey: a.PublicKey,
		SignedPolicy: base64.StdEncoding.EncodeToString(ed25519.Sign(a.Key, d.service().Offer().Bytes)),
	}
}

// agreed returns an agent with a PAT under a fresh agreement.
func (d *agreeTest) agreed(id string) *gatetest.Agent {
	d.Helper()
	a := d.Unapproved(id)
	return d.withPAT(a, d.fresh(a))
}

// staticallyAgreed returns an agent with a PAT under a static agreement.
func (d *agreeTest) staticallyAgreed(id string) *gatetest.Agent {
	d.Helper()
	a := d.Unapproved(id)
	return d.withPAT(a, d.static(a))
}

// withPAT gives an agent the PAT of an agreement, and returns the agent.
func (d *agreeTest) withPAT(a *gatetest.Agent, r pat.IssueRequest) *gatetest.Agent {
	d.Helper()
	issued, err := d.issue(r)
	d.Must(err)
	a.Token = issued.Token
	return a
}

// proof signs the renewal of an agent's PAT.
func (d *agreeTest) proof(a *gatetest.Agent) string {
	d.Helper()
	return d.proofOf(a, jwt.MapClaims{"jti": rand.Text()})
}

// proofOf signs the renewal of an agent's PAT. The claims in own replace the defaults.
func (d *agreeTest) proofOf(a *gatetest.Agent, own jwt.MapClaims) string {
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

// revoke revokes the subject and advances the clock by a second.
func (d *agreeTest) revoke(kind pat.RevocationKind, subject string) {
	d.Helper()
	d.Must(d.service().Issuance.Revoke(d.Context(), pat.Revocation{Kind: kind, Subject: subject, Reason: "test"}))
	d.Pass(time.Second)
}

// refusalOf returns the Refusal that err wraps.
func refusalOf(t *testing.T, err error) *reason.Refusal {
	t.Helper()
	f, ok := errors.AsType[*reason.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a *reason.Refusal", err)
	}
	return f
}
