package intents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestPublishedKeepsDocumentBytes(t *testing.T) {
	doc := strings.Replace(shop, "?full={full}", "", 1)
	c := strict(t, doc)
	got, err := c.Published([]intents.Extra{
		{Name: "uim-public-key", Value: "KEY"},
		{Name: "uim-policy-file", Value: "https://g/policy"},
		{Name: "uim-api-discovery", Value: "https://g/s"},
		{Name: "uim-api-execute", Value: `https://g/"x"`},
		{Name: "uim-issuer", Value: "example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		`, "from": "/data/items"`, ``, `"required": true, "from": "/data/n"`, `"required": true`,
		`"uim-license": null`, `"uim-license": null,
  "uim-public-key": "KEY",
  "uim-api-discovery": "https://g/s",
  "uim-api-execute": "https://g/\"x\"",
  "uim-issuer": "example.com"`).Replace(doc)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	again := strict(t, string(got))
	if again.PolicyFile != "https://example.com/policy.json" || again.Issuer != "example.com" {
		t.Errorf("got %+v; want PolicyFile %q and Issuer %q", again, "https://example.com/policy.json", "example.com")
	}
	if unfilled, err := strict(t, one(`"tags": []`)).Published(nil); err != nil || string(unfilled) != one(`"tags": []`) {
		t.Errorf("got %s, %v", unfilled, err)
	}
}

func TestPublishedFillsNullAndEmpty(t *testing.T) {
	c := strict(t, `{"uim-public-key": null, "uim-policy-file" : "", "service-info": {"name": "S"}, "intents": []}`)
	got, err := c.Published([]intents.Extra{{Name: "uim-public-key", Value: "K"}, {Name: "uim-policy-file", Value: "https://g/p"}})
	if want := `{"uim-public-key": "K", "uim-policy-file" : "https://g/p", "service-info": {"name": "S"}, "intents": []}`; err != nil ||
		string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	bare, list := intents.Parse([]byte(`{"intents":[]}`), intents.Options{})
	if bare == nil {
		t.Fatal(list)
	}
	const want = "{\"intents\":[],\n  \"uim-issuer\": \"a\"}"
	if got, err := bare.Published([]intents.Extra{{Name: "uim-issuer", Value: "a"}}); err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

// The pointer into the upstream's response is private.
func TestFromIsNotPublished(t *testing.T) {
	for outputs, want := range map[string]string{
		`[{"from": "/a", "name": "x", "type": "any"}]`:                              `[{"name": "x", "type": "any"}]`,
		`[{"name": "x", "type": "any", "\u0066rom": "/a"}]`:                         `[{"name": "x", "type": "any"}]`,
		`{"x": {"from": "/a"}, "from": {"type": "any", "from": "/b", "title": ""}}`: `{"x": {}, "from": {"type": "any", "title": ""}}`,
		`[{"name": "from", "type": "object", "properties": {"from": ` +
			`{}}}]`: `[{"name": "from", "type": "object", "properties": {"from": {}}}]`,
	} {
		c := strict(t, one(`"x-note": {"from": 1}, "output_parameters": `+outputs))
		i := c.Intents()[0]
		published, err := c.Published(nil)
		if err != nil || string(published) != one(`"x-note": {"from": 1}, "output_parameters": `+want) {
			t.Errorf("got %s", published)
		}
		if !strings.Contains(string(published), string(i.JSON())) {
			t.Errorf("the single intent differs: %s", i.JSON())
		}
		if wire, err := json.Marshal(i); err != nil || !json.Valid(wire) {
			t.Errorf("got %s %v", wire, err)
		}
		if _, err := strictjson.Decode(published); err != nil {
			t.Error(err)
		}
	}
}
