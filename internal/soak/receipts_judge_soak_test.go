//go:build soak

package soak

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	proofs "github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
)

// checkpoints are the checkpoints that gateways published, in the order in which they were read.
type checkpoints [][]byte

// watch reads the checkpoint of a gateway again and again.
func (c *checkpoints) watch(w *world) {
	for pause(w.over, 100*time.Millisecond) {
		g := w.anyGateway()
		if g == nil {
			continue
		}
		status, _, text, err := w.do(http.MethodGet, g.url()+"/api/log/checkpoint", nil, nil)
		if err == nil && status == http.StatusOK && (len(*c) == 0 || !bytes.Equal((*c)[len(*c)-1], text)) {
			*c = append(*c, text)
		}
	}
}

// judge checks that the log contains every checkpoint, and that a key of the service has signed each.
func (c *checkpoints) judge(w *world) {
	w.t.Helper()
	get := func(path string) []byte {
		status, _, body, err := w.do(http.MethodGet, w.gateways[0].url()+path, nil, nil)
		if err != nil || status != http.StatusOK {
			w.t.Errorf("%s: %d %.200s %v", path, status, body, err)
		}
		return body
	}
	set, err := proofs.ParseKeySet(get("/.well-known/jwks.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	origin := log.Origin(issuer, 0)
	var verifiers []note.Verifier
	for _, key := range set.All(proofs.PurposeLog) {
		if public, ok := key.Public().(ed25519.PublicKey); ok {
			v, err := log.NewVerifier(origin, public)
			if err != nil {
				w.t.Fatal(err)
			}
			verifiers = append(verifiers, v)
		}
	}
	newest, err := log.OpenCheckpoint(get("/api/log/checkpoint"), verifiers...)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, text := range *c {
		old, err := log.OpenCheckpoint(text, verifiers...)
		if err != nil || old.Origin != origin || old.Size > newest.Size {
			w.t.Errorf("%v, %.200q", err, text)
			continue
		}
		hashes, err := log.ParseHashLines(get(fmt.Sprintf("/api/log/consistency?old=%d&new=%d", old.Size, newest.Size)))
		if err == nil {
			err = log.CheckConsistency(old.Checkpoint, newest.Checkpoint, hashes)
		}
		if err != nil {
			w.t.Errorf("the log of size %d does not contain that of size %d: %v", newest.Size, old.Size, err)
		}
	}
	w.t.Logf("%d checkpoints by %d keys, the last of size %d", len(*c), len(verifiers), newest.Size)
	if len(*c) < 10 || len(verifiers) < 3 {
		w.t.Errorf("%d checkpoints by %d keys, want more", len(*c), len(verifiers))
	}
}

func run(t *testing.T, name string, args ...string) ([]byte, error) {
	t.Helper()
	return exec.CommandContext(t.Context(), name, args...).CombinedOutput()
}

// judgeBundles has the operator write the evidence of each agent, and programs without our code verify it. One altered byte must be found.
func (w *world) judgeBundles(list []*buyer) {
	w.t.Helper()
	g, program := w.gateways[0], w.uimgateBinary()
	for i, b := range list {
		file := filepath.Join(w.t.TempDir(), b.id+".jsonl.gz")
		if text, err := run(w.t, program, "usage", "bundle", "-c", filepath.Join(g.dir, "uimgate.yaml"), "--admin", g.admin(),
			"--agent", b.id, "--month", time.Now().UTC().Format("2006-01"), "--out", file); err != nil {
			w.t.Errorf("%s: %v\n%s", b.id, err, text)
			continue
		}
		w.verifyBundle(file, true)
		if i == 0 {
			w.verifyBundle(altered(w.t, file), false)
		}
	}
}

// verifyBundle runs both verifiers.
func (w *world) verifyBundle(file string, good bool) {
	w.t.Helper()
	for _, command := range [][]string{{"node", "verify.mjs"}, {"python3", "verify.py"}} {
		if _, err := exec.LookPath(command[0]); err != nil {
			w.t.Logf("%s is not installed: %s is not run", command[0], command[1])
			continue
		}
		began := w.clock.now()
		out, err := run(w.t, command[0], "../../examples/evidence/"+command[1], file)
		var report struct {
			OK               bool
			Charges, Entries int
			Problems         []proofs.Problem
		}
		parsed := json.Unmarshal(out, &report)
		if parsed != nil || report.OK != good || (err == nil) != good || report.Charges == 0 {
			w.t.Errorf("%v: %v, %v\n%.3000s", command, err, parsed, out)
		}
		w.t.Logf("%s: %d charges, %d entries, %d problems in %v", command[1], report.Charges, report.Entries, len(report.Problems),
			w.clock.now()-began)
	}
}

// altered returns a copy of a bundle in which one character of a receipt is another.
func altered(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	at := len(text)/2 + strings.Index(string(text[len(text)/2:]), `"type":"entry"`)
	at = bytes.LastIndexByte(text[:at], '\n') + 1
	end := at + bytes.IndexByte(text[at:], '\n')
	middle := at + bytes.IndexByte(text[at:end], '.') + 40 // in the payload
	if text[middle] == 'A' {
		text[middle] = 'B'
	} else {
		text[middle] = 'A'
	}
	out := strings.TrimSuffix(file, ".gz")
	if err := os.WriteFile(out, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}
