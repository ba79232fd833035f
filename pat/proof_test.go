package pat_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func hmacWith(secret []byte) func([]byte) []byte {
	return func(input []byte) []byte {
		h := hmac.New(sha256.New, secret)
		h.Write(input)
		return h.Sum(nil)
	}
}

func TestDigests(t *testing.T) {
	// printf '{"intent_uid":"a:b:v1","parameters":{}}' | openssl dgst -sha256 -binary | basenc --base64url
	for _, p := range []map[string]any{nil, {}} {
		if got := must(pat.ExecuteDigest("a:b:v1", p)); got != "213wS5_0ZXiR3A6bylWkOxFiMpAxTR7TFnjz2MN_bNk" {
			t.Errorf("got %q, want %q", got, "213wS5_0ZXiR3A6bylWkOxFiMpAxTR7TFnjz2MN_bNk")
		}
	}
	// printf '{"intent_uid":"a:b:v1","parameters":{"b":"é","n":1.5}}' | …
	if got := must(pat.ExecuteDigest("a:b:v1",
		map[string]any{"n": json.Number("1.50"), "b": "é"})); got != "sT1iCWXmh3yGcpf-IOutiAM0EP3PxqjGyVFZnLiwG8o" {
		t.Errorf("got %q, want %q", got, "sT1iCWXmh3yGcpf-IOutiAM0EP3PxqjGyVFZnLiwG8o")
	}
	// printf '{"renew":"x"}' | …
	if got := must(pat.RenewDigest("x")); got != "HDjEpeqnJrUzpZyjhbx1os59E8VmjQQ3cgyRwxTyBeM" {
		t.Errorf("got %q, want %q", got, "HDjEpeqnJrUzpZyjhbx1os59E8VmjQQ3cgyRwxTyBeM")
	}
	_, err := pat.ExecuteDigest("a:b:v1", map[string]any{"n": json.Number("9007199254740993")})
	if inexact, ok := errors.AsType[*strictjson.InexactError](err); !ok || inexact.Pointer != "/parameters/n" {
		t.Error(err)
	}
}

var binding = pat.ProofBinding{Audience: issuer, TokenID: "token", Digest: "digest"}

func TestProofOfKey(t *testing.T) {
	for _, signer := range []crypto.Signer{rsaKey(), ecKey(), edKey()} {
		for _, age := range []time.Duration{0, pat.ProofWindow, -pat.ProofWindow} {
			text, err := pat.SignProof(signer, binding, noon.Add(-age))
			if err != nil {
				t.Fatal(err)
			}
			p, err := pat.VerifyProof(text, keyOf(t, signer), binding, noon)
			if err != nil || len(p.Nonce) < 16 || !p.Until.Equal(noon.Add(-age+2*pat.ProofWindow)) ||
				p.Key.Thumbprint() != keyOf(t, signer).Thumbprint() {
				t.Errorf("%T: %+v, %v", signer, p, err)
			}
			if p.Until.Sub(noon) < 0 {
				t.Errorf("the nonce may be dropped at %s, while the proof is still valid", p.Until)
			}
		}
	}
}

func TestInvalidProofs(t *testing.T) {
	key := keyOf(t, edKey())
	type m = map[string]any
	for name, tt := range map[string]struct {
		header, payload m
		want            error
		member          string
	}{
		"valid":               {nil, nil, nil, ""},
		"another call":        {nil, m{"digest": "other"}, pat.ErrBadProof, "digest"},
		"no digest":           {nil, m{"digest": nil}, pat.ErrBadProof, "digest"},
		"another token":       {nil, m{"pat": "other"}, pat.ErrBadProof, "pat"},
		"another service":     {nil, m{"aud": "bank.example"}, pat.ErrBadProof, "aud"},
		"several services":    {nil, m{"aud": []string{issuer, "bank.example"}}, pat.ErrBadProof, "aud"},
		"old":                 {nil, m{"iat": noon.Unix() - 301}, pat.ErrBadProof, "iat"},
		"from the future":     {nil, m{"iat": noon.Unix() + 301}, pat.ErrBadProof, "iat"},
		"no time":             {nil, m{"iat": nil}, pat.ErrBadProof, "iat"},
		"short jti":           {nil, m{"jti": "x"}, pat.ErrBadProof, "jti"},
		"jti as number":       {nil, m{"jti": 12345678901234567}, pat.ErrBadProof, "jti"},
		"typ of an agreement": {m{"typ": pat.TypeAgreement}, nil, pat.ErrBadProof, "typ"},
		"no typ":              {m{"typ": nil}, nil, pat.ErrBadProof, "typ"},
		"no kid":              {m{"kid": nil}, nil, pat.ErrBadSignature, "kid"},
		"another kid":         {m{"kid": keyOf(t, ecKey()).Thumbprint()}, nil, pat.ErrBadSignature, "kid"},
		"alg none":            {m{"alg": "none"}, nil, pat.ErrBadSignature, "signature"},
		"alg RS256":           {m{"alg": "RS256"}, nil, pat.ErrBadSignature, "signature"},
		"critical extension":  {m{"crit": []string{}}, nil, pat.ErrBadProof, "typ"},
		"deep":                {nil, m{"x": deep(100)}, pat.ErrBadProof, "payload"},
	} {
		header := m{"typ": pat.TypeProof, "alg": "EdDSA", "kid": key.Thumbprint()}
		payload := m{"iat": noon.Unix(), "jti": "0123456789abcdef", "aud": issuer, "pat": "token", "digest": "digest"}
		maps.Copy(header, tt.header)
		maps.Copy(payload, tt.payload)
		p, err := pat.VerifyProof(jws(t, header, payload, edSign(edKey())), key, binding, noon)
		if !errors.Is(err, tt.want) || (err != nil) != (p.Nonce == "") {
			t.Errorf("%s: %+v, %v; want %v", name, p, err, tt.want)
		}
		if bad, ok := errors.AsType[*pat.ProofError](err); err != nil && (!ok || bad.Member != tt.member) {
			t.Errorf("%s: %v; want %s blamed", name, err, tt.member)
		}
	}
	good := must(pat.SignProof(edKey(), binding, noon))
	if _, err := pat.VerifyProof(good, keyOf(t, newEd()), binding, noon); !errors.Is(err, pat.ErrBadSignature) {
		t.Errorf("another key: %v, want %v", err, pat.ErrBadSignature)
	}
	if _, err := pat.VerifyProof(good, keys.Key{}, binding, noon); !errors.Is(err, pat.ErrBadSignature) {
		t.Errorf("no key: %v, want %v", err, pat.ErrBadSignature)
	}
	for _, text := range []string{"", ".", "..", good + strings.Repeat("A", pat.MaxProof), good[1:]} {
		if _, err := pat.VerifyProof(text, key, binding, noon); err == nil {
			t.Errorf("%.20q… verified", text)
		}
	}
	for _, open := range []pat.ProofBinding{{}, {Audience: issuer, TokenID: "token"}, {Audience: issuer, Digest: "digest"}} {
		text := must(pat.SignProof(edKey(), open, noon))
		if _, err := pat.VerifyProof(text, key, open, noon); err == nil {
			t.Errorf("the incomplete binding %+v verified", open)
		}
	}
}

func FuzzVerifyProof(f *testing.F) {
	good := must(pat.SignProof(edKey(), binding, noon))
	f.Add(good)
	key := keyOf(f, edKey())
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := pat.VerifyProof(text, key, binding, noon); err == nil && text != good {
			t.Fatalf("forged: %q", text)
		}
	})
}
