package pat_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// signatures returns every form of a signature over a text without a JWS.
func signatures(tb testing.TB, signer crypto.Signer, text []byte) map[string][]byte {
	tb.Helper()
	sum := sha256.Sum256(text)
	switch k := signer.(type) {
	case *rsa.PrivateKey:
		return map[string][]byte{
			"rsa-pkcs1v15": must(rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, sum[:])),
			"rsa-pss":      must(rsa.SignPSS(rand.Reader, k, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})),
		}
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
		if err != nil {
			tb.Fatal(err)
		}
		raw := make([]byte, 64)
		r.FillBytes(raw[:32])
		s.FillBytes(raw[32:])
		return map[string][]byte{"ecdsa-p256-raw": raw, "ecdsa-p256-der": must(ecdsa.SignASN1(rand.Reader, k, sum[:]))}
	case ed25519.PrivateKey:
		return map[string][]byte{"ed25519": ed25519.Sign(k, text)}
	default:
		tb.Fatalf("%T", signer)
		return nil
	}
}

var encodings = map[string]func([]byte) string{
	"hex":       hex.EncodeToString,
	"HEX":       func(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) },
	"base64":    base64.StdEncoding.EncodeToString,
	"base64url": base64.RawURLEncoding.EncodeToString,
	"newline":   func(b []byte) string { return base64.StdEncoding.EncodeToString(b) + "\n" },
}

func TestDetachedSignaturesInEveryForm(t *testing.T) {
	offer := offerOf(t, policyV1)
	texts := map[string][]byte{
		"served":  policyV1,
		"rfc8785": must(strictjson.Canonical(must(strictjson.Decode(policyV1)))),
		"compact": []byte(`{"uid":"https://shop.example/policy/1","permission":[{"action":"execute","price":1.5,"note":"ä"}]}`),
		"python":  []byte(`{"uid": "https://shop.example/policy/1", "permission": [{"action": "execute", "price": 1.5, "note": "\u00e4"}]}`),
	}
	for _, signer := range []crypto.Signer{rsaKey(), ecKey(), edKey()} {
		for form, text := range texts {
			for scheme, signature := range signatures(t, signer, text) {
				for encoding, encode := range encodings {
					a, err := pat.VerifyAgreement(pat.Presentation{AgentID: "agent", Signed: encode(signature), Key: keyOf(t, signer)}, recipient,
						offer, nil, noon)
					if err != nil || a.Form != "detached:"+form+":"+scheme {
						t.Errorf("%s, %s, %s: %q, %v; want %v, nil", form, scheme, encoding, a.Form, err, "detached:"+form+":"+scheme)
						continue
					}
					if a.Assurance != pat.Static || a.Nonce != "" || a.Digest != offer.Digest || a.UID != policyUID ||
						string(a.Signature) != string(signature) {
						t.Errorf("%s, %s: %+v", form, scheme, a)
					}
					if (a.Signed == nil) != (form == "served") || (a.Signed != nil && string(a.Signed) != string(text)) {
						t.Errorf("%s: the evidence is %s", form, a.Signed)
					}
				}
			}
		}
	}
}

func TestPolicyAsJWS(t *testing.T) {
	offer := offerOf(t, policyV1)
	other := []byte(`{"permission":[{"note":"ä","price":15e-1,"action":"execute"}],"uid":"https://shop.example/policy/1"}`)
	for alg, signer := range map[string]crypto.Signer{"RS256": rsaKey(), "ES256": ecKey(), "EdDSA": edKey()} {
		scheme := map[string]string{"RS256": "rsa-pkcs1v15", "ES256": "ecdsa-p256-raw", "EdDSA": "ed25519"}[alg]
		sign := func(input []byte) []byte { return signatures(t, signer, input)[scheme] }
		for _, typ := range []any{"JWT", "JOSE", nil, "odrl+jwt"} {
			header := map[string]any{"alg": alg, "typ": typ, "kid": "../../etc/passwd"}
			text := jws(t, header, other, sign)
			a, err := pat.VerifyAgreement(pat.Presentation{AgentID: "agent", Signed: text, Key: keyOf(t, signer)}, recipient, offer, nil, noon)
			if err != nil || a.Form != "jws-policy" || a.Assurance != pat.Static || string(a.Signature) != text || a.Signed != nil {
				t.Errorf("%s %v: %+v, %v", alg, typ, a, err)
			}
		}
		for _, typ := range []string{"uim-proof+jwt", "uim-pat+jwt", "application/UIM-proof+jwt"} {
			text := jws(t, map[string]any{"alg": alg, "typ": typ}, other, sign)
			p := pat.Presentation{AgentID: "agent", Signed: text, Key: keyOf(t, signer)}
			if _, err := pat.VerifyAgreement(p, recipient, offer, nil, noon); !errors.Is(err, pat.ErrBadSignature) {
				t.Errorf("%s as %s: %v, want %v", alg, typ, err, pat.ErrBadSignature)
			}
		}
	}
}

// Other white space does not change a policy, but the amount is bounded because the JWS is stored.
func TestPolicyAsJWSIsNotPadded(t *testing.T) {
	offer := offerOf(t, policyV1)
	for pad, want := range map[int]error{len(policyV1) / 2: nil, 20 * len(policyV1): pat.ErrPolicyMismatch} {
		padded := append(bytes.Repeat([]byte(" "), pad), policyV1...)
		text := jws(t, map[string]any{"alg": "EdDSA"}, padded, edSign(edKey()))
		_, err := pat.VerifyAgreement(pat.Presentation{AgentID: "agent", Signed: text, Key: keyOf(t, edKey())}, recipient, offer, nil, noon)
		if !errors.Is(err, want) {
			t.Errorf("with %d spaces: %v, want %v", pad, err, want)
		}
	}
}

func TestFreshAgreement(t *testing.T) {
	offer := offerOf(t, policyV1)
	for _, signer := range []crypto.Signer{rsaKey(), ecKey(), edKey()} {
		for _, age := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute} {
			text, err := pat.SignAgreement(signer, pat.AgreementClaims{
				AgentID: "agent", Audience: issuer, URL: issueURL, IssuedAt: noon.Add(-age),
				PolicyUID: policyUID, PolicyDigest: offer.Digest, Scope: []string{search},
			})
			if err != nil {
				t.Fatal(err)
			}
			a, err := pat.VerifyAgreement(pat.Presentation{AgentID: "agent", Signed: text, Key: keyOf(t, signer)}, recipient, offer, nil, noon)
			if err != nil || a.Assurance != pat.Fresh || a.Form != "jws-agreement" || len(a.Nonce) < 16 || !a.IssuedAt.Equal(noon.Add(-age)) {
				t.Errorf("%T: %+v, %v", signer, a, err)
			}
			if !slices.Equal(a.Scope, []string{search + ":execute"}) || string(a.Signature) != text {
				t.Errorf("%T: %+v", signer, a)
			}
		}
	}
}

func TestInvalidFreshAgreements(t *testing.T) {
	offer := offerOf(t, policyV1)
	var own, others any
	own = must(strictjson.Decode(keyOf(t, edKey()).JWK()))
	others = must(strictjson.Decode(keyOf(t, ecKey()).JWK()))
	type m = map[string]any
	for name, tt := range map[string]struct {
		header, payload m
		want            error
		member          string
	}{
		"valid":                           {nil, nil, nil, ""},
		"audience as a list":              {nil, m{"aud": []string{issuer}}, nil, ""},
		"nonce for jti":                   {nil, m{"jti": absent, "nonce": "0123456789abcdef"}, nil, ""},
		"own jwk":                         {m{"jwk": own}, nil, nil, ""},
		"Ed25519 as alg":                  {m{"alg": "Ed25519"}, nil, nil, ""},
		"typ in capitals":                 {m{"typ": "application/UIM-Agreement+JWT"}, nil, nil, ""},
		"another agent":                   {nil, m{"iss": "other"}, pat.ErrBadAgreement, "iss"},
		"no agent":                        {nil, m{"iss": 1}, pat.ErrBadAgreement, "iss"},
		"another service":                 {nil, m{"aud": "bank.example"}, pat.ErrBadAgreement, "aud"},
		"several services":                {nil, m{"aud": []string{issuer, "bank.example"}}, pat.ErrBadAgreement, "aud"},
		"no service":                      {nil, m{"aud": []string{}}, pat.ErrBadAgreement, "aud"},
		"no URL":                          {nil, m{"htu": absent}, pat.ErrAgreementMisdirected, ""},
		"htu of another host":             {nil, m{"htu": "https://mirror.example/api/pat/issue"}, pat.ErrAgreementMisdirected, ""},
		"htu of a subdomain":              {nil, m{"htu": "https://x.shop.example/api/pat/issue"}, pat.ErrAgreementMisdirected, ""},
		"htu with http":                   {nil, m{"htu": "http://shop.example/api/pat/issue"}, pat.ErrAgreementMisdirected, ""},
		"htu of another port":             {nil, m{"htu": "https://shop.example:8443/api/pat/issue"}, pat.ErrAgreementMisdirected, ""},
		"htu of another path":             {nil, m{"htu": "https://shop.example/api/pat/renew"}, pat.ErrAgreementMisdirected, ""},
		"htu with an escaped path":        {nil, m{"htu": "https://shop.example/api%2Fpat/issue"}, pat.ErrAgreementMisdirected, ""},
		"htu with a user":                 {nil, m{"htu": "https://shop.example@mirror.example/api/pat/issue"}, pat.ErrAgreementMisdirected, ""},
		"htu as a list":                   {nil, m{"htu": []string{issueURL}}, pat.ErrAgreementMisdirected, ""},
		"host in capitals":                {nil, m{"htu": "HTTPS://Shop.Example:443/api/pat/issue?x=1#y"}, nil, ""},
		"old":                             {nil, m{"iat": noon.Unix() - 301}, pat.ErrAgreementStale, ""},
		"iat in the future":               {nil, m{"iat": noon.Unix() + 301}, pat.ErrAgreementStale, ""},
		"iat as text":                     {nil, m{"iat": "1"}, pat.ErrBadAgreement, "iat"},
		"iat too large":                   {nil, m{"iat": 1e300}, pat.ErrBadAgreement, "iat"},
		"iat negative":                    {nil, m{"iat": -1}, pat.ErrBadAgreement, "iat"},
		"short jti":                       {nil, m{"jti": "0123456789abcde"}, pat.ErrBadAgreement, "jti"},
		"long jti":                        {nil, m{"jti": strings.Repeat("x", 129)}, pat.ErrBadAgreement, "jti"},
		"jti with a newline":              {nil, m{"jti": "0123456789abcdef\n"}, pat.ErrBadAgreement, "jti"},
		"no jti":                          {nil, m{"jti": nil}, pat.ErrBadAgreement, "jti"},
		"no policy":                       {nil, m{"policy": nil}, pat.ErrBadAgreement, "policy"},
		"policy as text":                  {nil, m{"policy": policyUID}, pat.ErrBadAgreement, "policy"},
		"another digest":                  {nil, m{"policy": m{"uid": policyUID, "digest": "sha-256:x"}}, pat.ErrPolicyMismatch, ""},
		"another uid":                     {nil, m{"policy": m{"uid": "urn:x", "digest": offer.Digest}}, pat.ErrPolicyMismatch, "policy.uid"},
		"no uid":                          {nil, m{"policy": m{"digest": offer.Digest}}, pat.ErrPolicyMismatch, "policy.uid"},
		"scope as text":                   {nil, m{"scope": search}, pat.ErrBadAgreement, "scope"},
		"empty scope":                     {nil, m{"scope": []string{}}, pat.ErrBadAgreement, "scope"},
		"scope of other verbs":            {nil, m{"scope": []string{search + ":delete"}}, pat.ErrBadAgreement, "scope"},
		"another jwk":                     {m{"jwk": others}, nil, pat.ErrBadSignature, ""},
		"jwk as text":                     {m{"jwk": "x"}, nil, pat.ErrBadSignature, ""},
		"alg none":                        {m{"alg": "none"}, nil, pat.ErrBadSignature, ""},
		"alg HS256":                       {m{"alg": "HS256"}, nil, pat.ErrBadSignature, ""},
		"alg of another key":              {m{"alg": "RS256"}, nil, pat.ErrBadSignature, ""},
		"critical extension":              {m{"crit": []string{"x"}, "x": 1}, nil, pat.ErrBadSignature, ""},
		"unencoded payload":               {m{"b64": false}, nil, pat.ErrBadSignature, ""},
		"typ of a policy JWS":             {m{"typ": "JWT"}, nil, pat.ErrPolicyMismatch, "typ"},
		"no typ":                          {m{"typ": ""}, nil, pat.ErrPolicyMismatch, "typ"},
		"typ with two lines":              {m{"typ": "a\nb"}, nil, pat.ErrPolicyMismatch, "typ"},
		"typ of a proof":                  {m{"typ": "uim-proof+jwt"}, nil, pat.ErrBadSignature, ""},
		"unknown member":                  {nil, m{"x": strings.Repeat("x", 9000)}, pat.ErrBadAgreement, "x"},
		"unknown member with a long name": {nil, m{strings.Repeat("x", 65): 1}, pat.ErrBadAgreement, ""},
		"unknown member with a newline":   {nil, m{"x\n": 1}, pat.ErrBadAgreement, ""},
		"unknown member of policy":        {nil, m{"policy": m{"uid": policyUID, "digest": offer.Digest, "x": 1}}, pat.ErrBadAgreement, "policy"},
		"misspelt uid of policy":          {nil, m{"policy": m{"x": 1, "digest": offer.Digest}}, pat.ErrBadAgreement, "policy"},
		"more than 16 KiB":                {m{"x": strings.Repeat("x", 6000)}, m{"aud": strings.Repeat("x", 8000)}, pat.ErrBadAgreement, ""},
		"deep payload":                    {nil, m{"x": deep(100)}, pat.ErrBadAgreement, ""},
		"unsupported embedded key":        {m{"jwk": m{"kty": "oct", "k": "AA"}}, nil, pat.ErrBadSignature, ""},
	} {
		header := m{"typ": pat.TypeAgreement, "alg": "EdDSA"}
		payload := m{
			"iss": "agent", "aud": issuer, "htu": issueURL, "iat": noon.Unix(), "jti": "0123456789abcdef0123",
			"policy": m{"uid": policyUID, "digest": offer.Digest},
		}
		maps.Copy(header, tt.header)
		for k, v := range tt.payload {
			if payload[k] = v; v == absent {
				delete(payload, k)
			}
		}
		text := jws(t, header, payload, edSign(edKey()))
		a, err := pat.VerifyAgreement(pat.Presentation{AgentID: "agent", Signed: text, Key: keyOf(t, edKey())}, recipient, offer, nil, noon)
		if !errors.Is(err, tt.want) || (err != nil) != (a.Form == "") {
			t.Errorf("%s: %+v, %v; want %v", name, a, err, tt.want)
		}
		if bad, ok := errors.AsType[*pat.AgreementError](err); ok && bad.Member != tt.member {
			t.Errorf("%s: blames %q, want %q", name, bad.Member, tt.member)
		}
		if bad, ok := errors.AsType[*pat.PolicyMismatchError](err); ok && (bad.Member != tt.member || strings.Contains(bad.Error(), "\n")) {
			t.Errorf("%s: blames %q, want %q: %v", name, bad.Member, tt.member, bad)
		}
	}
}

// absent marks a member that is omitted.
const absent = "(left out)"

func deep(n int) any {
	var v any = 1
	for range n {
		v = []any{v}
	}
	return v
}

func TestInvalidAgreements(t *testing.T) {
	current, old := offerOf(t, policyV2), offerOf(t, policyV1)
	ed := keyOf(t, edKey())
	good := ed25519.Sign(edKey(), policyV2)
	flipped := slices.Clone(good)
	flipped[5] ^= 1
	rsaGood := signatures(t, rsaKey(), policyV2)["rsa-pkcs1v15"]
	jwsOf := func(payload []byte) string { return jws(t, map[string]any{"alg": "EdDSA"}, payload, edSign(edKey())) }
	goodJWS := jwsOf(policyV2)
	for name, tt := range map[string]struct {
		agent, signed string
		key           keys.Key
		want          error
	}{
		"no agent id":                  {"", hex.EncodeToString(good), ed, pat.ErrBadAgentID},
		"agent id with a space":        {"a b", hex.EncodeToString(good), ed, pat.ErrBadAgentID},
		"agent id too long":            {strings.Repeat("a", 201), hex.EncodeToString(good), ed, pat.ErrBadAgentID},
		"no key":                       {"a", hex.EncodeToString(good), keys.Key{}, keys.ErrUnsupported},
		"no signature":                 {"a", "", ed, pat.ErrBadSignature},
		"signature by another key":     {"a", hex.EncodeToString(good), keyOf(t, newEd()), pat.ErrBadSignature},
		"signature with a changed bit": {"a", hex.EncodeToString(flipped), ed, pat.ErrBadSignature},
		"hex of odd length":            {"a", hex.EncodeToString(good)[1:], ed, pat.ErrBadSignature},
		"too short":                    {"a", hex.EncodeToString(good[:63]), ed, pat.ErrBadSignature},
		"too long":                     {"a", strings.Repeat("A", 1000), ed, pat.ErrBadSignature},
		"huge":                         {"a", strings.Repeat("A", 5<<20), ed, pat.ErrBadSignature},
		"huge JWS":                     {"a", strings.Repeat("A", 5<<20) + ".x.y", ed, pat.ErrBadSignature},
		"RSA signature, EC key":        {"a", hex.EncodeToString(rsaGood), keyOf(t, ecKey()), pat.ErrBadSignature},
		"RSA signature cut off":        {"a", hex.EncodeToString(rsaGood[:255]), keyOf(t, rsaKey()), pat.ErrBadSignature},
		"older policy":                 {"a", hex.EncodeToString(ed25519.Sign(edKey(), policyV1)), ed, pat.ErrPolicyMismatch},
		"older policy, JWS":            {"a", jwsOf(policyV1), ed, pat.ErrPolicyMismatch},
		"tampered policy":              {"a", hex.EncodeToString(ed25519.Sign(edKey(), append([]byte(" "), policyV2...))), ed, pat.ErrBadSignature},
		"tampered policy, JWS": {
			"a", jwsOf([]byte(`{"uid": "https://shop.example/policy/1", "permission": [], "x": 1}`)), ed,
			pat.ErrPolicyMismatch,
		},
		"no policy, JWS": {"a", jwsOf([]byte(`hello`)), ed, pat.ErrPolicyMismatch},
		"a member twice, JWS": {
			"a", jwsOf([]byte(`{"uid": "x", "uid": "https://shop.example/policy/1", "permission": []}`)),
			ed, pat.ErrPolicyMismatch,
		},
		"JWS of another key":             {"a", goodJWS, keyOf(t, newEd()), pat.ErrBadSignature},
		"JWS of four parts":              {"a", goodJWS + ".x", ed, pat.ErrBadSignature},
		"JWS without signature":          {"a", goodJWS[:strings.LastIndexByte(goodJWS, '.')+1], ed, pat.ErrBadSignature},
		"JWS with a break inside":        {"a", goodJWS[:10] + "\n" + goodJWS[10:], ed, pat.ErrBadSignature},
		"JWS with base64 padding":        {"a", goodJWS + "==", ed, pat.ErrBadSignature},
		"JWS header with a member twice": {"a", jws(t, []byte(`{"alg":"none","alg":"EdDSA"}`), policyV2, edSign(edKey())), ed, pat.ErrBadSignature},
		"JWS with HMAC by the key":       {"a", jws(t, map[string]any{"alg": "HS256"}, policyV2, hmacWith(ed.SPKI())), ed, pat.ErrBadSignature},
		"JWS with alg none": {
			"a", jws(t, map[string]any{"alg": "none"}, policyV2, func([]byte) []byte { return nil }), ed,
			pat.ErrBadSignature,
		},
		"JWS with unused bits set": {"a", goodJWS[:len(goodJWS)-1] + otherDigit(goodJWS[len(goodJWS)-1]), ed, pat.ErrBadSignature},
	} {
		a, err := pat.VerifyAgreement(pat.Presentation{AgentID: pat.AgentID(tt.agent), Signed: tt.signed, Key: tt.key}, recipient,
			current, []pat.Offer{old}, noon)
		if !errors.Is(err, tt.want) || a.Form != "" {
			t.Errorf("%s: %+v, %v; want %v", name, a, err, tt.want)
		}
		mismatch, ok := errors.AsType[*pat.PolicyMismatchError](err)
		if ok && (mismatch.UID != policyUID || mismatch.Digest != current.Digest) {
			t.Errorf("%s: %v does not contain the current digest", name, err)
		}
		if name == "older policy" && mismatch.SignedDigest != old.Digest {
			t.Errorf("%s: %v does not contain the signed digest", name, err)
		}
	}
	if _, err := pat.VerifyAgreement(pat.Presentation{AgentID: "a", Signed: goodJWS, Key: ed}, recipient, current, nil, noon); err != nil {
		t.Errorf("the valid agreement: %v", err)
	}
}

// otherDigit returns a base64url digit that differs only in the last bits, which no byte uses.
func otherDigit(c byte) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(digits[strings.IndexByte(digits, c)^1])
}

func FuzzVerifyAgreement(f *testing.F) {
	offer, old := offerOf(f, policyV1), offerOf(f, policyV2)
	key := keyOf(f, edKey())
	fresh := must(pat.SignAgreement(edKey(),
		pat.AgreementClaims{AgentID: "a", Audience: issuer, URL: issueURL, IssuedAt: noon, PolicyUID: policyUID, PolicyDigest: offer.Digest}))
	detached := hex.EncodeToString(ed25519.Sign(edKey(), policyV1))
	static := jws(f, map[string]any{"alg": "EdDSA", "typ": "JWT"}, policyV1, edSign(edKey()))
	good := []string{fresh, detached, static, base64.StdEncoding.EncodeToString(must(hex.DecodeString(detached)))}
	for _, s := range good {
		f.Add(s)
	}
	raw := string(must(hex.DecodeString(detached)))
	f.Fuzz(func(t *testing.T, signed string) {
		a, err := pat.VerifyAgreement(pat.Presentation{AgentID: "a", Signed: signed, Key: key}, recipient, offer, []pat.Offer{old}, noon)
		if err != nil {
			if a.Form != "" {
				t.Fatalf("got %+v, %v; want Form empty", a, err)
			}
			return
		}
		// Only this test has the key, so a text that verifies must be another encoding of a signature made here.
		if s := string(a.Signature); s != raw && s != fresh && s != static {
			t.Fatalf("forged: %q as %s", signed, a.Form)
		}
	})
}
