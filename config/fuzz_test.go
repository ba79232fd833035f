package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/problem"
)

// FuzzParse checks that Parse does not panic, that it returns either a Config or an error, that every problem has a position, and that no
// secret is shown.
func FuzzParse(f *testing.F) {
	f.Add([]byte(five))
	f.Add([]byte(everything))
	f.Add(config.Reference(bindings.Blocks()))
	for _, test := range problemCases {
		if len(test.file) < 2000 {
			f.Add([]byte(strings.Replace(test.file, "…", five, 1)))
		}
	}
	dir := directory(f)
	pair(f, dir)
	path := filepath.Join(dir, "uimgate.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := config.Parse(path, data, config.Overrides{Blocks: bindings.Blocks(), Env: environment(map[string]string{"A": "canary-value"})})
		if (c == nil) != problems.Failed() {
			t.Fatalf("config %v with %v", c != nil, problems)
		}
		for _, p := range problems {
			if p.Message == "" || p.File == "" || p.Level != problem.Error && p.Level != problem.Warning ||
				strings.Contains(p.Message, "canary-value") {
				t.Fatalf("got %+v", p)
			}
			if strings.Contains(p.Message, "s3cr3t-of-the-upstream") && !strings.Contains(string(data), "s3cr3t") {
				t.Fatalf("the problems contain a secret: %v", p)
			}
		}
		if c == nil {
			return
		}
		for _, s := range c.Services {
			if s.PublicURL == nil || s.Upstream.URL == nil || s.ID == "" || len(s.AgentsFile.SHA256) != 64 ||
				len(c.Services) > 1 && len(s.Hosts) == 0 {
				t.Fatalf("an unchecked service: %+v", s)
			}
		}
		if c.PAT.TTL <= 0 || c.Server.MaxBody <= 0 || c.PAT.Limit.Max <= 0 || len(c.Services) == 0 {
			t.Fatalf("an unchecked Config: %+v", c)
		}
	})
}
