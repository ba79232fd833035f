package agent

import (
	"net/http"
	"testing"
)

func TestReplacementInLinks(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		`<https://shop.example/api/intents/shop.example:find:v2>; rel="successor-version"`:      "shop.example:find:v2",
		`<https://shop.example/api/intents/shop.example%3Afind%3Av2>; rel="successor-version"`:  "shop.example:find:v2",
		`</api/intents/shop.example:find:v2>; type="application/json"; rel="successor-version"`: "shop.example:find:v2",
		`<https://shop.example/api/policy?digest=sha-256%3AJx1>; rel="successor-version"`:       "",
		`<https://shop.example/api/intents/shop.example:find:v2>; rel="help"`:                   "",
		`https://shop.example/api/intents/shop.example:find:v2>; rel="successor-version"`:       "",
		`<https://shop.example/api/intents/shop.example:find%0A:v2>; rel="successor-version"`:   "",
		`<://>; rel="successor-version"`: "",
		"":                               "",
	} {
		h := http.Header{"Sunset": {"Tue, 01 Dec 2026 00:00:00 GMT"}, "Link": {`<https://shop.example/>; rel="help"`, link}}
		if got := readSunset(h); got == nil || got.ReplacedBy != want || got.Terms {
			t.Errorf("%s: %+v, want %q", link, got, want)
		}
		h.Set("Deprecation", "@1795262400")
		if got := readSunset(h); got == nil || got.ReplacedBy != "" || !got.Terms {
			t.Errorf("%s, with new terms: %+v, want no intent", link, got)
		}
	}
}
