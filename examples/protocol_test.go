package examples_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/examples/shop/shopapi"
	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

var workedBlock = regexp.MustCompile("(?ms)^```(?:json|text) ([a-z-]+)\n(.*?)\n```$")

// worked returns the named blocks of the worked example in docs/protocols/uim.md.
func worked(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/protocols/uim.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range workedBlock.FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] = m[2]
	}
	return blocks
}

var b64 = base64.RawURLEncoding

// compacted returns a document without the white space between its members.
func compacted(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func canonicalOf(t *testing.T, text string) string {
	t.Helper()
	tree, err := strictjson.DecodeObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := strictjson.Canonical(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return b64.EncodeToString(sum[:])
}

// TestWorkedExampleOfTheProtocol computes each value of the page from the values before it.
func TestWorkedExampleOfTheProtocol(t *testing.T) {
	w := worked(t)
	key := workedKey(t, w["key"])
	public, err := keys.New(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	signed := func(header, payload string) string {
		input := b64.EncodeToString([]byte(compacted(t, w[header]))) + "." + b64.EncodeToString([]byte(compacted(t, w[payload])))
		return input + "." + b64.EncodeToString(ed25519.Sign(key, []byte(input)))
	}
	for name, want := range map[string]string{
		"thumbprint":       string(public.Thumbprint()),
		"public-key":       base64.StdEncoding.EncodeToString(public.SPKI()),
		"policy-canonical": canonicalOf(t, w["policy"]),
		"policy-digest":    "sha-256:" + digestOf(w["policy-canonical"]),
		"agreement":        signed("agreement-header", "agreement-payload"),
		"call-canonical":   canonicalOf(t, w["call"]),
		"call-digest":      digestOf(w["call-canonical"]),
		"proof":            signed("proof-header", "proof-payload"),
		"renew-digest":     digestOf(`{"renew":"example-pat-0001"}`),
		"detached":         b64.EncodeToString(ed25519.Sign(key, []byte(w["policy-canonical"]))),
	} {
		if w[name] != want {
			t.Errorf("%s: the page has\n%s\nwant\n%s", name, w[name], want)
		}
	}
	for name, digest := range map[string]string{"agreement-payload": "policy-digest", "proof-payload": "call-digest"} {
		if !strings.Contains(w[name], `"`+w[digest]+`"`) {
			t.Errorf("%s does not name %s, %s", name, digest, w[digest])
		}
	}
}

// TestGatewayAcceptsTheWorkedExample sends the exact bytes of the page to a gateway with the name and the time of the page.
func TestGatewayAcceptsTheWorkedExample(t *testing.T) {
	w := worked(t)
	agents, err := os.ReadFile("shop/agents.json")
	if err != nil {
		t.Fatal(err)
	}
	const settings = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " +
		"public_url: 'https://shop.example'}\n"
	g := gatetest.New(t, settings, func(g *gatetest.Gate) {
		g.Write("agents.json", string(agents))
		g.Write("policy.json", w["policy"])
	})
	if etag := g.Get("/api/policy").Header.Get("ETag"); etag != `"`+w["policy-digest"]+`"` {
		t.Errorf("the ETag is %s, the digest %s", etag, w["policy-digest"])
	}
	for form, scope := range map[string]int{"agreement": 2, "detached": 1} { // a static agreement does not include intents that charge
		a := g.Call("/api/pat/issue", "", map[string]any{
			"agent_id": "my-agent", "agent_public_key": w["public-key"], "signed_policy": w[form],
		})
		var got struct {
			Scope []string `json:"scope"`
		}
		if g.Must(json.Unmarshal(a.Body, &got)); a.Status != http.StatusOK || len(got.Scope) != scope {
			t.Errorf("%s: %d %s", form, a.Status, a.Body)
		}
	}
	key, err := keys.New(workedKey(t, w["key"]).Public())
	g.Must(err)
	call, err := strictjson.DecodeObject([]byte(w["call"]))
	g.Must(err)
	parameters, _ := strictjson.AsObject(call["parameters"])
	uid, _ := call["intent_uid"].(string)
	digest, err := pat.ExecuteDigest(uid, parameters)
	g.Must(err)
	binding := pat.ProofBinding{Audience: "shop.example", TokenID: "example-pat-0001", Digest: digest}
	if _, err := pat.VerifyProof(w["proof"], key, binding, g.Now()); err != nil {
		t.Errorf("the proof: %v", err)
	}
	if digest, err := pat.RenewDigest("example-pat-0001"); err != nil || digest != w["renew-digest"] {
		t.Errorf("the digest of a renewal is %s: %v; want %v, nil", digest, err, w["renew-digest"])
	}
}

// TestShopAcceptsTheWorkedCall sends the call of the page, as it is printed, through a gateway to the shop.
func TestShopAcceptsTheWorkedCall(t *testing.T) {
	w := worked(t)
	agents, err := os.ReadFile("shop/agents.json")
	if err != nil {
		t.Fatal(err)
	}
	shop, err := shopapi.New(shopapi.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	behind := httptest.NewServer(shop)
	t.Cleanup(behind.Close)
	settings := "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: '" + behind.URL + "'}, " +
		"public_url: 'https://shop.example'}\n"
	g := gatetest.New(t, settings, func(g *gatetest.Gate) {
		g.Write("agents.json", string(agents))
		g.Write("policy.json", w["policy"])
	})
	a := g.Agreed("my-agent")
	proof, err := pat.SignProof(a.Key, pat.ProofBinding{
		Audience: "shop.example", TokenID: g.TokenID(a), Digest: w["call-digest"],
	}, g.Now())
	g.Must(err)
	answer := g.Call("/api/intents/execute", a.Token, json.RawMessage(w["call"]), "UIM-Proof", proof, "Idempotency-Key", "order-1")
	if answer.Status != http.StatusOK || !strings.Contains(answer.Header.Get("UIM-Charge"), "0.05 EUR") {
		t.Errorf("got %d %s %v", answer.Status, answer.Body, answer.Header)
	}
}

func workedKey(t *testing.T, jwk string) ed25519.PrivateKey {
	t.Helper()
	var k struct {
		D string `json:"d"`
	}
	err := json.Unmarshal([]byte(jwk), &k)
	seed, errSeed := b64.DecodeString(k.D)
	if err != nil || errSeed != nil || len(seed) != ed25519.SeedSize {
		t.Fatal(err, errSeed, len(seed))
	}
	return ed25519.NewKeyFromSeed(seed)
}
