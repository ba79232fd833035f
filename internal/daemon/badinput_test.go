package daemon_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/pat"
)

// An invalid call gets one clear error, and nothing is forwarded, counted or charged.
func TestBadCalls(t *testing.T) {
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	ok := `{"intent_uid":"` + search + `","parameters":{"query":"lamp"}}`
	call := func(parameters string) string {
		return `{"intent_uid":"` + search + `","parameters":` + parameters + `}`
	}
	for _, tt := range []struct {
		name, body string
		header     header
		status     int
		reason     string
		contains   string
	}{
		{name: "truncated JSON", body: ok[:len(ok)-3], status: 400, reason: "MALFORMED_REQUEST", contains: "ends too early"},
		{name: "empty body", body: "", status: 400, reason: "MALFORMED_REQUEST"},
		{
			name: "duplicate keys", body: `{"intent_uid":"` + search + `","intent_uid":"` + order + `","parameters":{}}`, status: 400,
			reason: "MALFORMED_REQUEST", contains: "twice",
		},
		{
			name: "wrong-case member", body: `{"Intent_UID":"` + search + `","parameters":{"query":"lamp"}}`, status: 400,
			reason: "MALFORMED_REQUEST", contains: "intent_uid",
		},
		{
			name: "unknown member", body: `{"intent_uid":"` + search + `","params":{"query":"lamp"}}`, status: 400, reason: "MALFORMED_REQUEST",
			contains: "parameters",
		},
		{
			name: "nested 10,000 deep", body: call(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)), status: 400,
			reason: "MALFORMED_REQUEST", contains: "nested",
		},
		{name: "an array", body: `[` + ok + `]`, status: 400, reason: "MALFORMED_REQUEST"},
		{name: "trailing bytes", body: ok + ok, status: 400, reason: "MALFORMED_REQUEST"},
		{name: "wrong content type", body: ok, header: header{"Content-Type": "text/plain"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "no content type", body: ok, header: header{"Content-Type": ""}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{
			name: "other charset", body: ok, header: header{"Content-Type": "application/json; charset=latin1"}, status: 415,
			reason: "UNSUPPORTED_MEDIA_TYPE",
		},
		{name: "compressed", body: ok, header: header{"Content-Encoding": "gzip"}, status: 415, reason: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "too large", body: call(`{"query":"` + strings.Repeat("x", 1<<20) + `"}`), status: 413, reason: "BODY_TOO_LARGE"},
		{name: "wrong type", body: call(`{"query":7}`), status: 400, reason: "INVALID_PARAMETER", contains: "/query"},
		{name: "missing", body: call(`{}`), status: 400, reason: "MISSING_PARAMETER", contains: "/query"},
		{
			name: "unknown parameter", body: call(`{"query":"lamp","qery":"x"}`), status: 400, reason: "UNKNOWN_PARAMETER",
			contains: `"nearest":"query"`,
		},
		{name: "too short", body: call(`{"query":"x"}`), status: 400, reason: "PARAMETER_TOO_SHORT", contains: `"limit":2`},
		{
			name: "too long", body: call(`{"query":"` + strings.Repeat("x", 101) + `"}`), status: 400, reason: "PARAMETER_TOO_LONG",
			contains: `"limit":100`,
		},
		{name: "out of range", body: call(`{"query":"lamp","max_price":-1}`), status: 400, reason: "PARAMETER_OUT_OF_RANGE"},
		{name: "not in the enum", body: call(`{"query":"lamp","category":"car"}`), status: 400, reason: "INVALID_ENUM_VALUE"},
		{name: "wrong format", body: call(`{"query":"lamp","since":"yesterday"}`), status: 400, reason: "INVALID_FORMAT"},
		{
			name: "everything wrong at once", body: call(`{"query":"x","category":"car","page":0}`), status: 400, reason: "PARAMETER_TOO_SHORT",
			contains: "/page",
		},
		{name: "NUL", body: call(`{"query":"la\u0000mp"}`), status: 400, reason: "MALFORMED_REQUEST"},
		{name: "invalid UTF-8", body: call("{\"query\":\"la\xffmp\"}"), status: 400, reason: "MALFORMED_REQUEST", contains: "UTF-8"},
		{name: "parameters that are not an object", body: call(`[]`), status: 400, reason: "MALFORMED_REQUEST"},
		{
			name: "unknown intent", body: `{"intent_uid":"shop.example:serch-products:v1","parameters":{}}`, status: 404, reason: "INTENT_NOT_FOUND",
			contains: search,
		},
		{name: "no uid", body: `{"intent_uid":"../../etc","parameters":{}}`, status: 404, reason: "INTENT_NOT_FOUND"},
		{
			name: "another version", body: `{"intent_uid":"shop.example:search-products:v2","parameters":{}}`, status: 400,
			reason: "VERSION_CONFLICT", contains: search,
		},
		{
			name: "deprecated intent", body: `{"intent_uid":"shop.example:old-search:v1","parameters":{}}`, status: 410, reason: "INTENT_DEPRECATED",
			contains: search,
		},
		{
			name: "path parameter that climbs", body: `{"intent_uid":"` + details + `","parameters":{"id":".."}}`, status: 400,
			reason: "INVALID_PARAMETER", contains: "/id",
		},
		{
			name: "path parameter with a slash", body: `{"intent_uid":"` + details + `","parameters":{"id":"a/b"}}`, status: 400,
			reason: "INVALID_PARAMETER", contains: "/id",
		},
		{name: "malformed idempotency key", body: ok, header: header{"Idempotency-Key": "two words"}, status: 400, reason: "MALFORMED_REQUEST"},
		{name: "malformed proof", body: ok, header: header{"UIM-Proof": "x.y.z"}, status: 403, reason: "POLICY_REQUIRES_VERIFICATION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := a.executeBody([]byte(tt.body), tt.header)
			if got.status != tt.status || got.reason(t) != tt.reason || !strings.Contains(string(got.body), tt.contains) {
				t.Errorf("%d %s; want %d, %s, %q", got.status, got.body, tt.status, tt.reason, tt.contains)
			}
			if strings.Contains(string(got.body), g.upstream.server.URL) || strings.Contains(string(got.body), g.dir) {
				t.Error("the response reveals the upstream")
			}
		})
	}
	if n := len(g.upstream.calls()); n != 0 {
		t.Errorf("%d calls reached the upstream, want 0", n)
	}
	if got := a.executeBody([]byte(ok), nil); left(got, "hour") != 999 {
		t.Errorf("refused calls were counted: %d %s", got.status, got.header.Get("RateLimit"))
	}
}

// A body of 100 MB is refused by its declared length, or after the first megabyte.
func TestHugeBodiesAreNotRead(t *testing.T) {
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/api/intents/execute", io.LimitReader(zeros{}, 100<<20))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+a.token)
	response, err := client.Do(r)
	if err != nil { // the gateway may close before all is written
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d, want %d", response.StatusCode, http.StatusRequestEntityTooLarge)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestEveryPathUsesTheErrorEnvelope(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/nowhere", 404},
		{"DELETE", "/agents.json", 405},
		{"GET", "/api/intents/execute", 405},
		{"PUT", "/api/pat/issue", 405},
		{"GET", "/api/intents/nonsense", 404},
		{"GET", "/api/intents/search?page=0", 400},
		{"POST", "/api/intents/execute", 401},
		{"POST", "/api/pat/renew", 401},
		{"POST", "/api/pat/issue", 415},
	} {
		got := g.do(tt.method, tt.path, nil, nil)
		if got.status != tt.status || got.reason(t) == "" {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, got.status, got.body)
		}
	}
}

// PATs that must be rejected, each with only one fault.
func TestBadTokens(t *testing.T) {
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	good := payload(t, a.token)
	_, foreign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var keys struct{ Keys []struct{ X, Kid string } }
	if err := json.Unmarshal(g.do("GET", "/.well-known/jwks.json", nil, nil).body, &keys); err != nil || len(keys.Keys) == 0 {
		t.Fatalf("no keys: %v", err)
	}
	ours, err := base64.RawURLEncoding.DecodeString(keys.Keys[0].X)
	if err != nil {
		t.Fatal(err)
	}
	forge := func(method jwt.SigningMethod, key any, kid string, change func(jwt.MapClaims, map[string]any)) string {
		claims := jwt.MapClaims{}
		maps.Copy(claims, good)
		token := jwt.NewWithClaims(method, claims)
		token.Header["typ"], token.Header["kid"] = "uim-pat+jwt", kid
		if change != nil {
			change(claims, token.Header)
		}
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	kid := keys.Keys[0].Kid
	parts := strings.Split(a.token, ".")
	for _, tt := range []struct{ name, authorization, reason string }{
		{"missing", "", "MISSING_TOKEN"},
		{"other scheme", "Basic dXNlcjpwYXNz", "INVALID_TOKEN"},
		{"malformed", "Bearer abc", "INVALID_TOKEN"},
		{"cut short", "Bearer " + a.token[:len(a.token)-4], "INVALID_TOKEN"},
		{
			"payload swapped", "Bearer " + parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"admin"}`)) + "." + parts[2],
			"INVALID_TOKEN",
		},
		{"alg none", "Bearer " + forge(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid, nil), "INVALID_TOKEN"},
		{"HS256 with our public key", "Bearer " + forge(jwt.SigningMethodHS256, ours, kid, nil), "INVALID_TOKEN"},
		{"signed by another", "Bearer " + forge(jwt.SigningMethodEdDSA, foreign, kid, nil), "INVALID_TOKEN"},
		{"kid is a path", "Bearer " + forge(jwt.SigningMethodEdDSA, foreign, "../../keys.pem", nil), "INVALID_TOKEN"},
		{"kid is a URL", "Bearer " + forge(jwt.SigningMethodEdDSA, foreign, "https://evil.example/jwks", nil), "INVALID_TOKEN"},
		{"an agreement is not a PAT", "Bearer " + a.agreement(nil), "INVALID_TOKEN"},
		{"huge", "Bearer " + strings.Repeat("a", 50_000), "INVALID_TOKEN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := g.do("POST", "/api/intents/execute", []byte(`{}`), header{"Authorization": tt.authorization, "Content-Type": "application/json"})
			if got.status != http.StatusUnauthorized || got.reason(t) != tt.reason ||
				!strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%d %s, WWW-Authenticate %q", got.status, got.body, got.header.Get("WWW-Authenticate"))
			}
			if len(tt.authorization) > 20 && strings.Contains(g.log.String(), tt.authorization[7:]) {
				t.Error("the log contains the token")
			}
		})
	}
}

// PATs that are valid at another time or for another gateway.
func TestTokensOfOtherTimesAndGateways(t *testing.T) {
	clock := &clock{now: time.Now()}
	g := startGate(t, setup{now: clock.Now})
	a := g.newAgent("agent-1").agree()
	other := startGate(t, setup{})
	foreign := other.newAgent("agent-1").agree()
	for _, tt := range []struct {
		name, token, reason string
		move                time.Duration
	}{
		{"another gateway's", foreign.token, "INVALID_TOKEN", 0},
		{"not yet valid", a.token, "INVALID_TOKEN", -time.Hour},
		{"expired", a.token, "EXPIRED_TOKEN", 2 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			was := clock.move(tt.move)
			defer clock.set(was)
			var got answer
			for range 50 { // until revocations are known as of the moved clock
				got = g.do("POST", "/api/intents/execute", []byte(`{}`),
					header{"Authorization": "Bearer " + tt.token, "Content-Type": "application/json"})
				if got.status != http.StatusServiceUnavailable {
					break
				}
				waitABit(t)
			}
			if got.status != http.StatusUnauthorized || got.reason(t) != tt.reason {
				t.Errorf("got %d %s", got.status, got.body)
			}
		})
	}
}

func TestScopeIsEnforced(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1")
	a.token, _ = a.issueWith(a.agreement(func(c *pat.AgreementClaims) { c.Scope = []string{search + ":execute"} })).json(t)["uim-pat"].(string)
	if got := a.execute(order, map[string]any{"product_id": "p1"}, nil); got.status != http.StatusForbidden ||
		got.reason(t) != "SCOPE_EXCEEDED" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if n := len(g.upstream.calls()); n != 0 {
		t.Errorf("%d calls reached the upstream, want 0", n)
	}
}

// Agreements that must be refused.
func TestBadAgreements(t *testing.T) {
	g := startGate(t, setup{})
	taken := g.newAgent("agent-1").agree()
	weak := weakRSA(t)
	strong, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	offCurve := mustJSON(t, map[string]string{
		"kty": "EC", "crv": "P-256", "x": base64.RawURLEncoding.EncodeToString(big.NewInt(5).FillBytes(make([]byte, 32))),
		"y": base64.RawURLEncoding.EncodeToString(big.NewInt(7).FillBytes(make([]byte, 32))),
	})
	a := g.newAgent("agent-2")
	replayed := a.agreement(nil)
	if got := a.issueWith(replayed); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	sign := func(id string, change func(*pat.AgreementClaims)) string {
		b := *a
		b.id = id
		return b.agreement(change)
	}
	other := g.newAgent("agent-9")
	issue := func(id, signed string, key any) answer {
		return g.do("POST", "/api/pat/issue", mustJSON(t, map[string]any{"agent_id": id, "signed_policy": signed, "agent_public_key": key}),
			header{"Content-Type": "application/json"})
	}
	tampered := jwsOver(t, strong, strings.Replace(testPolicy, `"rightOperand": 1000`, `"rightOperand": 1000000`, 1))
	for _, tt := range []struct {
		name   string
		got    answer
		status int
		reason string
	}{
		{"signed with another key", issue("agent-3", other.agreement(nil), a.publicKey()), 400, "BAD_SIGNATURE"},
		{"replayed", issue("agent-2", replayed, a.publicKey()), 403, "AGREEMENT_REPLAYED"},
		{
			"an id already taken", issue(taken.id, func() string { o := *other; o.id = taken.id; return o.agreement(nil) }(), other.publicKey()),
			409, "AGENT_ID_TAKEN",
		},
		{"a key already taken", issue("agent-4", sign("agent-4", nil), a.publicKey()), 409, "KEY_TAKEN"},
		{
			"for another service", issue("agent-2", sign("agent-2", func(c *pat.AgreementClaims) { c.Audience = "other.example" }), a.publicKey()),
			400, "INVALID_PARAMETER",
		},
		{"an hour old", issue("agent-2", sign("agent-2", func(c *pat.AgreementClaims) { c.IssuedAt = time.Now().Add(-time.Hour) }),
			a.publicKey()), 403, "AGREEMENT_STALE"},
		{
			"to another policy",
			issue("agent-2", sign("agent-2", func(c *pat.AgreementClaims) { c.PolicyDigest = "sha-256:" + strings.Repeat("A", 43) }), a.publicKey()),
			403, "POLICY_MISMATCH",
		},
		{"a tampered policy", issue("agent-5", tampered, pemOf(t, strong.Public())), 403, "POLICY_MISMATCH"},
		{"RSA of 1024 bits", issue("agent-6", "AAAA", pemOf(t, weak)), 400, "WEAK_KEY"},
		{"P-384", issue("agent-6", "AAAA", pemOf(t, p384.Public())), 400, "UNSUPPORTED_KEY"},
		{"a P-256 point off the curve", issue("agent-6", "AAAA", json.RawMessage(offCurve)), 400, "UNSUPPORTED_KEY"},
		{"nonsense as key", issue("agent-6", "AAAA", "nonsense"), 400, "UNSUPPORTED_KEY"},
		{"nonsense as signature", issue("agent-6", "nonsense", a.publicKey()), 400, "BAD_SIGNATURE"},
		{"an id with a space", issue("agent 6", "AAAA", a.publicKey()), 400, "INVALID_PARAMETER"},
		{
			"no key", g.do("POST", "/api/pat/issue", []byte(`{"agent_id":"x","signed_policy":"y"}`), header{"Content-Type": "application/json"}),
			400, "MALFORMED_REQUEST",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got.status != tt.status || tt.got.reason(t) != tt.reason {
				t.Errorf("%d %s; want %d %s", tt.got.status, tt.got.body, tt.status, tt.reason)
			}
		})
	}
}

func pemOf(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// weakRSA returns a public key of 1024 bits. The Go runtime refuses to generate such a key, but can encode it.
func weakRSA(t *testing.T) *rsa.PublicKey {
	t.Helper()
	p, err := rand.Prime(rand.Reader, 512)
	if err != nil {
		t.Fatal(err)
	}
	q, err := rand.Prime(rand.Reader, 512)
	if err != nil {
		t.Fatal(err)
	}
	return &rsa.PublicKey{N: new(big.Int).Mul(p, q), E: 65537}
}

func jwsOver(t *testing.T, key *rsa.PrivateKey, document string) string {
	t.Helper()
	signing := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(document))
	signature, err := jwt.SigningMethodRS256.Sign(signing, key)
	if err != nil {
		t.Fatal(err)
	}
	return signing + "." + base64.RawURLEncoding.EncodeToString(signature)
}
