package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
)

var (
	comments = regexp.MustCompile(`(?m)  # (default|from).*$`)
	masks    = regexp.MustCompile(`(?m)^(store|  issuer): .*\n`) // masked only if the value comes from a file
)

// A dump with its secrets filled in loads as the same configuration.
func TestDumpShowsEffectiveConfig(t *testing.T) {
	dir := directory(t)
	pair(t, dir)
	env := environment(map[string]string{"UIMGATE_ADMIN_TOKEN": "0123456789abcdef", "UIMGATE_LISTEN": "127.0.0.1:8443"})
	facts := "  fixed: {account: \"${file:secret}\"}\n  issuer: \"${file:secret}\"\n" +
		"  facts: {purpose: [{claim: purpose}, {value: [\"a, b\", \"c: d #e\", \"yes\"]}, {agents: {agent-1: [x]}}]}\n"
	for name, text := range map[string]string{
		"five lines": five + facts,
		"everything": everything,
		"password":   strings.Replace(everything, "${file:secret}@db.example/uimgate", "s3cr3t-of-the-store@db.example/uimgate?sslpassword=s3cr3t-too", 1),
	} {
		c := mustLoad(t, dir, text, config.Overrides{Env: env})
		dump := string(c.Dump().YAML())
		if strings.Contains(dump, "s3cr3t") || strings.Contains(dump, "0123456789abcdef") || strings.Contains(dump, "PRIVATE") {
			t.Errorf("%s: the dump contains a secret:\n%s", name, dump)
		}
		if !strings.Contains(dump, `listen: 127.0.0.1:8443  # from UIMGATE_LISTEN`) ||
			name == "five lines" && !strings.Contains(dump, "  read_timeout: 10s  # default\n") {
			t.Errorf("%s: the dump lacks the sources of values:\n%s", name, dump)
		}
		filled := strings.NewReplacer(`store: "***"`, "store: postgres://db.example", `issuer: "***"`, "issuer: x",
			`"***"`, "X-Key:0123456789abcdef").Replace(dump)
		again, problems := load(t, dir, filled, config.Overrides{Env: env})
		if again == nil {
			t.Errorf("%s: %v\n%s", name, texts(dir, problems), filled)
			continue
		}
		settings := func(c *config.Config) string {
			text := comments.ReplaceAllString(string(c.Dump().YAML()), "")
			return masks.ReplaceAllString(text, "")
		}
		if diff := cmp.Diff(settings(c), settings(again)); diff != "" {
			t.Errorf("%s: after loading the dump (-before +after):\n%s", name, diff)
		}
		var tree struct {
			Server   struct{ Listen string }
			Services []map[string]any
			Admin    map[string]any
		}
		inJSON, err := json.Marshal(c.Dump())
		if err == nil {
			err = json.Unmarshal(inJSON, &tree)
		}
		if err != nil || tree.Server.Listen != "127.0.0.1:8443" || len(tree.Services) != len(c.Services) || tree.Admin["token"] != "***" {
			t.Errorf("%s: %v, %s", name, err, inJSON)
		}
	}
}

// A value of any type that comes from a file may be a secret.
func TestDumpMasksValuesFromFiles(t *testing.T) {
	dir := directory(t)
	if err := os.WriteFile(filepath.Join(dir, "number"), []byte("12345\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, dir, five+"server: {connections_per_address: '${file:number}'}\n", config.Overrides{})
	if dump := string(c.Dump().YAML()); c.Server.Connections != 12345 || strings.Contains(dump, "12345") {
		t.Errorf("%d connections:\n%s", c.Server.Connections, dump)
	}
}
