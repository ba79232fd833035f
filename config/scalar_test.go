package config

import (
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	for in, want := range map[string]string{
		"Shop.Example.": "shop.example", "localhost": "localhost", "10.0.0.1": "10.0.0.1", "::1": "::1", "[::1]": "::1",
		"::FFFF:10.0.0.1": "10.0.0.1", "my_shop": "my_shop",
		"": "", ".": "", "a..b": "", "-a": "", "a b": "", "a:1": "", "fe80::1%eth0": "", strings.Repeat("a", 64): "", "a/b": "", "*": "",
	} {
		if got, err := parseHost(in); (err != nil) != (want == "") || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestParseURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:9000": "http://127.0.0.1:9000", "HTTPS://Shop.Example/a/": "https://shop.example/a",
		"http://[::1]:80/": "http://[::1]:80", "http://[::1]": "http://[::1]",
		"http://a/b%2Fc/": "http://a/b%2Fc", "": "", "a": "", "ftp://a": "", "http://": "", "http:///x": "", "http://u@a": "", "http://a?b": "",
		"http://a?": "", "http://a#": "", "http://a:0": "",
		"http://a:": "", "http://a:99999": "", "http:a": "", "//a": "", "http://a b": "", "http://[::1%25eth0]": "",
	} {
		u, err := ParseURL(in)
		switch {
		case want == "" && (err == nil || u != nil):
			t.Errorf("%q: %v", in, u)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%q: %v, %v; want %q", in, u, err, want)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"http://a/b%2Fc/", "https://[::1]:8080", "http://a:80//", "http://a/" + strings.Repeat("\xd6", 4000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURL(s)
		if err != nil {
			if u != nil {
				t.Fatal("got an error and a value")
			}
			return
		}
		again, err := ParseURL(u.String())
		if err != nil || again.String() != u.String() || u.User != nil {
			t.Fatalf("%q: %v, then %v, %v", s, u, again, err)
		}
	})
}
