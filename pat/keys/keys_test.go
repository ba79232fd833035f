package keys_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

func TestThumbprintsOfTheRFCs(t *testing.T) {
	for name, tt := range map[string]struct{ jwk, want string }{
		"RFC 8037 A.3": {
			`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`,
			"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
		},
		"RFC 7638 3.1": {
			`{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}`,
			"NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
		},
	} {
		k, err := keys.Parse(tt.jwk)
		if err != nil || string(k.Thumbprint()) != tt.want {
			t.Errorf("%s: %s, %v", name, k.Thumbprint(), err)
		}
	}
}

// keyTexts returns every form in which a key can be sent.
func keyTexts(tb testing.TB, public crypto.PublicKey) map[string]string {
	tb.Helper()
	der := must(x509.MarshalPKIXPublicKey(public))
	pemText := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	out := map[string]string{
		"PEM":                      pemText,
		"PEM, CRLF":                strings.ReplaceAll(pemText, "\n", "\r\n"),
		"PEM, spaces around":       "\n " + pemText + "\n\n",
		"base64 of PEM":            base64.StdEncoding.EncodeToString([]byte(pemText)),
		"base64url of PEM":         base64.URLEncoding.EncodeToString([]byte(pemText)),
		"base64url, unpadded":      base64.RawURLEncoding.EncodeToString([]byte(pemText)),
		"base64 of DER":            base64.StdEncoding.EncodeToString(der),
		"base64 of DER, two lines": base64.StdEncoding.EncodeToString(der)[:40] + "\r\n" + base64.StdEncoding.EncodeToString(der)[40:],
		"base64url of DER":         base64.RawURLEncoding.EncodeToString(der),
		"JWK":                      string(must(keys.New(public)).JWK()),
		"JWK with unknown members": strings.Replace(string(must(keys.New(public)).JWK()), "{",
			`{"x5u":"https://attacker.example","ext":true,"key_ops":["verify"],`, 1),
	}
	switch public := public.(type) {
	case *rsa.PublicKey:
		out["PKCS#1 PEM"] = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(public)}))
	case ed25519.PublicKey:
		out["raw"] = base64.RawURLEncoding.EncodeToString(public)
		out["raw, padded"] = base64.StdEncoding.EncodeToString(public)
	}
	return out
}

func TestParsePublicKeys(t *testing.T) {
	for _, signer := range []crypto.Signer{rsaKey(), ecKey(), edKey()} {
		want := keyOf(t, signer)
		for name, text := range keyTexts(t, signer.Public()) {
			got, err := keys.Parse(text)
			if err != nil || got.Thumbprint() != want.Thumbprint() || string(got.SPKI()) != string(want.SPKI()) ||
				got.Algorithm() != want.Algorithm() {
				t.Errorf("%T as %s: %v", signer, name, err)
			}
		}
		object := must(strictjson.Decode(want.JWK()))
		if got, err := keys.ParseValue(object); err != nil || got.Thumbprint() != want.Thumbprint() {
			t.Errorf("%T as a JSON object: %v", signer, err)
		}
		if got, err := keys.ParseSPKI(want.SPKI()); err != nil || got.Thumbprint() != want.Thumbprint() {
			t.Errorf("%T as SPKI: %v", signer, err)
		}
	}
}

func TestInvalidKeys(t *testing.T) {
	b64 := base64.RawURLEncoding.EncodeToString
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	rsaJWK := func(n *big.Int, e uint64) string {
		exponent := binary.BigEndian.AppendUint64(nil, e)
		return fmt.Sprintf(`{"kty":"RSA","n":"%s","e":"%s"}`, b64(n.Bytes()), b64([]byte(strings.TrimLeft(string(exponent), "\x00"))))
	}
	rsa1024 := must(hex.DecodeString("c0" + strings.Repeat("11", 126) + "01"))
	der1024 := must(asn1.Marshal(struct {
		N *big.Int
		E int
	}{new(big.Int).SetBytes(rsa1024), 65537}))
	n := rsaKey().N
	p384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	_, private, _ := ed25519.GenerateKey(rand.Reader)
	privateDER := must(x509.MarshalPKCS8PrivateKey(private))
	point := must(ecKey().PublicKey.Bytes())
	offCurve := append([]byte{}, point...)
	offCurve[64] ^= 1
	spkiOff := must(x509.MarshalPKIXPublicKey(ecKey().Public()))
	spkiOff[len(spkiOff)-1] ^= 1
	good := string(keyOf(t, edKey()).JWK())

	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"empty":                    {"", keys.ErrUnsupported},
		"too long":                 {strings.Repeat("A", 20_000), keys.ErrUnsupported},
		"not base64":               {"ключ", keys.ErrUnsupported},
		"31 bytes":                 {b64(make([]byte, 31)), keys.ErrUnsupported},
		"33 bytes":                 {b64(make([]byte, 33)), keys.ErrUnsupported},
		"RSA-1024, PKCS#1":         {block("RSA PUBLIC KEY", der1024), keys.ErrWeak},
		"RSA-1024, JWK":            {rsaJWK(new(big.Int).SetBytes(rsa1024), 65537), keys.ErrWeak},
		"RSA-2047":                 {rsaJWK(new(big.Int).Rsh(n, 1), 65537), keys.ErrWeak},
		"RSA-4104":                 {rsaJWK(new(big.Int).SetBit(n, 4103, 1), 65537), keys.ErrUnsupported},
		"RSA-8200":                 {rsaJWK(new(big.Int).SetBit(n, 8199, 1), 65537), keys.ErrUnsupported},
		"RSA, exponent 65539":      {rsaJWK(n, 65539), keys.ErrUnsupported},
		"RSA, exponent 2^31 - 1":   {rsaJWK(n, 1<<31-1), keys.ErrUnsupported},
		"RSA of 60000 bits":        {rsaJWK(new(big.Int).SetBit(n, 60_000, 1), 65537), keys.ErrUnsupported},
		"RSA, exponent 3":          {rsaJWK(n, 3), keys.ErrWeak},
		"RSA, exponent 1":          {rsaJWK(n, 1), keys.ErrWeak},
		"RSA, even exponent":       {rsaJWK(n, 65538), keys.ErrUnsupported},
		"RSA, exponent of 33 bits": {rsaJWK(n, 1<<32+1), keys.ErrUnsupported},
		"RSA, exponent of 64 bits": {rsaJWK(n, 1<<63+1), keys.ErrUnsupported},
		"RSA, even modulus":        {rsaJWK(new(big.Int).Add(n, big.NewInt(1)), 65537), keys.ErrWeak},
		"RSA without modulus":      {`{"kty":"RSA","n":"","e":"AQAB"}`, keys.ErrUnsupported},
		"P-384": {string(pem.EncodeToMemory(&pem.Block{
			Type:  "PUBLIC KEY",
			Bytes: must(x509.MarshalPKIXPublicKey(p384.Public())),
		})), keys.ErrUnsupported},
		"P-256 off the curve, JWK": {
			fmt.Sprintf(`{"kty":"EC","crv":"P-256","x":"%s","y":"%s"}`, b64(offCurve[1:33]), b64(offCurve[33:])),
			keys.ErrUnsupported,
		},
		"P-256 off the curve, DER": {b64(spkiOff), keys.ErrUnsupported},
		"P-256 at infinity": {
			fmt.Sprintf(`{"kty":"EC","crv":"P-256","x":"%s","y":"%s"}`, b64(make([]byte, 32)), b64(make([]byte, 32))),
			keys.ErrUnsupported,
		},
		"P-256 with a short x": {
			fmt.Sprintf(`{"kty":"EC","crv":"P-256","x":"%s","y":"%s"}`, b64(point[2:33]), b64(point[33:])),
			keys.ErrUnsupported,
		},
		"secp256k1": {
			fmt.Sprintf(`{"kty":"EC","crv":"secp256k1","x":"%s","y":"%s"}`, b64(point[1:33]), b64(point[33:])),
			keys.ErrUnsupported,
		},
		"X25519":                     {strings.Replace(good, "Ed25519", "X25519", 1), keys.ErrUnsupported},
		"symmetric":                  {`{"kty":"oct","k":"c2VjcmV0"}`, keys.ErrUnsupported},
		"JWK with private d":         {strings.Replace(good, "{", `{"d":"AAAA",`, 1), keys.ErrUnsupported},
		"JWK with private d null":    {strings.Replace(good, "{", `{"d":null,`, 1), keys.ErrUnsupported},
		"JWK for encryption":         {strings.Replace(good, `"use":"sig"`, `"use":"enc"`, 1), keys.ErrUnsupported},
		"JWK of another alg":         {strings.Replace(good, `"alg":"EdDSA"`, `"alg":"HS256"`, 1), keys.ErrUnsupported},
		"JWK with alg none":          {strings.Replace(good, `"alg":"EdDSA"`, `"alg":"none"`, 1), keys.ErrUnsupported},
		"JWK that may not verify":    {strings.Replace(good, "{", `{"key_ops":["sign"],`, 1), keys.ErrUnsupported},
		"JWK with a member twice":    {strings.Replace(good, "{", `{"kty":"RSA",`, 1), keys.ErrUnsupported},
		"JWK cut off":                {good[:40], keys.ErrUnsupported},
		"JWK nested deep":            {`{"kty":` + strings.Repeat(`[`, 5000), keys.ErrUnsupported},
		"private key":                {block("PRIVATE KEY", privateDER), keys.ErrUnsupported},
		"private key, base64 of DER": {b64(privateDER), keys.ErrUnsupported},
		"certificate":                {block("CERTIFICATE", keyOf(t, edKey()).SPKI()), keys.ErrUnsupported},
		"two PEM blocks": {
			block("PUBLIC KEY", keyOf(t, edKey()).SPKI()) + block("PUBLIC KEY", keyOf(t, ecKey()).SPKI()),
			keys.ErrUnsupported,
		},
		"DER and more":               {b64(append(append([]byte{}, keyOf(t, edKey()).SPKI()...), 0)), keys.ErrUnsupported},
		"Ed25519 of order 1":         {b64(le(1)), keys.ErrWeak},
		"Ed25519 of order 4":         {b64(le(0)), keys.ErrWeak},
		"Ed25519 of order 4, signed": {b64(append(make([]byte, 31), 0x80)), keys.ErrWeak},
		"Ed25519 of order 2":         {b64(nearP(0xec)), keys.ErrWeak},
		"Ed25519 of order 8": {
			b64(must(hex.DecodeString("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"))),
			keys.ErrWeak,
		},
		"another Ed25519 of order 8": {
			b64(must(hex.DecodeString("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"))),
			keys.ErrWeak,
		},
		"Ed25519 off the curve":             {b64(le(2)), keys.ErrUnsupported},
		"Ed25519 not canonical":             {b64(nearP(0xf0)), keys.ErrUnsupported},
		"Ed25519 of order 1, not canonical": {b64(nearP(0xee)), keys.ErrWeak},
	} {
		k, err := keys.Parse(tt.text)
		if !errors.Is(err, tt.want) || !k.IsZero() {
			t.Errorf("%s: %v, want kind %v", name, err, tt.want)
		}
	}
	for _, v := range []any{nil, true, json.Number("1"), []any{"x"}} {
		if _, err := keys.ParseValue(v); !errors.Is(err, keys.ErrUnsupported) {
			t.Errorf("%v: %v, want %v", v, err, keys.ErrUnsupported)
		}
	}
	for _, k := range []crypto.PublicKey{nil, (*rsa.PublicKey)(nil), (*ecdsa.PublicKey)(nil), ed25519.PublicKey(nil), &rsa.PublicKey{}, "x"} {
		if _, err := keys.New(k); !errors.Is(err, keys.ErrUnsupported) {
			t.Errorf("%T: %v, want %v", k, err, keys.ErrUnsupported)
		}
	}
}

// le returns a small number as 32 bytes, little-endian.
func le(n byte) []byte {
	b := make([]byte, 32)
	b[0] = n
	return b
}

// nearP returns a number close to 2²⁵⁵ - 19 (which ends in 0xed), little-endian.
func nearP(low byte) []byte {
	b := []byte(strings.Repeat("\xff", 32))
	b[0], b[31] = low, 0x7f
	return b
}

// Every key that crypto/ed25519 generates is accepted.
func TestEveryGeneratedEd25519KeyIsAccepted(t *testing.T) {
	for range 200 {
		if _, err := keys.New(newEd().Public()); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzParsePublicKey(f *testing.F) {
	for _, s := range []crypto.Signer{edKey(), ecKey(), rsaKey()} {
		for _, text := range keyTexts(f, s.Public()) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := keys.Parse(text)
		if err != nil {
			if !k.IsZero() || (!errors.Is(err, keys.ErrWeak) && !errors.Is(err, keys.ErrUnsupported)) {
				t.Fatalf("got %v, %v", k, err)
			}
			return
		}
		for name, again := range keyTexts(t, k.Public()) {
			if same, err := keys.Parse(again); err != nil || same.Thumbprint() != k.Thumbprint() {
				t.Fatalf("as %s: %v", name, err)
			}
		}
	})
}

// Keys of every kind.
var (
	rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey  = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	edKey  = sync.OnceValue(newEd)
)

func newEd() ed25519.PrivateKey {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	return must(k, err)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func keyOf(tb testing.TB, s crypto.Signer) keys.Key {
	tb.Helper()
	return must(keys.New(s.Public()))
}
