package dns01_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mholt/acmez/v3/acme"

	"github.com/uimgate/uimgate/internal/acme/dns01"
	"github.com/uimgate/uimgate/internal/test/acmeca"
)

func challenge(name string) acme.Challenge {
	return acme.Challenge{KeyAuthorization: "token.thumbprint", Identifier: acme.Identifier{Type: "dns", Value: name}}
}

func TestRecordIsAddedSeenAndRemoved(t *testing.T) {
	t.Parallel()
	dns := acmeca.Start(t, acmeca.Options{}).DNS
	for _, zone := range []string{"", "shop.example"} {
		s := dns01.Solver{Server: dns.Address, Zone: zone, KeyName: acmeca.KeyName, Algorithm: "hmac-sha256.", Secret: acmeca.KeySecret}
		for _, name := range []string{"shop.example", "a.b.shop.example"} {
			if err := s.Present(t.Context(), challenge(name)); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(t.Context(), challenge(name)); err != nil {
				t.Fatal(err)
			}
		}
		if _, left := dns.Updates(); left != 2 {
			t.Errorf("got %d records, want 2", left)
		}
		for _, name := range []string{"shop.example", "a.b.shop.example"} {
			if err := s.CleanUp(t.Context(), challenge(name)); err != nil {
				t.Fatal(err)
			}
		}
		if _, left := dns.Updates(); left != 0 {
			t.Errorf("%d records were left", left)
		}
	}
}

func TestErrorsDoNotContainTheKey(t *testing.T) {
	t.Parallel()
	dns := acmeca.Start(t, acmeca.Options{}).DNS
	other := "b3RoZXItc2VjcmV0"
	for want, s := range map[string]dns01.Solver{
		"REFUSED":                            {},
		"is not authoritative for a zone of": {KeyName: acmeca.KeyName, Algorithm: "hmac-sha256.", Secret: acmeca.KeySecret},
		"updating _acme-challenge":           {KeyName: acmeca.KeyName, Algorithm: "hmac-sha256.", Secret: other, Zone: "shop.example"},
		"connection refused":                 {Server: "127.0.0.1:9", Zone: "shop.example"},
		"in the zone other.example.":         {KeyName: acmeca.KeyName, Algorithm: "hmac-sha256.", Secret: acmeca.KeySecret, Zone: "other.example"},
	} {
		name := "shop.example"
		if want == "is not authoritative for a zone of" {
			name = "other.example"
		}
		if s.Server == "" {
			s.Server = dns.Address
		}
		err := s.Present(t.Context(), challenge(name))
		text := fmt.Sprint(err)
		if err == nil || !strings.Contains(text, want) || strings.Contains(text, acmeca.KeySecret) || strings.Contains(text, other) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := dns01.Solver{Server: acmeca.Start(t, acmeca.Options{}).DNS.Address}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx, challenge("shop.example")); err == nil {
		t.Error("a record that was never added was seen")
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"uimgate:c2VjcmV0":                     "hmac-sha256. uimgate. c2VjcmV0",
		"hmac-sha512:Gate.example.:YWI=":       "hmac-sha512. gate.example. YWI=",
		"":                                     "want algorithm:name:secret",
		"uimgate":                              "want algorithm:name:secret",
		"a:b:c:d":                              "want algorithm:name:secret",
		"hmac-md5:uimgate:c2VjcmV0":            "the algorithm is not one of",
		"uimgate:top secret":                   "the secret is not base64",
		strings.Repeat("a", 300) + ":c2VjcmV0": "the name is not a domain name",
	} {
		algorithm, name, secret, err := dns01.ParseKey(text)
		got := algorithm + " " + name + " " + secret
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%.20s: %q; want %q", text, got, want)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("hmac-sha256:uimgate:c2VjcmV0")
	f.Add("::")
	f.Fuzz(func(t *testing.T, text string) {
		algorithm, name, secret, err := dns01.ParseKey(text)
		if err != nil {
			if i := strings.LastIndex(text, ":"); i >= 0 && len(text)-i > 24 && strings.Contains(err.Error(), text[i+1:]) {
				t.Errorf("the error has the secret: %v", err)
			}
			return
		}
		again, againName, againSecret, err := dns01.ParseKey(algorithm + ":" + name + ":" + secret)
		if err != nil || again != algorithm || againName != name || againSecret != secret {
			t.Errorf("%q: %q, %q and %v", text, again, againName, err)
		}
	})
}
