package pat_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func base64url(s string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(s) }

// private returns the Ed25519 key that signs the PATs of a world.
func (w *world) private(tb testing.TB) ed25519.PrivateKey {
	tb.Helper()
	return privateOf(tb, w.files.pem)
}

func TestInvalidTokens(t *testing.T) {
	w := newWorld(t)
	issued := w.issue(t, w.fresh(t, "agent", newEd()))
	own := edSign(w.private(t))
	kid := w.keys.Current()
	public := w.keys.Keys(w.now())[0].JWK
	type m = map[string]any
	for name, tt := range map[string]struct {
		header, payload m
		sign            func([]byte) []byte
		want            error
	}{
		"valid":                      {nil, nil, own, nil},
		"unknown claim":              {nil, m{"new": 1}, own, nil},
		"alg none":                   {m{"alg": "none"}, nil, func([]byte) []byte { return nil }, pat.ErrInvalid},
		"alg none, signed":           {m{"alg": "none"}, nil, own, pat.ErrInvalid},
		"HS256 with our key":         {m{"alg": "HS256"}, nil, hmacWith(public), pat.ErrInvalid},
		"HS256 with our SPKI":        {m{"alg": "HS256"}, nil, hmacWith(must(keys.ParseJWK(public)).SPKI()), pat.ErrInvalid},
		"EdDSA, signed by HMAC":      {nil, nil, hmacWith(public), pat.ErrInvalid},
		"alg RS256":                  {m{"alg": "RS256"}, nil, own, pat.ErrInvalid},
		"alg Ed25519":                {m{"alg": "Ed25519"}, nil, own, pat.ErrInvalid},
		"alg as a list":              {m{"alg": []string{"EdDSA"}}, nil, own, pat.ErrInvalid},
		"another key":                {nil, nil, edSign(newEd()), pat.ErrInvalid},
		"own key in the header":      {m{"jwk": json.RawMessage(keyOf(t, edKey()).JWK())}, nil, edSign(edKey()), pat.ErrInvalid},
		"unknown kid":                {m{"kid": "nobody"}, nil, own, pat.ErrInvalid},
		"kid that is a path":         {m{"kid": "../../../../dev/null"}, nil, own, pat.ErrInvalid},
		"kid that is a URL":          {m{"kid": "http://169.254.169.254/key"}, nil, own, pat.ErrInvalid},
		"kid of 1 MB":                {m{"kid": strings.Repeat("x", 5000)}, nil, own, pat.ErrInvalid},
		"kid with SQL":               {m{"kid": "' OR 1=1 --"}, nil, own, pat.ErrInvalid},
		"no kid":                     {m{"kid": nil}, nil, own, pat.ErrInvalid},
		"jku":                        {m{"kid": "x", "jku": "http://127.0.0.1/keys"}, nil, edSign(newEd()), pat.ErrInvalid},
		"typ JWT":                    {m{"typ": "JWT"}, nil, own, pat.ErrInvalid},
		"typ of a proof":             {m{"typ": pat.TypeProof}, nil, own, pat.ErrInvalid},
		"no typ":                     {m{"typ": nil}, nil, own, pat.ErrInvalid},
		"critical extension":         {m{"crit": []string{"exp"}}, nil, own, pat.ErrInvalid},
		"another issuer":             {nil, m{"iss": "bank.example", "aud": "bank.example"}, own, pat.ErrInvalid},
		"another audience":           {nil, m{"aud": "bank.example"}, own, pat.ErrInvalid},
		"audiences":                  {nil, m{"aud": []string{issuer, "bank.example"}}, own, pat.ErrInvalid},
		"expired":                    {nil, m{"exp": noon.Unix() - 30, "nbf": noon.Unix() - 90}, own, pat.ErrExpired},
		"expired within leeway":      {nil, m{"exp": noon.Unix() - 29, "nbf": noon.Unix() - 90}, own, nil},
		"not yet valid":              {nil, m{"nbf": noon.Unix() + 31}, own, pat.ErrNotYetValid},
		"valid within leeway":        {nil, m{"nbf": noon.Unix() + 30}, own, nil},
		"issued in the future":       {nil, m{"iat": noon.Unix() + 31}, own, pat.ErrNotYetValid},
		"ends before it begins":      {nil, m{"nbf": noon.Unix() + 20, "exp": noon.Unix() + 10}, own, pat.ErrInvalid},
		"exp as text":                {nil, m{"exp": "9999999999"}, own, pat.ErrInvalid},
		"exp too large":              {nil, m{"exp": 1e18}, own, pat.ErrInvalid},
		"negative exp":               {nil, m{"exp": -1}, own, pat.ErrInvalid},
		"scope as text":              {nil, m{"scope": search + ":execute"}, own, pat.ErrInvalid},
		"empty scope":                {nil, m{"scope": []string{}}, own, pat.ErrInvalid},
		"scope with a number":        {nil, m{"scope": []any{1}}, own, pat.ErrInvalid},
		"unknown assurance":          {nil, m{"assurance": "perfect"}, own, pat.ErrInvalid},
		"lmt without period":         {nil, m{"lmt": m{"rate": 1}}, own, pat.ErrInvalid},
		"lmt with an unknown period": {nil, m{"lmt": m{"rate": 1, "period": 7}}, own, pat.ErrInvalid},
		"negative lmt":               {nil, m{"lmt": m{"rate": -1, "period": 60}}, own, pat.ErrInvalid},
		"fractional lmt":             {nil, m{"lmt": m{"rate": 1.5, "period": 60}}, own, pat.ErrInvalid},
		"cnf with another member":    {nil, m{"cnf": m{"kid": "x"}}, own, pat.ErrInvalid},
		"deep payload":               {nil, m{"x": deep(1000)}, own, pat.ErrInvalid},
		"huge":                       {nil, m{"x": strings.Repeat("x", pat.MaxToken)}, own, pat.ErrInvalid},
	} {
		header := m{"alg": "EdDSA", "typ": pat.TypePAT, "kid": kid}
		var payload m
		if err := json.Unmarshal(must(base64url(strings.Split(issued.Token, ".")[1])), &payload); err != nil {
			t.Fatal(err)
		}
		for _, claim := range []string{"exp", "iat", "nbf"} {
			payload[claim] = int64(payload[claim].(float64))
		}
		maps.Copy(header, tt.header)
		maps.Copy(payload, tt.payload)
		token := jws(t, header, payload, tt.sign)
		for range 2 { // the second token comes from the cache
			if c, err := w.verify(t, token); !errors.Is(err, tt.want) || (err != nil) != (c == nil) {
				t.Errorf("%s: %v, want %v", name, err, tt.want)
			}
		}
	}
	// Each claim is required.
	for claim := range strings.FieldsSeq("agr aud cnf exp iat iss jti lmt nbf pol pol_digest scope sub") {
		for _, v := range []any{nil, true, []any{}, m{}} {
			var payload m
			if err := json.Unmarshal(must(base64url(strings.Split(issued.Token, ".")[1])), &payload); err != nil {
				t.Fatal(err)
			}
			payload[claim] = v
			if v == true {
				delete(payload, claim)
			}
			if _, err := w.verify(t, jws(t, m{"alg": "EdDSA", "typ": pat.TypePAT, "kid": kid}, payload, own)); !errors.Is(err, pat.ErrInvalid) {
				t.Errorf("%s = %v: %v, want %v", claim, v, err, pat.ErrInvalid)
			}
		}
	}
	twice := strings.Replace(string(must(base64url(strings.Split(issued.Token, ".")[1]))), "{", `{"sub":"root",`, 1)
	if _, err := w.verify(t, jws(t, m{"alg": "EdDSA", "typ": pat.TypePAT, "kid": kid}, []byte(twice), own)); !errors.Is(err, pat.ErrInvalid) {
		t.Errorf("a member twice: %v, want %v", err, pat.ErrInvalid)
	}
	for name, token := range map[string]string{
		"nonsense": "nonsense", "dots": "..", "additional part": issued.Token + ".x",
		"missing part": issued.Token[:strings.LastIndexByte(issued.Token, '.')],
		"padding":      issued.Token + "=", "a newline at the end": issued.Token + "\n",
		"a newline in the signature": issued.Token[:len(issued.Token)-9] + "\r\n" + issued.Token[len(issued.Token)-9:],
		"a newline":                  issued.Token[:20] + "\n" + issued.Token[20:], "unused bits set": issued.Token[:len(issued.Token)-1] +
			otherDigit(issued.Token[len(issued.Token)-1]),
		"Bearer": "Bearer " + issued.Token, "huge": strings.Repeat("A", 10<<20),
	} {
		if _, err := w.verify(t, token); !errors.Is(err, pat.ErrInvalid) {
			t.Errorf("%s: %v, want %v", name, err, pat.ErrInvalid)
		}
	}
	if _, err := w.verify(t, ""); !errors.Is(err, pat.ErrMissing) {
		t.Errorf("none: %v, want %v", err, pat.ErrMissing)
	}
}

func TestTokenExpires(t *testing.T) {
	w := newWorld(t)
	token := w.issue(t, w.fresh(t, "agent", newEd())).Token
	w.advance(t, time.Hour+29*time.Second)
	if _, err := w.verify(t, token); err != nil {
		t.Errorf("within the leeway: %v", err)
	}
	w.advance(t, time.Second)
	for range 2 {
		if _, err := w.verify(t, token); !errors.Is(err, pat.ErrExpired) {
			t.Errorf("after it: %v, want %v", err, pat.ErrExpired)
		}
	}
}

func TestTokenOfAnotherService(t *testing.T) {
	w := newWorld(t)
	token := w.issue(t, w.fresh(t, "agent", newEd())).Token
	other, err := pat.NewVerifier(pat.VerifierConfig{Service: "bank", Issuer: "bank.example", Keys: w.keys, View: w.view})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Verify(t.Context(), token, w.now()); !errors.Is(err, pat.ErrInvalid) {
		t.Errorf("got %v, want %v", err, pat.ErrInvalid)
	}
}

func TestIntrospection(t *testing.T) {
	w := newWorld(t)
	issued := w.issue(t, w.fresh(t, "agent", newEd()))
	introspect := func(token, digest string) string {
		t.Helper()
		i, err := w.issuer.Verifier().Introspect(t.Context(), token, (&terms{offer: pat.Offer{Digest: digest}}).Holds, w.now())
		if err != nil {
			t.Fatal(err)
		}
		return string(must(json.Marshal(i)))
	}
	c := issued.Claims
	want := `{"active":true,"token_type":"Bearer","scope":"` + search + `:execute ` + buy +
		`:execute","client_id":"agent","sub":"agent","iss":"shop.example","aud":"shop.example",` +
		`"jti":"` + string(c.ID) + `","iat":1795262400,"nbf":1795262400,"exp":1795266000,"pol":"https://shop.example/api/policy","pol_digest":"` +
		c.PolicyDigest + `",` +
		`"agr":"` + string(c.Agreement) + `","lmt":{"rate":1000,"period":3600},"cnf":{"jkt":"` + string(c.KeyID) + `"},"assurance":"fresh"}`
	if got := introspect(issued.Token, w.terms.offer.Digest); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	const inactive = `{"active":false}`
	if got := introspect("x", w.terms.offer.Digest); got != inactive {
		t.Errorf("got %v, want %v", got, inactive)
	}
	if got := introspect(issued.Token, offerOf(t, policyV2).Digest); got != inactive {
		t.Errorf("after a policy change: %s, want %s", got, inactive)
	}
	w.add(2 * time.Second)
	if _, err := w.issuer.Verifier().Introspect(t.Context(), issued.Token, w.terms.Holds, w.now()); !errors.Is(err, pat.ErrUnavailable) {
		t.Errorf("with a stale view: %v, want %v", err, pat.ErrUnavailable)
	}
}

// FuzzVerify checks that no variant of an issued PAT verifies.
func FuzzVerify(f *testing.F) {
	w := newWorld(f)
	token := w.issue(f, w.fresh(f, "agent", newEd())).Token
	f.Add(token, uint(0), byte(0))
	f.Add(token, uint(30), byte(1))
	f.Add("", uint(0), byte(0))
	f.Fuzz(func(t *testing.T, text string, at uint, flip byte) {
		mutated := []byte(text)
		if len(mutated) > 0 {
			mutated[at%uint(len(mutated))] ^= flip
		}
		if c, err := w.verify(t, string(mutated)); err == nil && string(mutated) != token {
			t.Fatalf("%q verifies as %+v", mutated, c)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	w := newWorld(b)
	token := w.issue(b, w.fresh(b, "agent", newEd())).Token
	now := w.now()
	v := w.issuer.Verifier()
	b.Run("hit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.Verify(b.Context(), token, now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("hit in parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := v.Verify(b.Context(), token, now); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
	b.Run("miss", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			fresh, err := pat.NewVerifier(pat.VerifierConfig{Service: service, Issuer: issuer, Keys: w.keys, View: w.view})
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if _, err := fresh.Verify(b.Context(), token, now); err != nil {
				b.Fatal(err)
			}
		}
	})
}
