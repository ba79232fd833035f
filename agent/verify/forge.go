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
)

// refusedToken executes with a PAT that must not be taken. Where the service looks for the intent first,
// and there is none that could safely be named, it cannot be told.
func (v *visit) refusedToken(ctx context.Context, token string) finding {
	if _, f := v.executeAt(ctx); f.outcome != Holds {
		return f
	}
	c, safe := v.safeCall()
	if !safe {
		c = call{uid: v.noIntent(), parameters: map[string]any{}}
	}
	a, err := v.execute(ctx, token, c)
	switch {
	case err != nil:
		return broken(err)
	case a.Status == http.StatusUnauthorized:
		return good
	case a.Status >= http.StatusInternalServerError:
		return failed(a)
	case a.Status/100 == 2:
		return wrong("it is taken")
	case a.Status == http.StatusTooManyRequests:
		return skipped("the service takes no more requests of this kind now")
	case !safe && a.Status == http.StatusNotFound:
		return skipped("the service looks for the intent first, and has none that may be tried")
	}
	return wrong("it is answered %d, not 401", a.Status)
}

func (v *visit) patGarbage(ctx context.Context) finding { return v.refusedToken(ctx, "uimgate-verify") }

// signedPart is the middle of the PAT as other tokens carry it: header and payload changed.
func (t jwtText) signedPart(header, payload map[string]any) (string, error) {
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

// patTampered changes the first bits of the signature; the last ones may be padding.
func (v *visit) patTampered(ctx context.Context) finding {
	parts := v.token.parts()
	if parts[2] == "" {
		return skipped("there is no signature")
	}
	first := byte('A')
	if parts[2][0] == first {
		first = 'B'
	}
	return v.refusedToken(ctx, parts[0]+"."+parts[1]+"."+string(first)+parts[2][1:])
}

// patAltered lets the PAT live longer, under the signature it has.
func (v *visit) patAltered(ctx context.Context) finding {
	exp := v.o.Client.Now().Add(time.Hour)
	if was, ok := v.token.date("exp"); ok {
		exp = was.Add(time.Hour)
	}
	signed, err := v.token.signedPart(nil, map[string]any{"exp": exp.Unix()})
	if err != nil {
		return skipped("%v", err)
	}
	return v.refusedToken(ctx, signed+"."+v.token.parts()[2])
}

func (v *visit) patUnsigned(ctx context.Context) finding {
	signed, err := v.token.signedPart(map[string]any{"alg": "none"}, nil)
	if err != nil {
		return skipped("%v", err)
	}
	return v.refusedToken(ctx, signed+".")
}

// patHMAC tries the forms of the public key that a library may take for a secret.
func (v *visit) patHMAC(ctx context.Context) finding {
	if len(v.keys) == 0 {
		return skipped("the service publishes no key")
	}
	signed, err := v.token.signedPart(map[string]any{"alg": "HS256"}, nil)
	if err != nil {
		return skipped("%v", err)
	}
	spki := v.keys[0].SPKI()
	secrets := [][]byte{spki, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki})}
	if v.keyText != "" {
		secrets = append(secrets, []byte(v.keyText))
	}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(signed))
		if f := v.refusedToken(ctx, signed+"."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil))); f.outcome != Holds {
			return f
		}
	}
	return good
}

func (v *visit) patOtherKey(ctx context.Context) finding {
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
