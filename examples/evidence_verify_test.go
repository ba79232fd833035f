package examples_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
	node, python := newVerifiers(t)
	r := verifyBoth(t, node, python, bundle, "--policy", policy)
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
	node, python := newVerifiers(t)
	b := newBook()
	b.bundle(t)
	whole := compressed(t, b.text(t))
	for name, text := range map[string][]byte{"empty.jsonl": nil, "cut.jsonl.gz": whole[:len(whole)*2/3], "plain.jsonl.gz": b.text(t)} {
		r, out := node.verify(t, writeBundle(t, name, text))
		again, other := python.verify(t, writeBundle(t, name, text))
		for _, report := range []verifierReport{r, again} {
			if report.OK || !slices.ContainsFunc(report.Problems, func(p verifierProblem) bool { return p.Name == "FILE" }) {
				t.Errorf("%s: got\n%s\n%s", name, out, other)
			}
		}
	}
	const file = "evidence/bundle.jsonl"
	for _, args := range [][]string{{}, {"-x"}, {"evidence/none"}, {file, "--policy"}, {file, "--policy", "evidence/verify.py"}} {
		for _, v := range []*verifier{node, python} {
			if code, _, _ := v.run(t, args...); code != 2 {
				t.Errorf("%s %v: got the exit code %d, want 2", v.file, args, code)
			}
		}
	}
}

// TestVerifiersBoundTheLinesOfABundle checks that a bundle with more than a million lines is an error, and not one with fewer lines.
func TestVerifiersBoundTheLinesOfABundle(t *testing.T) {
	t.Parallel()
	node, python := newVerifiers(t)
	b := newBook()
	b.bundle(t)
	text := slices.Concat(b.text(t), bytes.Repeat([]byte("{}\n"), 1_000_001-bytes.Count(b.text(t), []byte("\n"))))
	file := writeBundle(t, "bundle.jsonl.gz", compressed(t, text))
	for _, v := range []*verifier{node, python} {
		r, out := v.verify(t, file)
		if r.OK || !slices.ContainsFunc(r.Problems, func(p verifierProblem) bool {
			return p.Name == "FILE" && strings.Contains(p.Detail, "1,000,000 lines")
		}) {
			t.Errorf("%s: got\n%s", v.file, out)
		}
	}
}

// TestVerifiersRequireCosignatures checks a bundle against policies that its checkpoints do not meet.
func TestVerifiersRequireCosignatures(t *testing.T) {
	t.Parallel()
	verify := verifiersOfOneProcess(t)
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
		r := verify(t, writeBundle(t, "bundle.jsonl", text), "--policy", writeBundle(t, "tlog-policy", []byte(tt.policy)))
		if r.OK != tt.ok || !tt.ok && r.Problems[0].Name != "LOG" {
			t.Errorf("%s: got %+v", name, r.Problems)
		}
	}
}
