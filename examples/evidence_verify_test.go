package examples_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// verifiers are the commands of the verifiers of examples/evidence, with a program that fails if the interpreter is not suitable.
var verifiers = map[string]struct{ interpreter, option, probe, file string }{
	"node":   {"node", "-e", "process.exit(process.versions.node.split('.')[0] < 20 ? 1 : 0)", "verify.mjs"},
	"python": {"python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))", "verify.py"},
}

// A verifierReport is what a verifier prints.
type verifierReport struct {
	OK          bool              `json:"ok"`
	Problems    []verifierProblem `json:"problems"`
	Entries     int               `json:"entries"`
	Charges     int               `json:"charges"`
	Logged      int               `json:"logged"`
	Proofs      int               `json:"proofs"`
	Checkpoints int               `json:"checkpoints"`
	NotChecked  map[string]int    `json:"not_checked"`
}

type verifierProblem struct{ Name, Where, Detail string }

// runVerifier runs a verifier. It skips the test if the interpreter is not installed.
func runVerifier(t *testing.T, name string, args ...string) (verifierReport, string) {
	t.Helper()
	v := verifiers[name]
	if exec.CommandContext(t.Context(), v.interpreter, v.option, v.probe).Run() != nil {
		if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed", name)
	}
	c := exec.CommandContext(t.Context(), v.interpreter, append([]string{"evidence/" + v.file}, args...)...)
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var out, stderr bytes.Buffer
	c.Stdout, c.Stderr = &out, &stderr
	err := c.Run()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if err != nil && !failed {
		t.Fatal(err)
	}
	var r verifierReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %v\n%s%s", c.Args, err, out.String(), stderr.String())
	}
	if r.OK == failed || failed && exit.ExitCode() != 1 || r.OK != (len(r.Problems) == 0) || stderr.Len() > 0 {
		t.Errorf("ok is %v, with %v\n%s", r.OK, err, stderr.String())
	}
	return r, out.String()
}

// verifyBoth runs both verifiers and checks that they print the same report.
func verifyBoth(t *testing.T, args ...string) verifierReport {
	t.Helper()
	r, first := runVerifier(t, "node", args...)
	_, second := runVerifier(t, "python", args...)
	if !sameJSON(t, first, second) {
		t.Errorf("node printed\n%s\npython printed\n%s", first, second)
	}
	return r
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	return canonicalOf(t, a) == canonicalOf(t, b)
}

func writeBundle(t *testing.T, name string, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func compressed(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestVerifiersAcceptABundle checks that nothing is left out: each entry, proof and checkpoint is counted.
func TestVerifiersAcceptABundle(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.bundle(t)
	bundle, policy := writeBundle(t, "bundle.jsonl.gz", compressed(t, b.text(t))), writeBundle(t, "tlog-policy", []byte(b.tlogPolicy()))
	r := verifyBoth(t, bundle, "--policy", policy)
	if !r.OK {
		t.Fatalf("got %+v", r.Problems)
	}
	if r.Entries != 14 || r.Charges != 3 || r.Logged != 14 || r.Proofs != 3 || r.Checkpoints != 3 {
		t.Errorf("got %+v", r)
	}
}

// TestVerifiersReadDamagedFiles checks that a file that is cut off is an error, and not a bundle with fewer entries.
func TestVerifiersReadDamagedFiles(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.bundle(t)
	whole := compressed(t, b.text(t))
	for name, text := range map[string][]byte{"empty.jsonl": nil, "cut.jsonl.gz": whole[:len(whole)*2/3], "plain.jsonl.gz": b.text(t)} {
		r, out := runVerifier(t, "node", writeBundle(t, name, text))
		again, other := runVerifier(t, "python", writeBundle(t, name, text))
		for _, report := range []verifierReport{r, again} {
			if report.OK || !slices.ContainsFunc(report.Problems, func(p verifierProblem) bool { return p.Name == "FILE" }) {
				t.Errorf("%s: got\n%s\n%s", name, out, other)
			}
		}
	}
	for name, v := range verifiers {
		const file = "evidence/bundle.jsonl"
		for _, args := range [][]string{{}, {"-x"}, {"evidence/none"}, {file, "--policy"}, {file, "--policy", "evidence/verify.py"}} {
			err := exec.CommandContext(t.Context(), v.interpreter, append([]string{"evidence/" + v.file}, args...)...).Run()
			if exit, failed := errors.AsType[*exec.ExitError](err); !failed || exit.ExitCode() != 2 {
				t.Errorf("%s %v: got %v, want the exit code 2", name, args, err)
			}
		}
	}
}

// TestVerifiersRequireCosignatures checks a bundle against policies that its checkpoints do not meet.
func TestVerifiersRequireCosignatures(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.bundle(t)
	text := b.text(t)
	good := b.tlogPolicy()
	second, _ := newBookKey("second witness").verifier("second.example", 4)
	both := strings.Replace(good, "group all-of-them all w1", "witness w2 "+second+"\ngroup all-of-them all w1 w2", 1)
	otherLog, _ := newBookKey("other").verifier(bookIssuer+"/uim-ledger/0", 1)
	for name, tt := range map[string]struct {
		policy string
		ok     bool
	}{
		"one witness":             {good, true},
		"a second witness":        {both, false},
		"one of two witnesses":    {strings.Replace(both, "all-of-them all", "all-of-them any", 1), true},
		"one of two, as a number": {strings.Replace(both, "all-of-them all", "all-of-them 1", 1), true},
		"another key of the log":  {"log " + otherLog + "\nquorum none\n", false},
		"no witness":              {"quorum none\n", true},
	} {
		r := verifyBoth(t, writeBundle(t, "bundle.jsonl", text), "--policy", writeBundle(t, "tlog-policy", []byte(tt.policy)))
		if r.OK != tt.ok || !tt.ok && r.Problems[0].Name != "LOG" {
			t.Errorf("%s: got %+v", name, r.Problems)
		}
	}
}
