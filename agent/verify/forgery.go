package verify

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
)

// refusedToken makes a call with a PAT that must be rejected. If the service looks up the intent first, and no intent may be called, the
// check is skipped.
func (v *verification) refusedToken(ctx context.Context, token string) finding {
	if _, f := v.findExecute(ctx); f.Outcome != Holds {
		return f
	}
	c, safe := v.findSample()
	if !safe {
		c = call{uid: v.unknownUID(), parameters: map[string]any{}}
	}
	a, err := v.execute(ctx, token, c)
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status == http.StatusUnauthorized:
		return pass
	case a.Status >= http.StatusInternalServerError:
		return point.ServerError(a)
	case a.Status/100 == 2:
		return wrong("the service accepts the token")
	case a.Status == http.StatusTooManyRequests:
		return skipped("the service currently accepts no more requests of this kind")
	case !safe && a.Status == http.StatusNotFound:
		return skipped("the service looks up the intent first, and has none that may be called")
	}
	return wrong("the response is %d, not 401", a.Status)
}

func (v *verification) patGarbage(ctx context.Context) finding {
	return v.refusedToken(ctx, "uimgate-verify")
}

// signedPart returns the part of a PAT that the signature covers, with some members of header and payload replaced.
func (t patText) signedPart(header, payload map[string]any) (string, error) {
	var parts []string
	for _, m := range []struct{ from, with map[string]any }{{t.header, header}, {t.payload, payload}} {
		tree := maps.Clone(m.from)
		maps.Copy(tree, m.with)
		text, err := json.Marshal(tree)
		if err != nil {
			return "", err
		}
		parts = append(parts, base64.RawURLEncoding.EncodeToString(text))
	}
	return strings.Join(parts, "."), nil
}

// patTampered changes the first bits of the signature; the last bits may be padding.
func (v *verification) patTampered(ctx context.Context) finding {
	parts := v.token.parts()
	if parts[2] == "" {
		return skipped("the PAT has no signature")
	}
	first := byte('A')
	if parts[2][0] == first {
		first = 'B'
	}
	return v.refusedToken(ctx, parts[0]+"."+parts[1]+"."+string(first)+parts[2][1:])
}

// patAltered makes the PAT expire later, but keeps its signature.
func (v *verification) patAltered(ctx context.Context) finding {
	exp := v.Now().Add(time.Hour)
	if was, ok := v.token.numericDate("exp"); ok {
		exp = was.Add(time.Hour)
	}
	signed, err := v.token.signedPart(nil, map[string]any{"exp": exp.Unix()})
	if err != nil {
		return skipped("%v", err)
	}
	return v.refusedToken(ctx, signed+"."+v.token.parts()[2])
}

func (v *verification) patUnsigned(ctx context.Context) finding {
	signed, err := v.token.signedPart(map[string]any{"alg": "none"}, nil)
	if err != nil {
		return skipped("%v", err)
	}
	return v.refusedToken(ctx, signed+".")
}

// patHMAC signs with the encodings of the public key that a library may mistake for a secret.
func (v *verification) patHMAC(ctx context.Context) finding {
	if len(v.Keys) == 0 {
		return skipped("the service publishes no key")
	}
	signed, err := v.token.signedPart(map[string]any{"alg": "HS256"}, nil)
	if err != nil {
		return skipped("%v", err)
	}
	spki := v.Keys[0].SPKI()
	secrets := [][]byte{spki, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki})}
	if v.publicKeyText != "" {
		secrets = append(secrets, []byte(v.publicKeyText))
	}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(signed))
		if f := v.refusedToken(ctx, signed+"."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil))); f.Outcome != Holds {
			return f
		}
	}
	return pass
}

func (v *verification) patOtherKey(ctx context.Context) finding {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return skipped("%v", err)
	}
	signed, err := v.token.signedPart(map[string]any{"alg": "EdDSA"}, nil)
	if err != nil {
		return skipped("%v", err)
	}
	return v.refusedToken(ctx, signed+"."+base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(signed))))
}
