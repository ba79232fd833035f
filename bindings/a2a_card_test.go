package bindings_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat/keys"
)

const cardPath = "/.well-known/agent-card.json"

// get requests a document. header has pairs of names and values.
func get(g *gatetest.Gate, path string, header ...string) gatetest.Answer {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), http.MethodGet, g.URL+path, nil)
	g.Must(err)
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	return g.Send(r)
}

// signerOf returns the id of the key that made a signature of a card.
func signerOf(g *gatetest.Gate, signature map[string]string) keys.ID {
	g.Helper()
	var header struct {
		KeyID keys.ID `json:"kid"`
	}
	text, err := base64.RawURLEncoding.DecodeString(signature["protected"])
	g.Must(err)
	g.Must(json.Unmarshal(text, &header))
	return header.KeyID
}

// cardOf decodes a card and its signatures.
func cardOf(g *gatetest.Gate, body []byte) (card strictjson.Object, signatures []map[string]string) {
	g.Helper()
	card, err := strictjson.DecodeObject(body)
	g.Must(err)
	text, err := strictjson.Append(nil, card["signatures"])
	g.Must(err)
	g.Must(json.Unmarshal(text, &signatures))
	return card, signatures
}

func TestCardHasTwoSignatures(t *testing.T) {
	g := gatetest.New(t, "")
	answer := get(g, cardPath)
	card, signatures := cardOf(g, answer.Body)
	if canonical, err := strictjson.Canonical(card); err != nil || string(canonical) != string(answer.Body) {
		t.Errorf("the card is not in the canonical form of RFC 8785: %v", err)
	}
	delete(card, "signatures")
	payload, err := strictjson.Canonical(card)
	g.Must(err)
	if !plain(card) {
		t.Errorf("a member of the card has its default value, so readers may verify another payload: %s", payload)
	}
	var algorithms []string
	for _, s := range signatures {
		algorithms = append(algorithms, verifiedBy(g, s, payload))
	}
	if !slices.Equal(algorithms, []string{"EdDSA", "ES256"}) {
		t.Errorf("signed by %v, want %+v", algorithms, []string{"EdDSA", "ES256"})
	}
}

// plain reports whether no text, list or object is empty. Some readers omit empty values from the signed payload.
func plain(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(item any) bool { return !plain(item) })
	case map[string]any:
		for _, member := range v {
			if !plain(member) {
				return false
			}
		}
		return len(v) > 0
	}
	return v != nil
}

// verifiedBy verifies one signature with the published key that it names, and returns its algorithm. See RFC 7515.
func verifiedBy(g *gatetest.Gate, s map[string]string, payload []byte) string {
	g.Helper()
	var header struct{ Alg, Kid, Typ, Jku string }
	text, err := base64.RawURLEncoding.DecodeString(s["protected"])
	g.Must(err)
	g.Must(json.Unmarshal(text, &header))
	if header.Typ != "JOSE" || header.Jku != "http://127.0.0.1:8080/.well-known/jwks.json" {
		g.Errorf("got %+v; want Typ %q and Jku %q", header, "JOSE", "http://127.0.0.1:8080/.well-known/jwks.json")
	}
	var set struct{ Keys []json.RawMessage }
	g.Must(json.Unmarshal(get(g, "/.well-known/jwks.json").Body, &set))
	signature, err := base64.RawURLEncoding.DecodeString(s["signature"])
	g.Must(err)
	input := []byte(s["protected"] + "." + base64.RawURLEncoding.EncodeToString(payload))
	for _, jwk := range set.Keys {
		key, err := keys.ParseJWK(jwk)
		g.Must(err)
		if string(key.Thumbprint()) != header.Kid {
			continue
		}
		switch public := key.Public().(type) {
		case ed25519.PublicKey:
			if ed25519.Verify(public, input, signature) {
				return header.Alg
			}
		case *ecdsa.PublicKey:
			sum := sha256.Sum256(input)
			if ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
				return header.Alg
			}
		}
	}
	return "nobody"
}

func TestCardFollowsCatalogue(t *testing.T) {
	g := gatetest.New(t, "")
	first := get(g, cardPath)
	etag := first.Header.Get("Etag")
	if first.Status != http.StatusOK || etag == "" || first.Header.Get("Cache-Control") != "public, max-age=60" ||
		first.Header.Get("Access-Control-Allow-Origin") != "*" || first.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %v", first.Status, first.Header)
	}
	if again := get(g, cardPath, "If-None-Match", `"x", W/`+etag); again.Status != http.StatusNotModified || len(again.Body) > 0 {
		t.Errorf("%d with %d bytes", again.Status, len(again.Body))
	}
	elsewhere := get(g, cardPath, "X-Forwarded-Host", "evil.example")
	if string(elsewhere.Body) != string(first.Body) {
		t.Errorf("another host has another card: %s", elsewhere.Body)
	}
	g.Refuses(get(g, cardPath, "Host", "evil.example"), http.StatusForbidden, "ORIGIN_NOT_ALLOWED")
	g.Write("agents.json", strings.Replace(gatetest.AgentsFile, "Search.", "Search well.", 1))
	g.Reload()
	after := get(g, cardPath, "If-None-Match", etag)
	if after.Status != http.StatusOK || after.Header.Get("Etag") == etag || !strings.Contains(string(after.Body), "Search well.") {
		t.Errorf("got %d %s", after.Status, after.Body)
	}
	_, signatures := cardOf(g, after.Body)
	g.Must(g.Keys.Retire(t.Context(), signerOf(g, signatures[0]), g.Now()))
	card, renewed := cardOf(g, get(g, cardPath).Body)
	if renewed[0]["protected"] == signatures[0]["protected"] {
		t.Error("a retired key still signs the card")
	}
	delete(card, "signatures")
	payload, err := strictjson.Canonical(card)
	g.Must(err)
	if by := verifiedBy(g, renewed[0], payload); by != "EdDSA" {
		t.Errorf("signed by %s, want %q", by, "EdDSA")
	}
}

func TestCardDescribesService(t *testing.T) {
	g := gatetest.New(t, "", func(g *gatetest.Gate) { g.Write("agents.json", agents) })
	card, _ := cardOf(g, get(g, cardPath).Body)
	for pointer, want := range map[string]any{
		"/name": "shop.example", "/description": "A shop", "/provider/url": "https://shop.example",
		"/supportedInterfaces/0/url":             "http://127.0.0.1:8080/a2a",
		"/supportedInterfaces/0/protocolBinding": "JSONRPC", "/supportedInterfaces/1/protocolBinding": "HTTP+JSON",
		"/supportedInterfaces/1/url": "http://127.0.0.1:8080/a2a/v1", "/supportedInterfaces/1/protocolVersion": "1.0",
		"/capabilities/streaming": true, "/capabilities/pushNotifications": false, "/capabilities/extendedAgentCard": false,
		"/skills/1/id": "shop.example:order:v1", "/skills/1/tags/0": "shop", "/skills/0/tags/0": "uim",
		"/skills/1/examples/0": `{"intent_uid":"shop.example:order:v1","parameters":{"product":"text"}}`,
		"/capabilities/extensions/0/params/schemas/shop.example:order:v1/input/properties/product/type": "string",
		"/capabilities/extensions/0/params/pat_issue":                                                   "http://127.0.0.1:8080/api/pat/issue",
		"/securitySchemes/pat/httpAuthSecurityScheme/scheme":                                            "Bearer",
		"/securitySchemes/oauth/oauth2SecurityScheme/flows/authorizationCode/authorizationUrl":          "http://127.0.0.1:8080/oauth/authorize",
		"/securitySchemes/oauth/oauth2SecurityScheme/flows/authorizationCode/pkceRequired":              true,
		"/securitySchemes/oauth/oauth2SecurityScheme/oauth2MetadataUrl":                                 "http://127.0.0.1:8080/.well-known/oauth-authorization-server",
	} {
		if got, _ := strictjson.Lookup(card, pointer); got != want {
			t.Errorf("%s is %v, not %v", pointer, got, want)
		}
	}
	if tags, _ := strictjson.Lookup(card, "/skills/1/tags"); len(tags.([]any)) != 1 { //nolint:forcetypeassert // the table has looked
		t.Errorf("tags %v", tags)
	}
	var file map[string]any
	g.Must(json.Unmarshal(get(g, "/agents.json").Body, &file))
	const at = "http://127.0.0.1:8080/a2a"
	if got, _ := strictjson.Lookup(file, "/service-info/uim-a2a"); got != at && file["uim-a2a"] != at {
		t.Errorf("agents.json does not name the door: %v", file)
	}
}

func TestCardWithoutIntentsAndClosedDoor(t *testing.T) {
	const plainly = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n"
	g := gatetest.New(t, plainly, func(g *gatetest.Gate) {
		g.Write("agents.json", `{"service-info": {"name": "shop.example"}, "intents": [
			{"intent_uid": "shop.example:search:v1", "intent_name": "Search", "description": "Gone.", "retired": true},
			{"intent_uid": "shop.example:order:v1", "intent_name": "Order", "description": "Gone.", "retired": true}]}`)
	})
	card, _ := cardOf(g, get(g, cardPath).Body)
	if id, _ := strictjson.Lookup(card, "/skills/0/id"); id != "describe" || !plain(card) {
		t.Errorf("got %v", card)
	}
	shut := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+
		gatetest.Unproved+", doors: {a2a: {enabled: false}}}\n")
	for _, path := range []string{cardPath, "/a2a", "/a2a/v1/tasks"} {
		if answer := get(shut, path); answer.Status != http.StatusNotFound {
			t.Errorf("%s: %d, want %d", path, answer.Status, http.StatusNotFound)
		}
	}
}
