package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/agentcmd"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// An agentHome is the home directory of the commands of one agent.
type agentHome struct {
	t     *testing.T
	stdin string
}

func newAgentHome(t *testing.T) *agentHome {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("UIMGATE_AGENT_ID", "")
	return &agentHome{t: t}
}

// agent runs a command with its own state, as a new process would.
func (h *agentHome) agent(args ...string) (stdout, stderr string, err error) {
	h.t.Helper()
	root := &cobra.Command{Use: "uimgate", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(agentcmd.Command())
	var out, errOut bytes.Buffer
	root.SetArgs(append([]string{"agent"}, args...))
	root.SetIn(strings.NewReader(h.stdin))
	root.SetOut(&out)
	root.SetErr(&errOut)
	err = root.ExecuteContext(h.t.Context())
	return out.String(), errOut.String(), err
}

func (h *agentHome) ok(args ...string) string {
	h.t.Helper()
	stdout, stderr, err := h.agent(args...)
	if err != nil {
		h.t.Fatalf("%v: %v\n%s%s", args, err, stdout, stderr)
	}
	return stdout
}

func (h *agentHome) json(args ...string) map[string]any {
	h.t.Helper()
	var data map[string]any
	if err := json.Unmarshal([]byte(h.ok(append(args, "-o", "json")...)), &data); err != nil {
		h.t.Fatalf("%v: %v", args, err)
	}
	return data
}

func (h *agentHome) usage(want string, args ...string) {
	h.t.Helper()
	_, _, err := h.agent(args...)
	var usage cli.UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
		h.t.Errorf("%v: %v, want a usage error with %q", args, err, want)
	}
}

// theShop starts a service with the real time, because the commands use that.
func theShop(t *testing.T) *agenttest.Service {
	t.Helper()
	shop := agenttest.New(t, agenttest.Canonical)
	shop.Clock.SetNow()
	return shop
}

func TestAgentCommandsFromKeyToRevocation(t *testing.T) {
	h, shop := newAgentHome(t), theShop(t)
	if made := h.json("keygen"); made["algorithm"] != "EdDSA" || !strings.HasPrefix(made["agent_id"].(string), "agent-") {
		t.Errorf("got %v", made)
	}
	if _, _, err := h.agent("keygen"); err == nil {
		t.Error("a key was overwritten")
	}
	if out := h.ok("discover", shop.URL); !strings.Contains(out, agenttest.Search+"  query [limit] [filter]") ||
		!strings.Contains(out, "0.01 USD") {
		t.Error(out)
	}
	if data := h.json("discover", shop.URL); data["issuer"] != agenttest.Issuer || len(data["intents"].([]any)) != 2 {
		t.Errorf("got %v", data)
	}
	if data := h.json("search", shop.URL, "goods"); len(data["intents"].([]any)) != 1 {
		t.Errorf("got %v", data)
	}
	policy := h.json("policy", shop.URL)
	if policy["digest"] != shop.Digest() {
		t.Errorf("got %v", policy)
	}
	h.usage(shop.Digest(), "agree", shop.URL)
	if shop.Requests("/api/pat/issue") != 0 {
		t.Fatal("the command signed without --digest or --yes")
	}
	if data := h.json("agree", shop.URL, "--digest", shop.Digest()); data["form"] != "fresh" || len(data["scope"].([]any)) != 2 {
		t.Errorf("got %v", data)
	}
	out := h.ok("execute", agenttest.Search, "query=7", "limit=5", `filter={"a":1.50}`)
	if want := "{\n  \"echo\": {\n    \"filter\": {\n      \"a\": 1.50\n    },\n    \"limit\": 5,\n    \"query\": \"7\"\n  }\n}\n"; out != want {
		t.Errorf("got %v, want %v", out, want)
	}
	if data := h.json("execute", agenttest.Order, "--params", `{"query":"tea"}`, "--service",
		shop.URL); data["charge"].(map[string]any)["amount"] != "0.01" || data["idempotency_key"] == "" {
		t.Errorf("got %v", data)
	}
	h.stdin = `{"query":"tea"}`
	h.ok("execute", agenttest.Search, "--params", "-", "limit=1")
	if calls := shop.Calls(); len(calls) != 3 { // no call was refused because of a missing proof
		t.Errorf("%d calls", len(calls))
	}
	h.ok("renew")
	h.ok("execute", agenttest.Search, "query=tea")
	h.ok("revoke", shop.URL)
	_, _, err := h.agent("execute", agenttest.Search, "query=tea")
	if err == nil || !strings.Contains(err.Error(), "no agreement permits") {
		t.Errorf("err = %v, want an error that contains %q", err, "no agreement permits")
	}
}

func TestAgentExecuteReadsParametersAsTheirType(t *testing.T) {
	h, shop := newAgentHome(t), theShop(t)
	h.ok("keygen")
	h.ok("agree", shop.URL, "--yes")
	h.usage("of type integer", "execute", agenttest.Search, "limit=canary")
	h.usage("did you mean limit?", "execute", agenttest.Search, "limits=5")
	h.usage("given twice", "execute", agenttest.Search, "query=a", "query=b")
	h.usage("given twice", "execute", agenttest.Search, "query=a", "--params", `{"query":"b"}`)
	h.usage("name=value", "execute", agenttest.Search, "query")
	h.usage("line 1", "execute", agenttest.Search, "--params", `{"query":`)
	h.usage("line 1", "execute", agenttest.Search, "--params", `[]`)
	if n := len(shop.Calls()); n != 0 {
		t.Errorf("got %d calls, want 0", n)
	}
	file := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(file, []byte(`{"query":"a=b"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ok("execute", agenttest.Search, "--params", "@"+file)
	h.ok("execute", agenttest.Search, "query=a=b")
	for _, c := range shop.Calls() {
		if c.Parameters["query"] != "a=b" {
			t.Errorf("got %v", c.Parameters)
		}
	}
}

func TestAgentErrorsAreData(t *testing.T) {
	h, shop := newAgentHome(t), theShop(t)
	h.ok("keygen")
	h.ok("agree", shop.URL, "--yes")
	reply := agenttest.Reply{
		Status: 400,
		Body:   `{"error":{"code":"INVALID_PARAMETER","message":"m","details":{"reason":"UNKNOWN_PARAMETER","suggestion":"Leave it out.","violations":[{"pointer":"/x","message":"no such parameter"}]}}}`,
	}
	shop.Script(reply, reply)
	stdout, stderr, err := h.agent("execute", agenttest.Search, "-o", "json")
	var data struct {
		Error struct{ Reason, Suggestion string }
	}
	if decodeErr := json.Unmarshal([]byte(stdout), &data); decodeErr != nil || err == nil || data.Error.Reason != "UNKNOWN_PARAMETER" ||
		stderr != "" {
		t.Errorf("got %s%s%v", stdout, stderr, err)
	}
	stdout, stderr, err = h.agent("execute", agenttest.Search)
	if err == nil || stdout != "" || !strings.Contains(stderr, "no such parameter") || !strings.Contains(stderr, "Leave it out.") {
		t.Errorf("got %s%s%v", stdout, stderr, err)
	}
	rejected := agenttest.Reply{
		Status: 400,
		Body: `{"error":{"code":"INVALID_PARAMETER","message":"m","details":{"reason":"UPSTREAM_REJECTED",` +
			`"upstream":{"status":200,"message":"channel_not_found"}}}}`,
	}
	shop.Script(rejected, rejected)
	if _, stderr, err = h.agent("execute", agenttest.Search); err == nil || !strings.Contains(stderr, "channel_not_found") {
		t.Errorf("the service's message is not shown: %s%v; want a text that contains %q, an error", stderr, err, "channel_not_found")
	}
	stdout, _, err = h.agent("execute", agenttest.Search, "-o", "json")
	if err == nil || !strings.Contains(stdout, `"upstream": {
      "message": "channel_not_found"`) {
		t.Errorf("got %s%v; want a text that contains %q, an error", stdout, err, `"upstream": {
      "message": "channel_not_found"`)
	}
	retired := agenttest.Reply{
		Status: 410,
		Body: `{"error":{"code":"GONE","message":"m","details":{"reason":"INTENT_DEPRECATED","nearest":7,` +
			`"suggestion":"Use the intent that details.replaced_by names.","replaced_by":"shop.example:new\u0007:v2","versions":["a:b:v1","a:b:v2",3]}}}`,
	}
	shop.Script(retired, retired)
	if _, stderr, err = h.agent("execute", agenttest.Search); err == nil ||
		!strings.Contains(stderr, "  replaced_by: shop.example:new :v2\n  versions: a:b:v1, a:b:v2\n") {
		t.Errorf("the details of the suggestion are not shown: %q %v", stderr, err)
	}
	stdout, _, err = h.agent("execute", agenttest.Search, "-o", "json")
	if err == nil || !strings.Contains(stdout, `"replaced_by": "shop.example:new`) || strings.Contains(stdout, "nearest") {
		t.Errorf("got %s%v", stdout, err)
	}
	shop.Offer(t, `{"uid":"`+agenttest.PolicyUID+`","permission":[]}`)
	stdout, _, err = h.agent("execute", agenttest.Search, "-o", "json")
	if err == nil || !strings.Contains(stdout, `"offered": "`+shop.Digest()+`"`) {
		t.Errorf("got %s%v", stdout, err)
	}
	_, _, err = h.agent("agree", shop.URL, "--digest", "sha-256:"+strings.Repeat("A", 43))
	if err == nil || shop.Requests("/api/pat/issue") != 1 {
		t.Errorf("err = %v", err)
	}
}

// Two agents of one user have separate data directories.
func TestAgentDataDirectory(t *testing.T) {
	h, shop := newAgentHome(t), theShop(t)
	dir := filepath.Join(t.TempDir(), "second")
	h.ok("keygen", "--data", dir)
	h.ok("agree", shop.URL, "--yes", "--data", dir)
	h.ok("execute", agenttest.Search, "query=tea", "--data", dir)
	for _, path := range []string{"agent.pem", "agreements"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := h.agent("execute", agenttest.Search, "query=tea"); err == nil || !strings.Contains(err.Error(), "keygen") {
		t.Errorf("err = %v, want an error that the default directory has no key", err)
	}
}

func TestAgentWithoutKey(t *testing.T) {
	h, shop := newAgentHome(t), theShop(t)
	h.ok("discover", shop.URL)
	if _, _, err := h.agent("agree", shop.URL, "--yes"); err == nil || !strings.Contains(err.Error(), "keygen") {
		t.Errorf("err = %v, want an error that contains %q", err, "keygen")
	}
	h.usage("text or json", "discover", shop.URL, "-o", "yaml")
	h.usage("algorithm", "keygen", "--algorithm", "HS256")
}

func TestAgentHelpShowsAnExample(t *testing.T) {
	for _, c := range agentcmd.Command().Commands() {
		if !strings.Contains(c.Example, "uimgate agent "+c.Name()) {
			t.Errorf("%s has no example", c.Name())
		}
	}
}

// agree prints the terms in the sentences of the page of a service before it signs.
func TestAgentAgreeExplainsTheTerms(t *testing.T) {
	h, shop := newAgentHome(t), theShop(t)
	h.ok("keygen")
	_, text, err := h.agent("agree", shop.URL)
	if err == nil || !strings.Contains(text, "What is permitted\n") || !strings.Contains(text, "may call") {
		t.Errorf("without flags: %v\n%s", err, text)
	}
	if _, text, err = h.agent("agree", shop.URL, "--yes"); err != nil || !strings.Contains(text, "What is permitted\n") {
		t.Errorf("--yes: %v\n%s", err, text)
	}
	if shop.Requests("/api/pat/issue") != 1 {
		t.Error("the first command signed")
	}
}
