package config_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
)

var update = flag.Bool("update", false, "rewrite schema.json and docs/reference/config.md")

func TestSchemaFileIsCurrent(t *testing.T) {
	schema, err := config.Schema(bindings.Blocks())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", schema, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile("schema.json")
	if err != nil || !bytes.Equal(kept, schema) {
		t.Errorf("schema.json differs from the types (%v): run make generate", err)
	}
}

// TestReferencePageIsCurrent compares docs/reference/config.md, which make generate writes, with the types.
func TestReferencePageIsCurrent(t *testing.T) {
	const page = "../docs/reference/config.md"
	want := "# Configuration\n\nFor operators: every setting with its default. `uimgate config reference` prints the same, and `uimgate config schema`\n" +
		"prints a JSON Schema for editors. [Configure a gateway](../operate/configure.md) explains them by task.\n\n```yaml\n" + string(config.Reference(bindings.Blocks())) + "```\n"
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != want {
		t.Errorf("%s differs from the types (%v): run make generate", page, err)
	}
}

func compiled(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	text, err := config.Schema(bindings.Blocks())
	if err != nil {
		tb.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.ExtractAnnotations = true
	if err := compiler.AddResource(config.SchemaID, bytes.NewReader(text)); err != nil {
		tb.Fatal(err)
	}
	schema, err := compiler.Compile(config.SchemaID)
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

// valid validates a YAML text against the schema.
func valid(tb testing.TB, schema *jsonschema.Schema, text string) error {
	tb.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		tb.Fatalf("%v in\n%s", err, text)
	}
	return schema.Validate(v)
}

func TestSchemaAcceptsWhatLoadAccepts(t *testing.T) {
	schema := compiled(t)
	dir := directory(t)
	for name, text := range map[string]string{
		"five lines": five,
		"the defaults, written out": `data: ./data
store: sqlite
server: {listen: 127.0.0.1:8080, tls: {cert: , key: }, trusted_proxies: [], max_body: 1MiB, read_timeout: 10s, per_address: 100/second, issue_per_address: 10/minute, drain_timeout: 20s}
admin:  {listen: 127.0.0.1:8081, token: "${UIMGATE_ADMIN_TOKEN:-}"}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: http://127.0.0.1:9000, execute: , timeout: 10s, concurrency: 1024, max_response: 8MiB, idempotency_header: , reconcile: {url: , done: , not_done: }, auth: {header: , headers: {}, query: {}, body: {}, basic: , oauth2: {token_url: , client_id: , client_secret: , scopes: []}}, breaker: {failures: 5, open_for: 10s}}
  id: default
  hosts: []
  public_url:
  issuer:
  parties: {}
  assignee: mapped
  intents: {}
pat: {algorithm: EdDSA, ttl: 1h, leeway: 30s, renew_grace: 0s, freshness: optional, admission: open, allow: [], limit: 10000/hour, newcomers: 100000/hour, suspend_after: 0}
billing: {mode: postpaid, credit: , newcomers: , retain: 400d}
audit: {parameters: false}
telemetry: {log: {level: info, format: auto}, metrics: true}
`,
		"the reference": string(config.Reference(bindings.Blocks())),
		"other spellings": five + `pat: {suspend_after: "5", allow: [` + jkt + `], leeway: 0, ttl: 1.5h, limit: 5 / hours}
server: {max_body: 1.5 MiB, trusted_proxies: [10.0.0.1]}
audit: {parameters: "${P:-true}"}
telemetry: {metrics: "true"}
`,
	} {
		if c, problems := load(t, dir, text, config.Overrides{Blocks: bindings.Blocks()}); c == nil || len(problems) > 0 {
			t.Errorf("%s: Load: %v", name, texts(dir, problems))
		}
		if err := valid(t, schema, text); err != nil {
			t.Errorf("%s: %#v", name, err)
		}
	}
	if err := valid(t, schema, everything); err != nil {
		t.Errorf("got %#v", err)
	}
}

// The schema cannot express all checks of Load, but editors must mark these mistakes.
func TestSchemaRejectsMistakes(t *testing.T) {
	schema := compiled(t)
	for name, text := range map[string]string{
		"no services": "data: x\n", "unknown key": five + "dta: x\n", "unknown key inside": five + "pat: {tll: 1h}\n",
		"no upstream": "services: [{agents_file: a, policy_file: p}]\n",
		"enum":        five + "pat: {algorithm: HS256}\n", "duration": five + "pat: {ttl: soon}\n", "rate": five + "pat: {limit: 5}\n",
		"list":       five + "pat: {allow: x}\n",
		"thumbprint": five + "pat: {allow: [x]}\n", "amount": five + "billing: {credit: 5}\n",
		"url":     strings.Replace(five, "http://", "ftp://", 1),
		"boolean": five + "audit: {parameters: maybe}\n", "number": five + "pat: {suspend_after: -1}\n",
		"party": five + "  parties: {'urn:a': }\n",
	} {
		if valid(t, schema, text) == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestEveryKeyHasADescription(t *testing.T) {
	var walk func(path string, s *jsonschema.Schema)
	walk = func(path string, s *jsonschema.Schema) {
		if s == nil {
			return
		}
		for key, p := range s.Properties {
			if !strings.HasSuffix(strings.TrimSpace(p.Description), ".") {
				t.Errorf("%s.%s: %q", path, key, p.Description)
			}
			walk(path+"."+key, p)
		}
		for _, form := range s.AnyOf {
			walk(path, form)
		}
		walk(path, s.Items2020)
		if more, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
			walk(path, more)
		}
	}
	walk("", compiled(t))
}

// The schema and Load accept every example configuration.
func TestExamplesLoad(t *testing.T) {
	schema, found := compiled(t), 0
	err := filepath.WalkDir("../examples", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() != "uimgate.yaml" {
			return err
		}
		found++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := valid(t, schema, string(text)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if c, problems := config.Load(path, config.Overrides{Blocks: bindings.Blocks(), Env: none}); c == nil {
			t.Errorf("%s: %v", path, problems)
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d examples, %v", found, err)
	}
}

// The reference shows the keys of mapping entries as comments after the mapping.
func TestReferenceShowsKeysOfEntries(t *testing.T) {
	reference := string(config.Reference(bindings.Blocks()))
	for _, c := range []struct{ mapping, entry, next string }{
		{"  parties: {}\n", "  #   <name>:\n  #     # 1 to 200 visible ASCII characters. Reserved for this party.\n  #     agent_id:", "  assignee:"},
		{"  intents: {}\n", "  #     ceiling:\n", "  fixed:"},
		{"  facts: {}\n", "  #     parameter:\n", "pat:"},
	} {
		_, after, found := strings.Cut(reference, c.mapping)
		entry, _, _ := strings.Cut(after, "\n"+c.next)
		if !found || !strings.Contains(entry, c.entry) {
			t.Errorf("after %q got\n%s\nwant it to contain %q", c.mapping, entry, c.entry)
		}
	}
}
