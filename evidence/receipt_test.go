package evidence_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

func newKey(t *testing.T) (ed25519.PrivateKey, keys.Key) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.New(public)
	if err != nil {
		t.Fatal(err)
	}
	return private, key
}

func TestReceiptVerifies(t *testing.T) {
	t.Parallel()
	private, key := newKey(t)
	_, other := newKey(t)
	charge := entries()["charge"]
	text, err := evidence.SignReceipt(private, key.Thumbprint(), charge.Append(nil))
	if err != nil || len(text) > 1400 {
		t.Fatalf("got %d bytes, %v, want at most 1400", len(text), err)
	}
	set := func(purpose string, k keys.Key) (s evidence.KeySet) {
		s.Add(purpose, k)
		return s
	}
	head, rest, _ := strings.Cut(text, ".")
	payload, _, _ := strings.Cut(rest, ".")
	forged := base64.RawURLEncoding.EncodeToString(charge.Append(nil)[:0]) + payload
	for name, tt := range map[string]struct {
		text string
		set  evidence.KeySet
		want error
	}{
		"good":                {text, set("receipt", key), nil},
		"another purpose":     {text, set("pat", key), evidence.ErrKey},
		"another key":         {text, set("receipt", other), evidence.ErrKey},
		"another signature":   {text[:len(text)-4] + "AAAA", set("receipt", key), evidence.ErrSignature},
		"no signature":        {head + "." + forged + ".", set("receipt", key), evidence.ErrReceipt},
		"alg none":            {base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"uim-receipt+jwt","kid":"`+string(key.Thumbprint())+`"}`)) + "." + rest, set("receipt", key), evidence.ErrSignature},
		"another type":        {base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","typ":"uim-proof+jwt","kid":"x"}`)) + "." + rest, set("receipt", key), evidence.ErrReceipt},
		"longer than allowed": {text + strings.Repeat("A", evidence.MaxReceipt), set("receipt", key), evidence.ErrReceipt},
	} {
		r, err := evidence.ParseReceipt(tt.text)
		if err == nil {
			err = r.Verify(tt.set)
		}
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}

func TestParseKeySet(t *testing.T) {
	t.Parallel()
	_, key := newKey(t)
	jwk := string(key.JWK())
	receipt := strings.Replace(jwk, "{", `{"uim_purpose":"receipt",`, 1)
	set, err := evidence.ParseKeySet([]byte(`{"keys":[` + receipt + `,{"kty":"oct","k":"AAAA","kid":"x"},7]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := set.Key("receipt", key.Thumbprint()); !ok {
		t.Error("the key of receipts is missing")
	}
	if _, ok := set.Key("pat", key.Thumbprint()); ok {
		t.Error("a key of receipts is also one of PATs")
	}
	for _, bad := range []string{"", "[]", "{}", `{"keys":[` + strings.Repeat("7,", 1001) + "7]}"} {
		if _, err := evidence.ParseKeySet([]byte(bad)); err == nil {
			t.Errorf("%.20s: got no error", bad)
		}
	}
}

// A new key counts only if a known key for the same purpose introduces it.
func TestKeySetIntroduce(t *testing.T) {
	t.Parallel()
	first, known := newKey(t)
	second, next := newKey(t)
	entry := func(purpose string, of keys.Key, kid keys.ID) []byte {
		e := entries()["key"]
		jwk, err := strictjson.DecodeObject(of.JWK())
		if err != nil {
			t.Fatal(err)
		}
		text, err := strictjson.Canonical(map[string]any(jwk))
		if err != nil {
			t.Fatal(err)
		}
		e.Key = &evidence.Key{Purpose: purpose, ID: string(kid), JWK: text}
		return e.Append(nil)
	}
	sign := func(private ed25519.PrivateKey, by keys.Key, text []byte) string {
		out, err := evidence.SignReceipt(private, by.Thumbprint(), text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	charge := entries()["charge"]
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"by the known key":     {sign(first, known, entry("receipt", next, next.Thumbprint())), nil},
		"by itself":            {sign(second, next, entry("receipt", next, next.Thumbprint())), evidence.ErrKey},
		"for another purpose":  {sign(first, known, entry("log", next, next.Thumbprint())), evidence.ErrKey},
		"in another's name":    {sign(second, known, entry("receipt", next, next.Thumbprint())), evidence.ErrSignature},
		"with another's kid":   {sign(first, known, entry("receipt", next, known.Thumbprint())), evidence.ErrReceipt},
		"an entry of a charge": {sign(first, known, charge.Append(nil)), evidence.ErrReceipt},
	} {
		var set evidence.KeySet
		set.Add("receipt", known)
		err := set.Introduce(tt.text)
		if _, added := set.Key("receipt", next.Thumbprint()); !errors.Is(err, tt.want) || added != (tt.want == nil) {
			t.Errorf("%s: got %v, added %t, want %v", name, err, added, tt.want)
		}
		read, err := evidence.ParseKeySet(set.JWKS())
		if err != nil || read.Len() != set.Len() || string(read.JWKS()) != string(set.JWKS()) {
			t.Errorf("%s: the set is read back as %s, %v", name, read.JWKS(), err)
		}
	}
}
