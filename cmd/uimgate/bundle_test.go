package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
)

// bundleLine has the members of all lines of a bundle.
type bundleLine struct {
	Type, Agent, JWS, Execution, Asked, SHA256, Digest, Document, Entry, Text string
	JWKS, Export                                                              json.RawMessage
}

func readBundle(t *testing.T, name string) (lines []bundleLine) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(zipped)
	for {
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			return lines
		}
		var l bundleLine
		if err != nil || json.Unmarshal(text, &l) != nil {
			t.Fatalf("%s: %v", text, err)
		}
		lines = append(lines, l)
	}
}

// A bundle has everything that is needed to verify the charges of a month.
func TestUsageBundle(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	token, _ := g.agree("agent-1")
	g.post(
		"/api/intents/execute",
		token,
		map[string]any{"intent_uid": "shop.example:order:v1", "parameters": map[string]any{"product": "lamp"}},
	)
	open := want[api.Page[calls.Execution]](g, "usage", "executions", "--state", "unresolved").Items
	month := want[calls.Execution](g, "usage", "resolve", open[0].ID, "captured").SettledAt.UTC().Format("2006-01")
	out := filepath.Join(t.TempDir(), "a.jsonl.gz")
	if s := g.run("usage", "bundle", "--agent", "agent-1", "--month", month, "--out", out); s.code != exitDone || s.errors != "" {
		t.Fatalf("got %+v", s)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want mode 0600", info, err)
	}
	lines := readBundle(t, out)
	await(t, func() bool { // the log takes new entries every second
		g.run("usage", "bundle", "--agent", "agent-1", "--month", month, "--out", out)
		entries, logged := 0, 0
		lines = readBundle(t, out)
		for _, l := range lines {
			switch l.Type {
			case "entry":
				entries++
			case "tlog-proof":
				logged++
			}
		}
		return entries >= 3 && logged >= entries
	})
	if lines[0].Type != "uim-evidence" || lines[0].Agent != "agent-1" || lines[1].Type != "keys" {
		t.Fatalf("got %+v", lines[:2])
	}
	set, err := evidence.ParseKeySet(lines[1].JWKS)
	if err != nil {
		t.Fatal(err)
	}
	count, leaves := map[string]int{}, map[string]evidence.Hash{}
	var last evidence.Receipt
	for _, l := range lines {
		count[l.Type]++
		switch l.Type {
		case "entry":
			r, err := evidence.ParseReceipt(l.JWS)
			if err == nil && r.Entry.Key != nil {
				count["key"]++
				leaves[r.Leaf.String()] = r.Leaf
				break
			}
			if err == nil {
				err = r.Verify(set)
			}
			if err != nil || count["entry"]-count["key"] > 1 && (r.Entry.K != last.Entry.K+1 || r.Entry.Prev != last.Leaf) {
				t.Errorf("entry %+v: %v", r.Entry, err)
			}
			last, leaves[r.Leaf.String()] = r, r.Leaf
		case "tlog-proof":
			proof, err := log.ParseProof([]byte(l.Text))
			leaf, known := leaves[l.Entry]
			if err != nil || !known {
				t.Fatalf("got %+v, %v", l, err)
			}
			c, err := log.ReadCheckpoint(proof.Checkpoint)
			if err == nil {
				err = proof.Verify(c, leaf)
			}
			if err != nil {
				t.Error(err)
			}
		case "decision":
			if evidence.Digest([]byte(l.Asked)) != l.SHA256 {
				t.Errorf("got %+v", l)
			}
		case "statement":
			if _, err := evidence.VerifyDocument(l.JWS, evidence.TypeStatement, set); err != nil {
				t.Error(err)
			}
		case "invoice":
			if _, err := evidence.VerifyDocument(l.JWS, evidence.TypeInvoice, set); err != nil {
				t.Error(err)
			}
		}
	}
	if count["entry"] < 3 || count["key"] < 2 || count["decision"] < 1 || count["agreement"] < 1 || count["policy"] != 1 ||
		count["statement"] != 1 ||
		count["invoice"] != 1 || count["checkpoint"] < 1 || count["tlog-proof"] != count["entry"] {
		t.Errorf("got %v", count)
	}
	verifyBundle(t, out)
	for _, args := range [][]string{
		{"--agent", "agent-1", "--month", month}, {"--month", month, "--out", out}, {"--agent", "agent-1", "--out", out}, {"extra"},
	} {
		if s := g.run(append([]string{"usage", "bundle"}, args...)...); s.code != exitUsage {
			t.Errorf("%v: got %+v, want code %d", args, s, exitUsage)
		}
	}
	bundleInParts(t, g, month, count["entry"]-count["key"], len(lines))
	missing := filepath.Join(t.TempDir(), "b.jsonl.gz")
	if s := g.run("usage", "bundle", "--agent", "nobody", "--month", month, "--out", missing); s.code != exitWrong ||
		!strings.Contains(s.errors, "nobody") {
		t.Errorf("got %+v", s)
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Error("a failed command left a file")
	}
}

// bundleInParts writes a month whose bundle has the given number of lines into two files, because they do not fit into one.
func bundleInParts(t *testing.T, g *testGateway, month string, entries, lines int) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "part.jsonl.gz")
	write := func(more ...string) output {
		return g.run(append([]string{"usage", "bundle", "--agent", "agent-1", "--month", month, "--out", out}, more...)...)
	}
	for name, c := range map[string]struct{ most, hint string }{
		"without the invoice":    {strconv.Itoa(lines - 1), fmt.Sprintf("--entries 0-%d", entries-2)},
		"without the last entry": {strconv.Itoa(lines - 3), fmt.Sprintf("--entries 0-%d", entries-2)},
		"without any entry":      {"3", "entry 0 does not fit"},
	} {
		s := write("--max-lines", c.most)
		if s.code != exitWrong || !strings.Contains(s.errors, c.hint) || !strings.Contains(s.errors, c.most+" lines") {
			t.Errorf("%s: got %+v, want an error with %q", name, s, c.hint)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s: the command left a file", name)
		}
	}
	next := int64(0)
	for _, part := range []string{"0-0", fmt.Sprintf("1-%d", entries-1)} {
		if s := write("--entries", part, "--max-lines", strconv.Itoa(lines-1)); s.code != exitDone {
			t.Fatalf("--entries %s: got %+v", part, s)
		}
		for _, l := range readBundle(t, out) {
			if l.Type == "statement" || l.Type == "invoice" {
				t.Errorf("--entries %s: the bundle has a %s", part, l.Type)
			}
			if l.Type != "entry" {
				continue
			}
			r, err := evidence.ParseReceipt(l.JWS)
			if err != nil {
				t.Fatal(err)
			}
			if r.Entry.Key == nil {
				if r.Entry.K != next {
					t.Errorf("--entries %s: the bundle has entry %d, want %d", part, r.Entry.K, next)
				}
				next++
			}
		}
		runVerifiers(t, out, func(command []string, report []byte, err error) {
			if err != nil {
				t.Errorf("%v, --entries %s: %v\n%s", command, part, err, report)
			}
		})
	}
	if next != int64(entries) {
		t.Errorf("the parts have %d entries, want %d", next, entries)
	}
	for _, wrong := range []string{"0", "1-0", "a-b", "-1-2", "0-", fmt.Sprintf("0-%d", entries)} {
		if s := write("--entries", wrong); s.code != exitUsage || !strings.Contains(s.errors, "--entries") {
			t.Errorf("--entries %s: got %+v, want code %d", wrong, s, exitUsage)
		}
	}
	for _, wrong := range []string{"0", "1000001"} {
		if s := write("--max-lines", wrong); s.code != exitUsage {
			t.Errorf("--max-lines %s: got %+v, want code %d", wrong, s, exitUsage)
		}
	}
}

// verifiers are the interpreters and the programs of examples/evidence. A python3 in the PATH may be a script that finds the interpreter,
// and takes as long as the interpreter to start.
var verifiers = sync.OnceValue(func() [][]string {
	python := "python3"
	if out, err := exec.CommandContext(context.Background(), python, "-c", "import sys; print(sys.executable)").Output(); err == nil {
		python = strings.TrimSpace(string(out))
	}
	return [][]string{{"node", "verify.mjs"}, {python, "verify.py"}}
})

const inPath = "decisions, because uimgate is not in the PATH"

// TestVerifiersDecideAgain checks a bundle with two charges that the policy does not permit, and one that only a later policy permits: the
// prices and the signatures are right. It then checks one with a charge that both policies permit.
func TestVerifiersDecideAgain(t *testing.T) {
	t.Parallel()
	for _, command := range verifiers() {
		if _, err := exec.LookPath(command[0]); err != nil && os.Getenv(requireLanguages) != "1" {
			t.Skipf("%s is not installed", command[0])
		}
		for _, tt := range []struct {
			bundle          string
			decide          bool
			denied, shallow int
		}{
			{"denied.jsonl", false, 0, 1}, {"denied.jsonl", true, 3, 0}, {"succeeded.jsonl", false, 0, 1}, {"succeeded.jsonl", true, 0, 0},
		} {
			args := []string{"../../examples/evidence/" + command[1], "../../examples/testdata/" + tt.bundle}
			if tt.decide {
				args = append(args, "--opa")
			}
			out, err := exec.CommandContext(t.Context(), command[0], args...).Output()
			denied := strings.Count(string(out), `"the policy does not permit the call"`)
			denied += strings.Count(string(out), `"the agreed policy does not permit the call"`)
			shallow := strings.Count(string(out), `"charges under a policy that is written differently from the agreed one": 1`)
			if (err == nil) != (tt.denied == 0) || denied != tt.denied || shallow != tt.shallow {
				t.Errorf("%v: %v, got %d denied and %d not checked:\n%s", args, err, denied, shallow, out)
			}
		}
	}
}

// verifyBundle runs the verifiers of examples/evidence. They decide each question again with the program that is tested.
func verifyBundle(t *testing.T, file string) {
	t.Helper()
	runVerifiers(t, file, func(command []string, out []byte, err error) {
		var report struct {
			Charges, Decisions, Entries, Logged int
			Unchecked                           map[string]int `json:"not_checked"`
		}
		if err == nil {
			err = json.Unmarshal(out, &report)
		}
		if err != nil || report.Charges == 0 || report.Decisions != report.Charges || report.Logged != report.Entries ||
			report.Unchecked[inPath] > 0 {
			t.Errorf("%v: %v\n%s", command, err, out)
		}
	})
}

// runVerifiers runs each verifier that can run on a bundle, and calls check with its report.
func runVerifiers(t *testing.T, file string, check func(command []string, report []byte, err error)) {
	t.Helper()
	for _, command := range verifiers() {
		if _, err := exec.LookPath(command[0]); err != nil && os.Getenv(requireLanguages) != "1" {
			t.Logf("%s is not installed: %s is not run", command[0], command[1])
			continue
		}
		out, err := exec.CommandContext(t.Context(), command[0], "../../examples/evidence/"+command[1], file, "--opa").CombinedOutput()
		check(command, out, err)
	}
}
