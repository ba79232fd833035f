package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/examples"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestSettingsOfDoors runs uimgate check on the settings in the pages about other protocols, for the example shop. In a block, "…" stands
// for omitted settings.
func TestSettingsOfDoors(t *testing.T) {
	t.Parallel()
	const shop = "agents_file: shop/agents.json\n  policy_file: shop/policy.json\n  upstream: {url: http://127.0.0.1:9000}\n"
	for page, blocks := range map[string]int{"a2a": 1, "aea": 1, "mrp": 2, "uagents": 2} {
		text, err := os.ReadFile("../../docs/protocols/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		found := yamlBlock.FindAllSubmatch(text, -1)
		if len(found) != blocks {
			t.Errorf("%s.md has %d blocks of settings, want %d", page, len(found), blocks)
		}
		for i, block := range found {
			t.Run(page+" "+strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				write := func(name, text string) {
					t.Helper()
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.CopyFS(dir, examples.Files); err != nil {
					t.Fatal(err)
				}
				settings := string(block[1])
				if !strings.Contains(settings, "services:\n") {
					settings += "services:\n- …\n"
				}
				settings = strings.Replace(settings, "\n- doors:", "\n- …\n  doors:", 1)
				settings = strings.Replace(settings, "\n- …\n", "\n- "+shop, 1)
				settings = strings.ReplaceAll(settings, "/run/secrets/", "./") // the directory with the test's keys
				write("mrp.key", strings.Repeat("7a", 32))
				write("uimgate.yaml", "billing: {credit: 10 EUR}\n"+settings)
				if got := command(t, "", "check", "-c", filepath.Join(dir, "uimgate.yaml")); got.code != exitDone {
					t.Errorf("%s\n%s%s", settings, got.out, got.errors)
				}
			})
		}
	}
}
