package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
)

// A verdict is the report of a verifier.
type verdict struct {
	OK                                              bool
	Problems                                        []struct{ Name, Where, Detail string }
	Entries, Charges, Logged, Agreements, Decisions int
}

// judge runs both verifiers of examples/evidence, and returns the report of the last one. It fails the test if they disagree. It returns
// false if no interpreter is installed.
func judge(t *testing.T, file string, args ...string) (v verdict, ok bool) {
	t.Helper()
	for _, command := range verifiers() {
		if _, err := exec.LookPath(command[0]); err != nil && os.Getenv(requireLanguages) != "1" {
			t.Logf("%s is not installed: %s is not run", command[0], command[1])
			continue
		}
		out, err := exec.CommandContext(t.Context(), command[0], append([]string{"../../examples/evidence/" + command[1], file},
			args...)...).Output()
		before, first := v, !ok
		v = verdict{}
		if jsonErr := json.Unmarshal(out, &v); jsonErr != nil || v.OK != (err == nil) || !first && v.OK != before.OK {
			t.Fatalf("%v: %v, %v, want ok %v\n%s", command, err, jsonErr, before.OK, out)
		}
		ok = true
	}
	return v, ok
}

// linesOf returns the lines of a bundle as text.
func linesOf(t *testing.T, file string) (list []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "gunzip", "-c", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestAgentBundle checks that the bundle of an agent is complete: both verifiers accept it, and find one altered byte in each kind of line.
func TestAgentBundle(t *testing.T) {
	t.Parallel()
	g := startGatewayOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"order":"one"}`)
	})
	dir, bundle := t.TempDir(), filepath.Join(t.TempDir(), "robot.jsonl.gz")
	agent := agentIn(t, dir, "--agent-id", "robot")
	agent("keygen")
	agent("agree", g.addresses.Listen, "--yes")
	// logged reconciles until the log has all entries of the agent's account, and exports them.
	logged := func(entries int) {
		t.Helper()
		await(t, func() bool {
			agent("receipts", "reconcile")
			agent("receipts", "export", bundle)
			count := map[string]int{}
			for _, l := range readBundle(t, bundle) {
				count[l.Type]++
			}
			return count["entry"] == entries && count["tlog-proof"] == entries
		})
	}
	agent("execute", "shop.example:order:v1", "product=lamp")
	want[billing.TopUpResult](g, "usage", "top-up", "robot", "10", "EUR", "--reference", "payment 1")
	logged(3)
	agent("execute", "shop.example:order:v1", "product=chair")
	logged(5)
	if s := agent("receipts", "verify"); !strings.Contains(s.out, "no problem was found") {
		t.Errorf("got %s", s.out)
	}
	v, installed := judge(t, bundle)
	if !installed {
		t.Skip("no verifier can be run")
	}
	if !v.OK || v.Entries != 5 || v.Charges != 2 || v.Logged != 5 || v.Agreements != 1 {
		t.Fatalf("got %+v", v)
	}
	lines, altered := linesOf(t, bundle), filepath.Join(t.TempDir(), "altered.jsonl")
	seen := map[string]bool{}
	for i, line := range lines {
		var l bundleLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if seen[l.Type] || l.Type == "uim-evidence" {
			continue
		}
		seen[l.Type] = true
		at := len(line) * 3 / 5
		for !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz", rune(line[at])) {
			at++
		}
		changed := append([]string{}, lines...)
		changed[i] = line[:at] + string(line[at]-'a'+'A') + line[at+1:]
		if err := os.WriteFile(altered, []byte(strings.Join(changed, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if v, _ := judge(t, altered); v.OK {
			t.Errorf("byte %d of a line %s was altered, and no problem was found: %s", at, l.Type, changed[i])
		}
	}
	for _, kind := range []string{"keys", "policy", "agreement", "entry", "tlog-proof", "checkpoint", "consistency"} {
		if !seen[kind] {
			t.Errorf("the bundle has no line %s", kind)
		}
	}
}

// TestAgentBundleOfEnvelopes checks the bundles of an agent that agrees and calls in envelopes of the uAgents protocol, as the agent and as
// the operator export them: both contain the agreement, and both verifiers accept them.
func TestAgentBundleOfEnvelopes(t *testing.T) {
	t.Parallel()
	g := startGatewayOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"order":"one"}`)
	})
	g.stop()
	settings, err := os.ReadFile(filepath.Join(g.dir, "uimgate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g.write("uimgate.yaml", strings.Replace(string(settings), "services: [{", "services: [{doors: {uagents: {}}, ", 1))
	g.start()
	dir, own, whole := t.TempDir(), filepath.Join(t.TempDir(), "own.jsonl.gz"), filepath.Join(t.TempDir(), "whole.jsonl.gz")
	agent := agentIn(t, dir, "--via", "uagents")
	address := strings.TrimSpace(agent("keygen").out)
	agent("agree", g.addresses.Listen, "--yes")
	agent("execute", "shop.example:order:v1", "product=lamp")
	await(t, func() bool {
		agent("receipts", "reconcile")
		agent("receipts", "export", own)
		count := map[string]int{}
		for _, l := range readBundle(t, own) {
			count[l.Type]++
		}
		return count["tlog-proof"] >= 2
	})
	if s := g.run("usage", "bundle", "--agent", address, "--month", time.Now().UTC().Format("2006-01"), "--out", whole); s.code != exitDone {
		t.Fatalf("got %+v", s)
	}
	for _, bundle := range []string{own, whole} {
		v, installed := judge(t, bundle)
		if installed && (!v.OK || v.Charges != 1 || v.Agreements != 1) {
			t.Errorf("%s: got %+v", filepath.Base(bundle), v)
		}
		for _, l := range linesOf(t, bundle) {
			var line struct {
				Type   string          `json:"type"`
				Export json.RawMessage `json:"export"`
			}
			if err := json.Unmarshal([]byte(l), &line); err != nil {
				t.Fatal(err)
			}
			if line.Type != "agreement" {
				continue
			}
			if s := command(t, string(line.Export), "agreements", "verify", "-"); s.code != exitDone || !strings.Contains(s.out+s.errors, address) {
				t.Errorf("%s: got %+v", filepath.Base(bundle), s)
			}
		}
	}
}

// TestBundleOverRotationAndRestore checks the bundle of a month in which the keys were replaced and a backup was restored: it has the
// entries that introduce the keys and begin the epoch, and both verifiers accept it, even if they know only the first keys.
func TestBundleOverRotationAndRestore(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	token, _ := g.agree("agent-1")
	bundle, month := filepath.Join(t.TempDir(), "a.jsonl.gz"), ""
	charge := func() {
		t.Helper()
		g.post("/api/intents/execute", token, ordering)
		open := want[api.Page[calls.Execution]](g, "usage", "executions", "--state", "unresolved").Items
		month = want[calls.Execution](g, "usage", "resolve", open[0].ID, "captured").SettledAt.UTC().Format("2006-01")
	}
	// logged writes the bundle until the log has the given number of entries of each kind.
	logged := func(kinds map[evidence.Kind]int) {
		t.Helper()
		await(t, func() bool {
			if s := g.run("usage", "bundle", "--agent", "agent-1", "--month", month, "--out", bundle); s.code != exitDone {
				t.Fatalf("got %+v", s)
			}
			count, proofs := map[evidence.Kind]int{}, 0
			for _, l := range readBundle(t, bundle) {
				if l.Type == "tlog-proof" {
					proofs++
				}
				if r, err := evidence.ParseReceipt(l.JWS); l.Type == "entry" && err == nil {
					count[r.Entry.Kind]++
					proofs--
				}
			}
			enough := proofs == 0
			for kind, n := range kinds {
				enough = enough && count[kind] >= n
			}
			return enough
		})
	}
	accepted := func(charges int) {
		t.Helper()
		v, installed := judge(t, bundle, "--opa")
		if installed && (!v.OK || v.Charges != charges || v.Decisions != charges || v.Logged != v.Entries) {
			t.Fatalf("got %+v", v)
		}
	}
	charge()
	logged(map[evidence.Kind]int{evidence.KindKey: 2, evidence.KindCharge: 3})
	for _, purpose := range []string{"receipt", "log"} {
		if s := g.run("keys", "rotate", "--purpose", purpose); s.code != exitDone {
			t.Fatalf("got %+v", s)
		}
	}
	charge()
	logged(map[evidence.Kind]int{evidence.KindKey: 4, evidence.KindCharge: 6})
	accepted(2)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if s := command(t, "", "backup", backup, "-c", g.config()); s.code != exitDone {
		t.Fatalf("got %+v", s)
	}
	g.stop()
	if s := command(t, "", "restore", backup, "-c", g.config()); s.code != exitDone {
		t.Fatalf("got %+v", s)
	}
	g.start()
	want[billing.TopUpResult](g, "usage", "top-up", "agent-1", "10", "EUR", "--reference", "payment 1")
	logged(map[evidence.Kind]int{evidence.KindKey: 4, evidence.KindCharge: 6, evidence.KindRestored: 1, evidence.KindTopUp: 1})
	accepted(2)

	// The first keys are enough: the others are introduced by entries.
	known := filepath.Join(t.TempDir(), "known.jsonl")
	lines := linesOf(t, bundle)
	for i, line := range lines {
		if strings.HasPrefix(line, `{"type":"keys"`) {
			lines[i] = firstKeys(t, line, lines)
		}
	}
	if err := os.WriteFile(known, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, installed := judge(t, known); installed && !v.OK {
		t.Errorf("with the first keys: got %+v", v)
	}
}

// firstKeys returns a line keys with only those keys that entries of a bundle introduce by themselves.
func firstKeys(t *testing.T, line string, lines []string) string {
	t.Helper()
	first := map[string]bool{}
	for _, text := range lines {
		var l bundleLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if r, err := evidence.ParseReceipt(l.JWS); err == nil && r.Entry.Key != nil && r.Entry.Key.ID == r.Entry.By {
			first[r.Entry.Key.ID] = true
		}
	}
	var set struct {
		Type string `json:"type"`
		JWKS struct {
			Keys []map[string]any `json:"keys"`
		} `json:"jwks"`
	}
	if err := json.Unmarshal([]byte(line), &set); err != nil {
		t.Fatal(err)
	}
	all := set.JWKS.Keys
	set.JWKS.Keys = nil
	for _, key := range all {
		if kid, _ := key["kid"].(string); first[kid] {
			set.JWKS.Keys = append(set.JWKS.Keys, key)
		}
	}
	if len(set.JWKS.Keys) != 2 || len(all) < 4 {
		t.Fatalf("got %d first keys of %d, want one for receipts and one for checkpoints", len(set.JWKS.Keys), len(all))
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// agentIn returns a function that runs commands of an agent with the state in dir and the given flags. The test fails if one does.
func agentIn(t *testing.T, dir string, flags ...string) func(args ...string) output {
	t.Helper()
	return func(args ...string) output {
		t.Helper()
		s := command(t, "", slices.Concat([]string{"agent", "--data", dir}, flags, args)...)
		if s.code != exitDone {
			t.Fatalf("%v: got %+v", args, s)
		}
		return s
	}
}
