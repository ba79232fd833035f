package keys

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

// privateMembers are members that only a private or symmetric key has. See RFC 7518, section 6.
var privateMembers = []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"}

// FromJWK converts a JWK that package strictjson has decoded. It ignores unknown members, including x5c and x5u, and fetches nothing. The
// error is of kind ErrWeak or ErrUnsupported. See RFC 7517, section 4.
func FromJWK(jwk map[string]any) (Key, error) {
	for _, name := range privateMembers {
		if _, ok := jwk[name]; ok {
			return Key{}, privateKey(fmt.Sprintf("the JWK is a private key: it has the member %q", name))
		}
	}
	if use, ok := jwk["use"]; ok && use != "sig" {
		return Key{}, keyErrorf(ErrUnsupported, `the JWK's use is not "sig"`)
	}
	if ops, ok := jwk["key_ops"]; ok {
		if list, isList := ops.([]any); !isList || !slices.Contains(list, any("verify")) {
			return Key{}, keyErrorf(ErrUnsupported, `the JWK's key_ops do not include "verify"`)
		}
	}
	key, err := publicMembers(jwk)
	if err != nil {
		return Key{}, err
	}
	if alg, ok := jwk["alg"]; ok && !slices.Contains(jwkAlgorithms[key.algorithm], fmt.Sprint(alg)) {
		return Key{}, keyErrorf(ErrUnsupported, "the JWK's alg does not match the key")
	}
	return key, nil
}

// jwkAlgorithms are the values of alg that a JWK may have, for each algorithm of a Key. RFC 9864 defines Ed25519 as a name for EdDSA with
// this curve.
var jwkAlgorithms = map[string][]string{
	EdDSA: {EdDSA, "Ed25519"}, ES256: {ES256}, RS256: {RS256, "PS256"},
}

func publicMembers(jwk map[string]any) (Key, error) {
	switch jwk["kty"] {
	case "OKP": // RFC 8037 2
		x, err := member(jwk, "x", ed25519.PublicKeySize)
		if err != nil || jwk["crv"] != "Ed25519" {
			return Key{}, keyErrorf(ErrUnsupported, `an OKP key needs crv "Ed25519" and x of 32 bytes`)
		}
		return New(ed25519.PublicKey(x))
	case "EC": // RFC 7518 6.2
		x, errX := member(jwk, "x", p256Size)
		y, errY := member(jwk, "y", p256Size)
		if errX != nil || errY != nil || jwk["crv"] != "P-256" {
			return Key{}, keyErrorf(ErrUnsupported, `an EC key needs crv "P-256" and x and y of 32 bytes`)
		}
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
		if err != nil {
			return Key{}, keyErrorf(ErrUnsupported, "the key is not a point on P-256")
		}
		return New(public)
	case "RSA": // RFC 7518 6.3
		n, errN := member(jwk, "n", 0)
		e, errE := member(jwk, "e", 0)
		if errN != nil || errE != nil || len(n) > 2*maxRSABits/8 || len(e) > 8 {
			return Key{}, keyErrorf(ErrUnsupported, "an RSA key needs n and e")
		}
		exponent := binary.BigEndian.Uint64(append(make([]byte, 8-len(e)), e...))
		if exponent >= 1<<31 {
			return Key{}, keyErrorf(ErrUnsupported, "the exponent of the RSA key is too long")
		}
		return New(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent)})
	default:
		return Key{}, keyErrorf(ErrUnsupported, "the JWK's kty is not OKP, EC or RSA")
	}
}

// member decodes one base64url member of size bytes; size 0 accepts any length above 0.
func member(jwk map[string]any, name string, size int) ([]byte, error) {
	text, ok := jwk[name].(string)
	if !ok {
		return nil, ErrUnsupported
	}
	b, err := DecodeSegment(strings.TrimRight(text, "="))
	if err != nil || len(b) == 0 || (size > 0 && len(b) != size) {
		return nil, ErrUnsupported
	}
	return b, nil
}

// members returns a JWK with only the members that the thumbprint covers, in the order of the thumbprint. See RFC 7638, section 3.2; RFC
// 8037, section 2.
func (k Key) members() []byte {
	b64 := base64.RawURLEncoding.EncodeToString
	switch public := k.public.(type) {
	case ed25519.PublicKey:
		return fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":"%s"}`, b64(public))
	case *ecdsa.PublicKey:
		point, err := public.Bytes()
		if err != nil || len(point) != 1+2*p256Size {
			return nil
		}
		return fmt.Appendf(nil, `{"crv":"P-256","kty":"EC","x":"%s","y":"%s"}`, b64(point[1:1+p256Size]), b64(point[1+p256Size:]))
	case *rsa.PublicKey:
		return fmt.Appendf(nil, `{"e":"%s","kty":"RSA","n":"%s"}`, b64(big.NewInt(int64(public.E)).Bytes()), b64(public.N.Bytes()))
	default:
		return nil
	}
}

// JWK returns the public key in the form of RFC 7517, with alg, kid (the thumbprint) and use. It returns nil for the zero Key and for an
// AddressKey.
func (k Key) JWK() []byte {
	members := k.members()
	if members == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"alg":"%s","kid":"%s","use":"sig",%s`, k.algorithm, k.thumbprint, members[1:])
}

// Keys returns the keys that verify at now, for all purposes, sorted by id.
func (k *Keyring) Keys(now time.Time) []SigningKey {
	var out []SigningKey
	for _, v := range k.family.set.Load().keys {
		if v.live(now) {
			out = append(out, v.SigningKey)
		}
	}
	slices.SortFunc(out, func(a, b SigningKey) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Current returns the id of the key with which this process signs.
func (k *Keyring) Current() ID { return k.signing.Load().ID }

// withPurpose returns the public key of s with the member uim_purpose.
func withPurpose(s SigningKey) []byte {
	return append(append(bytes.TrimSuffix(bytes.TrimSpace(s.JWK), []byte("}")), `,"uim_purpose":"`+s.Purpose.Name()+`"`...), '}')
}

// SetOf returns the document of RFC 7517 section 5 with the given keys. They have the member uim_purpose: pat, receipt, log or card.
func SetOf(list []SigningKey) ([]byte, error) {
	keys := []json.RawMessage{}
	for _, s := range list {
		keys = append(keys, withPurpose(s))
	}
	out, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		return nil, fmt.Errorf("encoding the key set: %w", err)
	}
	return out, nil
}

// PublicKey returns the value of uim-public-key in agents.json: the DER SubjectPublicKeyInfo of a key, in standard base64. It is the key
// with the lowest id that signs at now or, if no key signs, the key with the lowest id that verifies. It is empty if there is no key.
func (k *Keyring) PublicKey(now time.Time) string {
	keys := slices.DeleteFunc(k.Keys(now), func(s SigningKey) bool { return s.Purpose != k.purpose })
	if len(keys) == 0 {
		return ""
	}
	lowest := keys[0]
	if i := slices.IndexFunc(keys, func(s SigningKey) bool { return s.NotAfter.IsZero() }); i >= 0 {
		lowest = keys[i]
	}
	return base64.StdEncoding.EncodeToString(k.family.set.Load().keys[lowest.ID].Key.SPKI())
}
