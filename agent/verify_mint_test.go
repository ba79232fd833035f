package agent_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/golang-jwt/jwt/v5"
)

// A mint is a proxy between agents and the gateway. It replaces the gateway's PATs with its own, and translates them back in requests,
// so the service accepts a PAT with any fault.
type mint struct {
	key  ed25519.PrivateKey
	sign func(m *mint, header, claims map[string]any) string
	part func(token string) string // returns the part of a PAT that the mint compares; nil: all of it

	mu        sync.Mutex
	originals map[string]string // keyed by the PAT that replaces the original
}

func newMint(sign func(m *mint, header, claims map[string]any) string) *mint {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return &mint{key: key, sign: sign, originals: map[string]string{}}
}

func (m *mint) between(gateway string) http.Handler {
	spki, err := x509.MarshalPKIXPublicKey(m.key.Public())
	if err != nil {
		panic(err)
	}
	next := proxy(gateway, func(r *http.Response) error {
		switch r.Request.URL.Path {
		case "/agents.json", "/.well-known/agents.json":
			if r.StatusCode == http.StatusOK {
				return edited(r, func(tree map[string]any) { tree["uim-public-key"] = base64.StdEncoding.EncodeToString(spki) })
			}
		case "/.well-known/jwks.json":
			return edited(r, func(tree map[string]any) {
				x := base64.RawURLEncoding.EncodeToString(m.key.Public().(ed25519.PublicKey))
				tree["keys"] = append(tree["keys"].([]any), map[string]any{"kty": "OKP", "crv": "Ed25519", "x": x})
			})
		case "/api/pat/issue", "/api/pat/renew":
			if r.StatusCode == http.StatusOK {
				return edited(r, func(tree map[string]any) { tree["uim-pat"] = m.replace(tree["uim-pat"].(string)) })
			}
		}
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			r.Header.Set("Authorization", "Bearer "+m.original(token))
		}
		if r.URL.Path == "/api/pat/revoke" {
			body, _ := io.ReadAll(r.Body)
			form, _ := url.ParseQuery(string(body))
			form.Set("token", m.original(form.Get("token")))
			text := form.Encode()
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		}
		next.ServeHTTP(w, r)
	})
}

func (m *mint) replace(token string) string {
	header, claims := decoded(token, 0), decoded(token, 1)
	header["alg"] = "EdDSA"
	own := m.sign(m, header, claims)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.originals[own] = token
	return own
}

func (m *mint) original(token string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if own, ok := m.originals[token]; ok {
		return own
	}
	if m.part != nil {
		if own, ok := m.originals[m.part(token)]; ok {
			return own
		}
		for known, own := range m.originals {
			if m.part(known) == m.part(token) {
				return own
			}
		}
	}
	return token
}

func decoded(token string, part int) map[string]any {
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[part])
	if err != nil {
		panic(err)
	}
	var tree map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		panic(err)
	}
	return tree
}

func encoded(tree map[string]any) string {
	text, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// signed makes a PAT like the gateway's with some claims changed. A nil claim is left out.
func signed(change map[string]any) func(*mint, map[string]any, map[string]any) string {
	return func(m *mint, header, claims map[string]any) string {
		maps.Copy(claims, change)
		maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
		input := encoded(header) + "." + encoded(claims)
		return input + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(m.key, []byte(input)))
	}
}

func unsigned(_ *mint, header, claims map[string]any) string {
	header["alg"] = "none"
	return encoded(header) + "." + encoded(claims) + "."
}

func symmetric(_ *mint, header, claims map[string]any) string {
	token := &jwt.Token{Header: header, Claims: jwt.MapClaims(claims), Method: jwt.SigningMethodHS256}
	header["alg"] = "HS256"
	text, err := token.SignedString([]byte("secret"))
	if err != nil {
		panic(err)
	}
	return text
}

// careless returns a mint that compares only a part of each PAT.
func careless(part func(string) string) func(string) http.Handler {
	m := newMint(signed(nil))
	m.part = part
	return m.between
}

// unpublished signs PATs with a key that the service does not publish.
func unpublished(gateway string) http.Handler {
	other := newMint(signed(nil))
	return newMint(func(_ *mint, header, claims map[string]any) string { return other.sign(other, header, claims) }).between(gateway)
}

// verifyRedirecting redirects the first call with a valid PAT.
func verifyRedirecting(gateway string) http.Handler {
	m := newMint(signed(nil))
	next := m.between(gateway)
	var once atomic.Bool
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if r.URL.Path == "/api/intents/execute" && m.original(token) != token && once.CompareAndSwap(false, true) {
			http.Redirect(w, r, "http://127.0.0.1:9/", http.StatusTemporaryRedirect)
			return
		}
		next.ServeHTTP(w, r)
	})
}
