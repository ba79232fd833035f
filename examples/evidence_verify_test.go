package examples_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/evidence"
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
	r := verifyBoth(t, writeBundle(t, "bundle.jsonl.gz", compressed(t, b.text(t))), "--policy", writeBundle(t, "tlog-policy", []byte(b.tlogPolicy())))
	if !r.OK {
		t.Fatalf("got %+v", r.Problems)
	}
	if r.Entries != 14 || r.Charges != 3 || r.Logged != 14 || r.Proofs != 3 || r.Checkpoints != 3 {
		t.Errorf("got %+v", r)
	}
}

// A tampering changes a book before or after it is signed.
type tampering struct {
	before func(b *book) // before the entries are signed
	after  func(t *testing.T, b *book)
	want   []string // names of the problems
}

// find returns the place of the nth line of a type.
func (b *book) find(t *testing.T, kind string, n int) int {
	t.Helper()
	for i, line := range b.lines {
		if line["type"] == kind {
			if n == 0 {
				return i
			}
			n--
		}
	}
	t.Fatalf("there is no line %s", kind)
	return 0
}

func (b *book) remove(t *testing.T, kind string, n int) {
	t.Helper()
	i := b.find(t, kind, n)
	b.lines = append(b.lines[:i:i], b.lines[i+1:]...)
}

// without removes the nth entry and its proof of inclusion.
func without(n int) func(*testing.T, *book) {
	return func(t *testing.T, b *book) {
		t.Helper()
		b.remove(t, "tlog-proof", n)
		b.remove(t, "entry", n)
	}
}

// member sets a member of the nth line of a type.
func member(kind string, n int, name string, value any) func(*testing.T, *book) {
	return func(t *testing.T, b *book) {
		t.Helper()
		b.lines[b.find(t, kind, n)][name] = value
	}
}

// charges applies a change to each entry of an execution, or of all if id is empty.
func charges(id string, change func(e *bookEntry)) func(*book) {
	return func(b *book) {
		for _, e := range b.entries {
			if e.Kind == evidence.KindCharge && (id == "" || e.ID == id) {
				change(e)
			}
		}
	}
}

// replaced replaces a text in the payload of a signed document, and signs it again.
func replaced(kind, typ, from, to string) func(*testing.T, *book) {
	return func(t *testing.T, b *book) {
		t.Helper()
		line := b.lines[b.find(t, kind, 0)]
		jws, _ := line["jws"].(string)
		payload, err := b64.DecodeString(strings.Split(jws, ".")[1])
		if err != nil || !strings.Contains(string(payload), from) {
			t.Fatalf("the payload lacks %s: %s", from, payload)
		}
		line["jws"] = b.receiptKey.compact(typ, []byte(strings.Replace(string(payload), from, to, 1)))
	}
}

// The entries of newBook by their place: two keys, a top-up, and then these.
const (
	heldA, heldB, capturedA, unresolvedB, heldC, releasedC, capturedB, reversal, carry, restored = 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
)

var tamperings = map[string]tampering{
	"a signature is changed": {want: []string{"SIGNATURE"}, after: func(t *testing.T, b *book) {
		line := b.lines[b.find(t, "entry", capturedA)]
		jws, _ := line["jws"].(string)
		line["jws"] = jws[:strings.LastIndexByte(jws, '.')+1] + b64.EncodeToString(make([]byte, 64))
	}},
	"a payload is changed after it was signed": {want: []string{"LOG", "RECEIPT_NOT_LOGGED", "SIGNATURE"}, after: func(t *testing.T, b *book) {
		line := b.lines[b.find(t, "entry", restored+1)]
		jws, _ := line["jws"].(string)
		parts := strings.Split(jws, ".")
		payload, _ := b64.DecodeString(parts[1])
		parts[1] = b64.EncodeToString(bytes.Replace(payload, []byte(`"2.00"`), []byte(`"3.00"`), 1))
		line["jws"] = strings.Join(parts, ".")
		b.lines = b.lines[:b.find(t, "statement", 0)]
	}},
	"a member occurs twice": {want: []string{"SIGNATURE"}, before: func(b *book) {
		e := b.entries[restored+1]
		e.K, e.Prev = 9, evidence.LeafHash([]byte("x"))
		e.bytes = bytes.Replace(e.Append(nil), []byte(`"by":"operator"`), []byte(`"by":"operator","by":"operator"`), 1)
	}, after: func(t *testing.T, b *book) {
		b.remove(t, "tlog-proof", restored+1)
		b.lines = b.lines[:b.find(t, "statement", 0)]
	}},
	"a key of checkpoints signs a receipt": {want: []string{"KEY"}, before: func(b *book) {
		b.signer = func(*bookEntry) bookKey { return b.logKey }
		b.entries[0].By = string(b.logKey.public.Thumbprint())
	}, after: func(t *testing.T, b *book) { b.lines = b.lines[:b.find(t, "statement", 0)] }},
	"the keys are those of another service": {want: []string{"KEY", "LOG"}, after: member("keys", 0, "jwks", map[string]any{"keys": []any{}})},
	"an entry is removed":                   {want: []string{"GAP", "INVOICE", "STATEMENT"}, after: without(releasedC)},
	"the charge of a call is removed": {want: []string{"STATE", "GAP", "INVOICE", "STATEMENT"}, after: func(t *testing.T, b *book) {
		without(unresolvedB)(t, b)
	}},
	"an amount is not that of the policy": {
		want: []string{"AMOUNT"}, before: charges("exec-a", func(e *bookEntry) { e.Amount = euros(60_000_000) }),
		after: func(t *testing.T, b *book) { b.lines = b.lines[:b.find(t, "statement", 0)] },
	},
	"an amount changes during a call": {want: []string{"AMOUNT"}, before: func(b *book) { b.entries[capturedA].Amount = euros(60_000_000) },
		after: func(t *testing.T, b *book) { b.lines = b.lines[:b.find(t, "statement", 0)] }},
	"a call is captured twice": {want: []string{"STATE"}, before: func(b *book) {
		e := b.entries[releasedC]
		e.Entry, e.At = b.entries[capturedA].Entry, e.At
	}, after: func(t *testing.T, b *book) { b.lines = b.lines[:b.find(t, "statement", 0)] }},
	"the operator charges for another request": {
		want: []string{"REQUEST"}, before: charges("exec-b", func(e *bookEntry) { e.Request = callDigest("other") }),
	},
	"a released charge has an answer": {want: []string{"ANSWER"}, before: func(b *book) { b.entries[releasedC].Answer = evidence.Digest(nil) }},
	"the policy is another": {want: []string{"POLICY"}, after: member("policy", 0, "document",
		base64.StdEncoding.EncodeToString([]byte(strings.Replace(bookPolicy, "0.050", "0.01", 1))))},
	"the rule is not in the policy": {want: []string{"POLICY"}, before: charges("exec-c", func(e *bookEntry) { e.Rule = "/permission/7" }),
		after: func(t *testing.T, b *book) { b.lines = b.lines[:b.find(t, "statement", 0)] }},
	"the agreement is missing": {want: []string{"AGREEMENT"}, after: func(t *testing.T, b *book) { b.remove(t, "agreement", 0) }},
	"another key signed the agreement": {want: []string{"AGREEMENT"}, after: func(t *testing.T, b *book) {
		other := newBookKey("other").public
		agreement, _ := b.lines[b.find(t, "agreement", 0)]["agreement"].(map[string]any)
		agreement["agent_public_key"], agreement["jkt"] = b64.EncodeToString(other.SPKI()), other.Thumbprint()
		b.lines = slices.DeleteFunc(b.lines, func(l bookLine) bool { return l["type"] == "proof" })
		b.lines[0]["proofs"] = false
	}},
	"a proof is of another call":       {want: []string{"PROOF"}, after: func(t *testing.T, b *book) { swapMember(t, b, "proof", "jws") }},
	"a proof is missing":               {want: []string{"PROOF"}, after: func(t *testing.T, b *book) { b.remove(t, "proof", 1) }},
	"a proof is for another service":   {want: []string{"PROOF"}, before: proofOf(bookIssuer, "other.example"), after: sameProof},
	"a proof is of another day":        {want: []string{"PROOF"}, before: proofOf(`"iat":17`, `"iat":16`), after: sameProof},
	"one proof pays for two calls":     {want: []string{"DUPLICATE"}, before: sharedProof, after: func(t *testing.T, b *book) { b.remove(t, "proof", 1); b.lines[0]["proofs"] = false }},
	"a question is changed":            {want: []string{"DECISION"}, after: member("decision", 0, "asked", `{"request":{"target":"shop.example:place-order:v1"}}`)},
	"a question is missing":            {want: []string{"DECISION"}, after: func(t *testing.T, b *book) { b.remove(t, "decision", 2) }},
	"a proof is of an unknown call":    {want: []string{"UNKNOWN_EXECUTION"}, after: unknownExecution},
	"an entry occurs twice":            {want: []string{"DUPLICATE"}, after: func(t *testing.T, b *book) { b.lines = append(b.lines, b.lines[b.find(t, "entry", carry)]) }},
	"entries are in another order":     {want: []string{"ORDER"}, after: func(t *testing.T, b *book) { swapMember(t, b, "entry", "jws") }},
	"two entries have one number":      {want: []string{"FORK"}, before: func(b *book) { b.entries[carry].K = 7 }, after: func(t *testing.T, b *book) { b.lines = b.lines[:b.find(t, "statement", 0)] }},
	"an entry follows another one":     {want: []string{"FORK"}, before: func(b *book) { b.entries[heldC].Prev = evidence.LeafHash([]byte("x")) }},
	"a carry has other sums":           {want: []string{"AMOUNT"}, before: func(b *book) { b.entries[carry].Sums.Captured = euros(1) }},
	"the epoch decreases":              {want: []string{"EPOCH"}, before: func(b *book) { b.entries[capturedB].Epoch = 1 }, after: func(t *testing.T, b *book) { onlyChain(t, b) }},
	"the bundle is of another service": {want: []string{"AGREEMENT", "INVOICE", "STATEMENT"}, after: member("uim-evidence", 0, "issuer", "other.example")},
	"the issuer changes":               {want: []string{"EPOCH"}, before: func(b *book) { b.entries[reversal].Issuer = "other.example" }, after: func(t *testing.T, b *book) { onlyChain(t, b) }},
	"the restored state lacks entries": {want: []string{"EPOCH"}, before: func(b *book) { b.entries[restored].bytes = []byte("last") },
		after: func(t *testing.T, b *book) { b.lines = b.lines[:b.find(t, "statement", 0)] }},
	"an entry is not in the log":       {want: []string{"RECEIPT_NOT_LOGGED"}, after: func(t *testing.T, b *book) { b.remove(t, "tlog-proof", heldB) }},
	"a proof of inclusion is changed":  {want: []string{"LOG", "RECEIPT_NOT_LOGGED"}, after: func(t *testing.T, b *book) { swapMember(t, b, "tlog-proof", "text") }},
	"a checkpoint is not signed":       {want: []string{"LOG"}, after: member("checkpoint", 0, "text", "shop.example/uim-ledger/0\n1\n"+strings.Repeat("A", 43)+"=\n\n— shop.example/uim-ledger/0 AAAAAAAA\n")},
	"the log is not consistent":        {want: []string{"FORK"}, after: member("consistency", 0, "hashes", []string{strings.Repeat("A", 43) + "="})},
	"the consistency is not shown":     {want: []string{"LOG"}, after: func(t *testing.T, b *book) { b.remove(t, "consistency", 0) }},
	"two logs have one size":           {want: []string{"FORK"}, after: forkedLog},
	"a statement has another balance":  {want: []string{"STATEMENT"}, after: replaced("statement", "uim-statement+jwt", `"captured":"0.10"`, `"captured":"0.20"`)},
	"a statement leaves out entries":   {want: []string{"STATEMENT"}, after: replaced("statement", "uim-statement+jwt", `"to_k":10`, `"to_k":9`)},
	"a statement has another line":     {want: []string{"STATEMENT"}, after: replaced("statement", "uim-statement+jwt", `"calls":2`, `"calls":3`)},
	"an invoice has another total":     {want: []string{"INVOICE"}, after: replaced("invoice", "uim-invoice+jwt", `"amount":"0.10"`, `"amount":"0.15"`)},
	"an invoice is of another account": {want: []string{"INVOICE"}, after: replaced("invoice", "uim-invoice+jwt", `"agent_id":"my-agent"`, `"agent_id":"other"`)},
	"a statement is signed by another key": {want: []string{"KEY"}, after: func(t *testing.T, b *book) {
		b.lines[b.find(t, "statement", 0)]["jws"] = newBookKey("other").compact("uim-statement+jwt", []byte("{}"))
	}},
	"a line is not JSON":       {want: []string{"FILE"}, after: func(_ *testing.T, b *book) { b.lines = append(b.lines, bookLine{"cut": true}) }},
	"a line is too long":       {want: []string{"FILE"}, after: member("statement", 0, "more", strings.Repeat("x", 1<<20))},
	"a bundle of another kind": {want: []string{"FILE"}, after: member("uim-evidence", 0, "version", "2")},
}

// swapMember exchanges a member of two lines that follow each other.
func swapMember(t *testing.T, b *book, kind, name string) {
	t.Helper()
	n := 0
	if kind != "proof" {
		n = capturedA
	}
	x, y := b.lines[b.find(t, kind, n)], b.lines[b.find(t, kind, n+1)]
	x[name], y[name] = y[name], x[name]
}

// proofOf replaces a text in the proof of the first call, whose digest the entries then have.
func proofOf(from, to string) func(*book) {
	return func(b *book) {
		jws := b.changedProof(from, to)
		charges("exec-a", func(e *bookEntry) { e.Proof = evidence.Digest([]byte(jws)) })(b)
		b.changed = jws
	}
}

func (b *book) changedProof(from, to string) string {
	jws := b.proof("a", callDigest("a"))
	payload, err := b64.DecodeString(strings.Split(jws, ".")[1])
	if err != nil {
		panic(err)
	}
	return b.agentKey.compact("uim-proof+jwt", bytes.Replace(payload, []byte(from), []byte(to), 1))
}

func sameProof(t *testing.T, b *book) {
	t.Helper()
	b.lines[b.find(t, "proof", 0)]["jws"] = b.changed
}

func sharedProof(b *book) {
	charges("exec-b", func(e *bookEntry) { e.Proof = b.entries[heldA].Proof })(b)
}

func unknownExecution(_ *testing.T, b *book) {
	b.lines = append(b.lines, bookLine{"type": "proof", "execution": "exec-z", "jws": b.proof("z", callDigest("z"))})
}

// onlyChain removes what is about the log and the sums.
func onlyChain(t *testing.T, b *book) {
	t.Helper()
	b.lines = slices.DeleteFunc(b.lines, func(l bookLine) bool {
		return slices.Contains([]any{"tlog-proof", "checkpoint", "consistency", "statement", "invoice"}, l["type"])
	})
}

// forkedLog adds a checkpoint of the size of the log with another root.
func forkedLog(_ *testing.T, b *book) {
	kept := b.entries[carry].leaf
	b.entries[carry].leaf = evidence.LeafHash([]byte("x"))
	b.lines = append(b.lines, bookLine{"type": "checkpoint", "text": b.checkpoint(0, 12)})
	b.entries[carry].leaf = kept
}

// TestVerifiersFindTamperings changes one thing at a time. Both verifiers must report the same problems.
func TestVerifiersFindTamperings(t *testing.T) {
	t.Parallel()
	for name, tt := range tamperings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			if tt.before != nil {
				tt.before(b)
			}
			b.bundle(t)
			if tt.after != nil {
				tt.after(t, b)
			}
			text := bytes.Replace(b.text(t), []byte(`{"cut":true}`), []byte(`{"type":`), 1)
			r := verifyBoth(t, writeBundle(t, "bundle.jsonl", text))
			var found []string
			for _, p := range r.Problems {
				found = append(found, p.Name)
			}
			slices.Sort(tt.want)
			if diff := cmp.Diff(tt.want, slices.Compact(found)); diff != "" {
				t.Errorf("(-want +found):\n%s%+v", diff, r.Problems)
			}
		})
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
		for _, args := range [][]string{{}, {"-x"}, {"evidence/none"}, {"evidence/verify.py", "--policy"}, {"evidence/verify.py", "--policy", "evidence/verify.py"}} {
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
