package keys

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/internal/strictjson"
)

const maxJWSHeader = 8 << 10

var errMalformedJWS = errors.New("not a compact JWS")

// A JWS holds the parts of a compact JWS whose signature is not verified. See RFC 7515, section 7.1.
type JWS struct {
	Alg, KeyID string
	SentTyp    string
	Typ        string // lowercase, without application/
	JWK        []byte // as in the header; nil if absent
	Payload    []byte
	signature  []byte
	input      string // the bytes that the signature covers
}

// ParseJWS splits and decodes a compact JWS without verifying its signature. It returns an error if text is longer than limit bytes or is
// not a compact JWS, or if its header has crit, b64, zip or enc.
func ParseJWS(text string, limit int) (JWS, error) {
	if len(text) > limit || strings.Count(text, ".") != 2 {
		return JWS{}, errMalformedJWS
	}
	last := strings.LastIndexByte(text, '.')
	head, body, _ := strings.Cut(text[:last], ".")
	if len(head) > maxJWSHeader {
		return JWS{}, errMalformedJWS
	}
	raw, err := DecodeSegment(head)
	if err != nil {
		return JWS{}, errMalformedJWS
	}
	j := JWS{input: text[:last]}
	extended := false
	read := strictjson.Members(raw, func(name, value []byte) {
		switch string(name) {
		case "alg":
			j.Alg, _ = strictjson.Text(value)
		case "kid":
			j.KeyID, _ = strictjson.Text(value)
		case "typ":
			j.SentTyp, _ = strictjson.Text(value)
		case "jwk":
			j.JWK = value
		case "crit", "b64", "zip", "enc": // no extension is supported, nor an unencoded payload (RFC 7797)
			extended = true
		}
	})
	if !read || extended {
		return JWS{}, errMalformedJWS
	}
	j.Typ = strings.TrimPrefix(strings.ToLower(j.SentTyp), "application/") // RFC 7515 4.1.9
	if j.Payload, err = DecodeSegment(body); err != nil {
		return JWS{}, errMalformedJWS
	}
	if j.signature, err = DecodeSegment(text[last+1:]); err != nil || len(j.signature) == 0 {
		return JWS{}, errMalformedJWS
	}
	return j, nil
}

// PublicKey returns the header's jwk. It returns false if the header has no jwk, or if the jwk is not an object.
func (j JWS) PublicKey() (map[string]any, bool) {
	jwk, err := strictjson.DecodeObject(j.JWK)
	return jwk, err == nil
}

// DecodeSegment decodes base64url without padding. It rejects the line breaks that encoding/base64 ignores, so that each value has only one
// encoding.
func DecodeSegment(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errMalformedJWS
	}
	return base64.RawURLEncoding.Strict().DecodeString(s)
}

// Method returns the implementation of a signature algorithm, or nil if the algorithm is not supported.
func Method(algorithm string) jwt.SigningMethod { return methods[algorithm] }

// methods are the supported signature algorithms. HMAC and "none" are not among them.
var methods = map[string]jwt.SigningMethod{
	EdDSA: jwt.SigningMethodEdDSA, ES256: jwt.SigningMethodES256, RS256: jwt.SigningMethodRS256,
}

// SignedBy reports whether k signed j. The key determines the algorithm, which the header's alg must name.
func (j JWS) SignedBy(k Key) bool {
	alg := j.Alg
	if alg == "Ed25519" { // RFC 9864
		alg = EdDSA
	}
	if alg != k.algorithm {
		return false
	}
	method, ok := methods[k.algorithm]
	return ok && method.Verify(j.input, j.signature, k.public) == nil
}

// SignJWS makes a compact JWS, and sets alg in header. New must accept the signer's public key.
func SignJWS(signer crypto.Signer, header map[string]any, payload any) (string, error) {
	key, err := New(signer.Public())
	if err != nil {
		return "", err
	}
	header["alg"] = key.algorithm
	head, err := json.Marshal(header)
	if err != nil {
		return "", fmt.Errorf("encoding the header: %w", err)
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return "", fmt.Errorf("encoding the payload: %w", err)
	}
	input := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	signature, err := sign(signer, []byte(input))
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// A DetachedJWS is a signature whose payload is sent separately. RFC 7515 appendix F.
type DetachedJWS struct {
	Protected string // the header, in base64url
	Signature string // in base64url
}

// Signer returns the id of the key that will sign next. If the current key was retired, Signer first replaces it.
func (k *Keyring) Signer(ctx context.Context) (ID, error) {
	signer, err := k.PrivateKey(ctx)
	if err != nil {
		return "", err
	}
	return signer.ID, nil
}

// SignDetached signs a payload with the key of this process. It sets alg and kid in a copy of header. If the current key was retired,
// SignDetached first replaces it.
func (k *Keyring) SignDetached(ctx context.Context, header map[string]any, payload []byte) (DetachedJWS, error) {
	signer, err := k.PrivateKey(ctx)
	if err != nil {
		return DetachedJWS{}, err
	}
	header = maps.Clone(header)
	if header == nil {
		header = map[string]any{}
	}
	header["alg"], header["kid"] = signer.Algorithm, signer.ID
	head, err := json.Marshal(header)
	if err != nil {
		return DetachedJWS{}, fmt.Errorf("encoding the header: %w", err)
	}
	protected := base64.RawURLEncoding.EncodeToString(head)
	signature, err := sign(signer.Private, []byte(protected+"."+base64.RawURLEncoding.EncodeToString(payload)))
	if err != nil {
		return DetachedJWS{}, fmt.Errorf("signing: %w", err)
	}
	return DetachedJWS{protected, base64.RawURLEncoding.EncodeToString(signature)}, nil
}

// sign returns a signature of the message in the format of JOSE. See RFC 7518, sections 3.3 and 3.4; RFC 8037, section 3.1.
func sign(signer crypto.Signer, message []byte) ([]byte, error) {
	sum := sha256.Sum256(message)
	switch signer.Public().(type) {
	case ed25519.PublicKey:
		return signer.Sign(rand.Reader, message, crypto.Hash(0))
	case *rsa.PublicKey:
		return signer.Sign(rand.Reader, sum[:], crypto.SHA256)
	case *ecdsa.PublicKey:
		der, err := signer.Sign(rand.Reader, sum[:], crypto.SHA256)
		if err != nil {
			return nil, err
		}
		var rs struct{ R, S *big.Int }
		if _, err := asn1.Unmarshal(der, &rs); err != nil {
			return nil, fmt.Errorf("decoding the signature: %w", err)
		}
		raw := make([]byte, 2*p256Size)
		rs.R.FillBytes(raw[:p256Size])
		rs.S.FillBytes(raw[p256Size:])
		return raw, nil
	default:
		return nil, ErrUnsupported
	}
}
