package doors

import (
	"context"
	"encoding/base64"
	"maps"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const maxSignatures = 20

func (d *Doors) a2aSigned(context.Context) point.Finding {
	switch list := d.a2a.card.List("signatures"); {
	case len(list) == 0:
		return point.Missing.Because("it has no signatures")
	case len(list) > maxSignatures:
		return point.Wrong.Because("it has more than %d signatures", maxSignatures)
	default:
		return point.Holds.Because("%d", len(list))
	}
}

// a2aSignatures verifies each signature with a key that the service publishes. It ignores the key location in the signature, because the
// author of the card chose it.
func (d *Doors) a2aSignatures(ctx context.Context) point.Finding {
	payloads, err := signedCards(d.a2a.card)
	switch {
	case err != nil:
		return point.Wrong.Because("the card has no canonical form: %v", err)
	case len(d.Keys) == 0:
		return point.Missing.Because("the service publishes no key that could verify them")
	}
	for i, item := range d.a2a.card.List("signatures") {
		signature, _ := strictjson.AsObject(item)
		if what := d.signatureFault(ctx, signature, payloads); what != "" {
			return point.Wrong.Because("/signatures/%d %s", i, what)
		}
	}
	if ctx.Err() != nil {
		return point.Failed(ctx.Err())
	}
	return point.Pass
}

// signedCards returns the candidates for the signed text: the card without its signatures, once as it is and once without empty members,
// which some signers omit. A2A 1.0, 8.4.1.
func signedCards(card strictjson.Object) ([][]byte, error) {
	plain := maps.Clone(card)
	delete(plain, "signatures")
	asServed, err := strictjson.Canonical(plain)
	if err != nil {
		return nil, err
	}
	short, _ := withoutEmpty(map[string]any(plain))
	asShort, err := strictjson.Canonical(short)
	return [][]byte{asServed, asShort}, err
}

// withoutEmpty returns a tree without empty strings, lists and objects. ok is false if nothing is left.
func withoutEmpty(v any) (out any, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, inner := range v {
			if kept, ok := withoutEmpty(inner); ok {
				m[name] = kept
			}
		}
		return m, len(m) > 0
	case []any:
		list := []any{}
		for _, inner := range v {
			if kept, ok := withoutEmpty(inner); ok {
				list = append(list, kept)
			}
		}
		return list, len(list) > 0
	case string:
		return v, v != ""
	}
	return v, true
}

// signatureFault describes what is wrong with one signature, or returns "" if it is valid. Its algorithm must be that of the key. RFC
// 7515, 7.2.1.
func (d *Doors) signatureFault(ctx context.Context, signature strictjson.Object, payloads [][]byte) string {
	protected := signature.Text("protected")
	raw, err := base64.RawURLEncoding.DecodeString(protected)
	if err != nil {
		return "has a protected header that is not base64url"
	}
	head, err := strictjson.DecodeObject(raw)
	if err != nil {
		return "has a protected header that is not a JSON object"
	}
	given, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(signature.Text("signature"), "="))
	if err != nil {
		return "is not base64url"
	}
	if head.Text("kid") == "" || head.Text("alg") == "" {
		return "has no kid or no alg in its protected header"
	}
	for _, key := range d.Keys {
		method := jwt.GetSigningMethod(key.Algorithm())
		if method == nil || head.Text("alg") != key.Algorithm() {
			continue
		}
		for _, payload := range payloads {
			message := protected + "." + base64.RawURLEncoding.EncodeToString(payload)
			if ctx.Err() != nil || method.Verify(message, given, key.Public()) == nil {
				return ""
			}
		}
	}
	return "is not a signature of this card with a key that the service publishes"
}
