package bindings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/mcp"
	"github.com/uimgate/uimgate/bindings/uagents"
	"github.com/uimgate/uimgate/gateway/door"
	configtest "github.com/uimgate/uimgate/internal/test/config"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

var blocks = door.Blocks([]door.Module{&mcp.Door{}, &uagents.Door{}})

func TestBlockOpensDoor(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	dir.Write(t, "seed.txt", "a seed of the operator\n")
	for doors, want := range map[string]bool{
		"":                                   false,
		"  doors: {mcp: {enabled: false}}\n": false,
		"  doors: {uagents: {}}\n":           true,
		"  doors: {uagents: {key_file: seed.txt}}": true,
	} {
		c, problems := dir.Load(t, blocks, configtest.Service+doors)
		if c == nil {
			t.Fatal(doors, problems)
		}
		u, open := c.Services[0].OpenDoors()[uagents.Name].(*uagents.Settings)
		if open != want || open && (u.Path != "/submit" || u.KeyFile.Data != nil) {
			t.Errorf("%s: %+v", doors, u)
		}
	}
}

// The address of a service follows from the seed in its key_file, without the end of the line. Without key_file, the service has a seed of
// its own.
func TestAddressFollowsFromKeyFile(t *testing.T) {
	t.Parallel()
	const operators = "a seed of the operator"
	want := string(keyOf(t, operators).Address())
	for setting, same := range map[string]bool{"key_file: seed.txt": true, "path: /submit": false} {
		g := gatetest.New(t, strings.Replace(uagentsSettings, "key_file: seed.txt", setting, 1), func(g *gatetest.Gate) {
			g.Write("seed.txt", operators+"\n")
		})
		if got := g.Addresses("uagents")["address"]; got == "" || (got == want) != same {
			t.Errorf("%s: the address is %q, that of the seed is %q", setting, got, want)
		}
	}
}

// An envelope names its service by the address, which is derived from the seed, so two services must not share a seed.
func TestSeedsMustDiffer(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	dir.Write(t, "one.txt", "a seed of the operator\n")
	dir.Write(t, "two.txt", "a seed of the operator\r\n")
	dir.Write(t, "three.txt", "another seed of the operator\n")
	file := "services:\n"
	for i, name := range []string{"one", "two", "three"} {
		file += fmt.Sprintf("- {id: %[1]s, issuer: %[1]s, hosts: [%[1]s.example], public_url: https://%[1]s.example, agents_file: agents.json, "+
			"policy_file: policy.json, upstream: {url: http://127.0.0.1:900%[2]d}, doors: {uagents: {key_file: %[1]s.txt}}}\n", name, i)
	}
	_, problems := dir.Load(t, blocks, file)
	text := fmt.Sprint(problems)
	if !strings.Contains(text, "services[1].doors.uagents.key_file: its seed already belongs to services[0]") ||
		strings.Contains(text, "services[2]") || strings.Contains(text, "of the operator") {
		t.Error(text)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	const agent = "agent1qf5gfqm48k9acegez3sg82ney2aa6l5fvpwh3n3z0ajh0nam3ssgwnn5me7"
	for rules, want := range map[string]string{
		`"http://127.0.0.1:8001/submit"`:                  "[http://127.0.0.1:8001/submit]",
		`[http://a.example/, "https://b.example:8001/x"]`: "[http://a.example https://b.example:8001/x]",
		"[]":              "",
		"ftp://a.example": "",
		"[7]":             "",
		"{a: b}":          "",
		"[" + strings.Repeat("http://a,", 11) + "]": "",
	} {
		c, problems := dir.Load(t, blocks, configtest.Service+"  doors: {uagents: {rules: {"+agent+": "+rules+"}}}\n")
		if want == "" {
			if c != nil || !strings.Contains(fmt.Sprint(problems), "or a list of 1 to 10") {
				t.Errorf("%s: %v", rules, problems)
			}
			continue
		}
		if c == nil {
			t.Fatal(rules, problems)
		}
		if u, ok := c.Services[0].OpenDoors()[uagents.Name].(*uagents.Settings); !ok || fmt.Sprint(u.Rules[agent]) != want {
			t.Errorf("%s: %+v", rules, u)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	for doors, want := range map[string][]string{
		"  doors: {mcp: {path: /agents}, uagents: {path: /agents/submit, key_file: agents.json}}\n": {
			`uimgate.yaml:6: services[0].doors.uagents.path: "/agents/submit" and "/agents" overlap: choose another path`,
			`uimgate.yaml:6: services[0].doors.uagents.key_file: agents.json does not contain a seed: want one line of 16 to 1000 characters`,
		},
		"  doors: {mcp: {path: /v1}, uagents: {path: /v1/almanac/submit, registry: true, almanac: agentverse.ai, rules: {shop: \"http://a\"}}}\n": {
			`uimgate.yaml:6: services[0].doors.uagents.path: "/v1/almanac/submit" and "/v1" overlap: choose another path`,
			`uimgate.yaml:6: services[0].doors.uagents.path: "/v1/almanac/submit" conflicts with the paths of the Almanac`,
			`uimgate.yaml:6: services[0].doors.uagents.registry: "/v1/almanac" and "/v1" overlap: choose another path`,
			`uimgate.yaml:6: services[0].doors.uagents.almanac: the value is not valid: want an http:// or https:// URL without user, query and fragment`,
			`uimgate.yaml:6: services[0].doors.uagents.rules["shop"]: is not the address of an agent: want agent1 and 59 more characters`,
		},
		"  doors: {mcp: {path: /agent_info}}\n": {
			`uimgate.yaml:6: services[0].doors.mcp.path: "/agent_info" is reserved for the gateway: choose another path`,
		},
	} {
		c, problems := dir.Load(t, blocks, configtest.Service+doors)
		if diff := cmp.Diff(want, problems); diff != "" || c != nil {
			t.Errorf("%s: %s", doors, diff)
		}
	}
}

func TestSettingsWarnings(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	for text, want := range map[string]string{
		"  doors: {uagents: {almanac: \"https://agentverse.ai\"}}\n": "services[0].doors.uagents.almanac: the service registers itself there " +
			"with its public_url, which other machines cannot reach",
		"  doors: {uagents: {almanac: \"http://127.0.0.1:8000\"}}\n": "",
		"  doors: {uagents: {}}\n":                                   "",
		"  doors: {uagents: {}}\nstore: postgres://u:p@127.0.0.1/x\n": "services[0].doors.uagents: its key_file is empty: " +
			"each gateway on this store would be a different agent; give all of them the same file",
	} {
		c, problems := dir.Load(t, blocks, configtest.Service+text)
		var expected []string
		if want != "" {
			expected = []string{"uimgate.yaml:6: warning: " + want}
		}
		if diff := cmp.Diff(expected, problems); diff != "" || c == nil {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
