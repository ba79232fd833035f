package toolname_test

import (
	"testing"

	"github.com/uimgate/uimgate/intents/toolname"
)

func TestReverse(t *testing.T) {
	t.Parallel()
	for issuer, want := range map[string]string{
		"shop.example":                  "example.shop",
		"https://shop.example:8443/api": "example.shop",
		"a-b.shop.example":              "example.shop.a-b",
		"localhost":                     "localhost",
		"127.0.0.1":                     "uim",
		"1a.shop.example":               "example.shop",
		"":                              "uim",
	} {
		if got := toolname.Reverse(issuer); got != want {
			t.Errorf("Reverse(%q) = %q, want %q", issuer, got, want)
		}
		if got := toolname.Member(issuer); got != want+"/intent" {
			t.Errorf("Member(%q) = %q, want %q", issuer, got, want+"/intent")
		}
	}
}
