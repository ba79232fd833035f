package bindings_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uimgate/uimgate/bindings/announce"
	"github.com/uimgate/uimgate/gateway/service"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// Patterns from the schema of server.json.
var (
	serverName = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	remoteURL  = regexp.MustCompile(`^(https?://[^\s]+|\{[a-zA-Z_][a-zA-Z0-9_]*\}[^\s]*)$`)
)

func TestServerJSON(t *testing.T) {
	g := gatetest.New(t, "")
	s := *g.Directory.Current().Service("default").Definition
	long := *s.Catalog
	long.Service.Description, long.Service.Name = strings.Repeat("wörd ", 100), strings.Repeat("ü", 200)
	for name, tt := range map[string]struct {
		change          func(*service.Definition)
		domain, version string
		want            string // expected name
		err             string
	}{
		"unchanged":                {nil, "shop.example", "1.0.0", "example.shop/default", ""},
		"another domain":           {nil, "api.1and1.example", "1.0.0", "example.1and1.api/default", ""},
		"long texts":               {func(d *service.Definition) { d.Catalog = &long }, "shop.example", "1.0.0", "example.shop/default", ""},
		"a prerelease":             {nil, "shop.example", "2.0.0-rc.1+build.7", "example.shop/default", ""},
		"a version of two numbers": {nil, "shop.example", "1.0", "", announce.ErrVersion.Error()},
		"a range":                  {nil, "shop.example", "^1.0.0", "", announce.ErrVersion.Error()},
		"a leading zero":           {nil, "shop.example", "1.02.0", "", announce.ErrVersion.Error()},
		"the version latest":       {nil, "shop.example", "latest", "", announce.ErrVersion.Error()},
		"no endpoint":              {func(d *service.Definition) { d.Doors = nil }, "shop.example", "1.0.0", "", announce.ErrNoEndpoint.Error()},
		"a very long name": {
			func(d *service.Definition) { d.ID = strings.Repeat("x", 200) }, "shop.example", "1.0.0",
			"", "at most 200 characters",
		},
	} {
		d := s
		if tt.change != nil {
			tt.change(&d)
		}
		c, err := announce.ServerJSON(&d, tt.domain, tt.version)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %s", name, err, tt.err)
			}
			continue
		}
		if err != nil || c.Name != tt.want || c.Version != tt.version || !serverName.MatchString(c.Name) {
			t.Errorf("%s: %+v %v", name, c, err)
		}
		for _, text := range []string{c.Description, c.Title} {
			if n := utf8.RuneCountInString(text); n < 1 || n > 100 {
				t.Errorf("%s: %q has %d characters", name, text, n)
			}
		}
		if len(c.Remotes) != 1 || c.Remotes[0].Type != "streamable-http" || c.Remotes[0].URL != d.At("/mcp") ||
			!remoteURL.MatchString(c.Remotes[0].URL) || c.Remotes[0].Versions != nil || c.Remotes[0].Headers != nil {
			t.Errorf("%s: %+v", name, c.Remotes)
		}
	}
	without := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+
		gatetest.Unproved+", doors: {mcp: {consent: false}}}\n")
	c, err := announce.ServerJSON(without.Directory.Current().Service("default").Definition, "shop.example", "1.0.0")
	if err != nil || len(c.Remotes[0].Headers) != 1 || c.Remotes[0].Headers[0].Name != "Authorization" || !c.Remotes[0].Headers[0].Secret {
		t.Errorf("without consent: %+v %v", c, err)
	}
	// The server card is unchanged.
	if text := string(g.Get("/mcp/server-card").Body); !strings.Contains(text, `/server-card.schema.json"`) ||
		!strings.Contains(text, `"supportedProtocolVersions":`) {
		t.Error(text)
	}
}
