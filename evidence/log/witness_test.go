package log_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
)

// A foreignWitness is a witness as C2SP tlog-witness v1.0.0 describes it, written without package log.
type foreignWitness struct {
	name string
	key  ed25519.PrivateKey
	log  note.Verifier

	mu     sync.Mutex
	size   int64
	root   tlog.Hash
	answer func(http.ResponseWriter) bool // replaces the response; false: it does not
}

func (w *foreignWitness) id() []byte {
	h := sha256.Sum256(slices.Concat([]byte(w.name+"\n\x04"), w.key.Public().(ed25519.PublicKey)))
	return h[:4]
}

func (w *foreignWitness) vkey() string {
	return fmt.Sprintf("%s+%x+%s", w.name, w.id(),
		base64.StdEncoding.EncodeToString(slices.Concat([]byte{4}, w.key.Public().(ed25519.PublicKey))))
}

func (w *foreignWitness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	head, signed, found := bytes.Cut(body, []byte("\n\n"))
	if err != nil || !found || r.Method != http.MethodPost || r.URL.Path != "/w/add-checkpoint" {
		http.Error(out, "malformed", http.StatusBadRequest)
		return
	}
	if w.answer != nil && w.answer(out) {
		return
	}
	opened, err := note.Open(signed, note.VerifierList(w.log))
	if err != nil {
		http.Error(out, "signature", http.StatusForbidden)
		return
	}
	lines := strings.Split(opened.Text, "\n")
	if lines[0] != w.log.Name() {
		http.Error(out, "origin", http.StatusNotFound)
		return
	}
	size, _ := strconv.ParseInt(lines[1], 10, 64)
	root, _ := tlog.ParseHash(lines[2])
	proofLines := strings.Split(string(head), "\n")
	before, _ := strconv.ParseInt(strings.TrimPrefix(proofLines[0], "old "), 10, 64)
	var proof tlog.TreeProof
	for _, line := range proofLines[1:] {
		h, err := tlog.ParseHash(line)
		if err != nil {
			http.Error(out, "hash", http.StatusBadRequest)
			return
		}
		proof = append(proof, h)
	}
	switch {
	case before > size:
		http.Error(out, "old", http.StatusBadRequest)
	case before != w.size || before == size && before > 0 && root != w.root:
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		fmt.Fprintf(out, "%d\n", w.size)
	case before > 0 && before < size && tlog.CheckTree(proof, size, root, before, w.root) != nil,
		(before == 0 || before == size) && len(proof) > 0:
		http.Error(out, "proof", http.StatusUnprocessableEntity)
	default:
		w.size, w.root = size, root
		at := uint64(1_800_000_100)
		signature := ed25519.Sign(w.key, []byte(fmt.Sprintf("cosignature/v1\ntime %d\n%s", at, opened.Text)))
		line := base64.StdEncoding.EncodeToString(slices.Concat(w.id(), binary.BigEndian.AppendUint64(nil, at), signature))
		fmt.Fprintf(out, "— another.example AAAAAAAA\n— %s %s\n", w.name, line)
	}
}

// witnessed returns a foreign witness that knows the log of signed, and a client of it.
func witnessed(t *testing.T) (*foreignWitness, *log.Witness) {
	t.Helper()
	key, _ := newKey("witness.example/1")
	_, vkey := newKey(origin)
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	foreign := &foreignWitness{name: "witness.example/1", key: key, log: verifier}
	server := httptest.NewServer(foreign)
	t.Cleanup(server.Close)
	return foreign, client(t, foreign, server.URL)
}

func client(t *testing.T, foreign *foreignWitness, address string) *log.Witness {
	t.Helper()
	prefix, err := url.Parse(address + "/w/")
	if err != nil {
		t.Fatal(err)
	}
	w, err := log.NewWitness(foreign.vkey(), prefix, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func TestForeignWitnessCosigns(t *testing.T) {
	t.Parallel()
	foreign, w := witnessed(t)
	m := memory{}
	tree := open(t, m, 0)
	cosigner, err := log.ParseCosigner(foreign.vkey())
	if err != nil {
		t.Fatal(err)
	}
	cosign := func(w *log.Witness, size int64) error {
		grow(tree, m, size)
		root, err := tree.Root()
		if err != nil {
			t.Fatal(err)
		}
		c := log.Checkpoint{Origin: origin, Size: size, Root: root, Time: time.Unix(1_800_000_000, 0).UTC()}
		text, own := signed(t, c)
		added, at, err := w.Cosign(t.Context(), text, func(before int64) ([]evidence.Hash, error) {
			return log.Reader(m.tile).Consistency(before, size)
		})
		if err != nil {
			return err
		}
		opened, err := log.OpenCheckpoint(append(text, added...), own, cosigner)
		if err != nil || len(opened.Signers) != 2 || !at.Equal(time.Unix(1_800_000_100, 0)) {
			t.Errorf("size %d: got %+v at %v, %v", size, opened, at, err)
		}
		return nil
	}
	for _, size := range []int64{0, 1, 1, 2, 300, 1000, 70_000} {
		if err := cosign(w, size); err != nil {
			t.Errorf("size %d: %v", size, err)
		}
	}
	second := client(t, foreign, "http://127.0.0.1:1")
	if err := cosign(second, 70_001); err == nil {
		t.Error("an unreachable witness cosigned")
	}
	foreign.mu.Lock()
	foreign.size = 1000 // as if it had been restored
	foreign.root = tlog.Hash(rootAt(t, m, 1000))
	foreign.mu.Unlock()
	if err := cosign(w, 70_002); err != nil {
		t.Errorf("after the witness went back: %v", err)
	}
	foreign.mu.Lock()
	foreign.root = tlog.Hash(leaf(1))
	foreign.mu.Unlock()
	if err := cosign(w, 70_003); !errors.Is(err, log.ErrWitness) {
		t.Errorf("a witness of another log: got %v, want %v", err, log.ErrWitness)
	}
}

func rootAt(t *testing.T, m memory, size int64) evidence.Hash {
	t.Helper()
	root, err := log.Reader(m.tile).Root(size)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestWitnessResponsesAreChecked(t *testing.T) {
	t.Parallel()
	foreign, w := witnessed(t)
	text, _ := signed(t, checkpoint(12))
	for name, test := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"no cosignature":         {200, "— witness.example/1 AAAAAAAA\n", log.ErrWitness},
		"cosignature of another": {200, "— other.example AAAAAAAA\n", log.ErrWitness},
		"nothing":                {200, "", log.ErrWitness},
		"a larger log":           {409, "13\n", log.ErrWitness},
		"not a size":             {409, "many\n", log.ErrWitness},
		"always another size":    {409, "5\n", log.ErrWitness},
		"unknown log":            {404, "", log.ErrUnknownLog},
		"unknown key":            {403, "", log.ErrUnknownLog},
		"overloaded":             {503, "", log.ErrWitness},
		"a redirect":             {307, "", log.ErrWitness},
	} {
		foreign.mu.Lock()
		foreign.answer = func(out http.ResponseWriter) bool {
			out.WriteHeader(test.status)
			_, _ = io.WriteString(out, test.body)
			return true
		}
		foreign.mu.Unlock()
		_, _, err := w.Cosign(t.Context(), text, func(int64) ([]evidence.Hash, error) { return nil, nil })
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	foreign.mu.Lock()
	foreign.answer = func(out http.ResponseWriter) bool {
		_, _ = io.WriteString(out, strings.Repeat("x", 1<<20))
		return true
	}
	foreign.mu.Unlock()
	if _, _, err := w.Cosign(t.Context(), text, func(int64) ([]evidence.Hash, error) { return nil, nil }); err == nil {
		t.Error("a response of 1 MiB was accepted")
	}
}

func FuzzCosign(f *testing.F) {
	key, _ := newKey("witness.example/1")
	foreign := &foreignWitness{name: "witness.example/1", key: key}
	text, _ := signed(f, checkpoint(12))
	f.Add([]byte("— witness.example/1 AAAAAAAA\n"))
	f.Fuzz(func(t *testing.T, response []byte) {
		if valid := log.ValidCosignatures(text, response, foreign.vkey()); len(valid) > 0 {
			t.Errorf("a cosignature that the witness did not make is accepted: %q", valid)
		}
	})
}
