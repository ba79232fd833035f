// Package witnesstest implements a witness of transparency logs for tests. It is written from C2SP tlog-witness v1.0.0, tlog-checkpoint and
// tlog-cosignature v1, and does not use package evidence/log.
package witnesstest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
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

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// At is the time of all cosignatures, in Unix seconds.
const At = 1_800_000_100

// A Witness cosigns the checkpoints of the logs whose keys it has.
type Witness struct {
	URL *url.URL // submission prefix

	name string
	key  ed25519.PrivateKey

	mu       sync.Mutex
	trust    func(origin string) (vkey string)
	heads    map[string]Head
	respond  func(http.ResponseWriter) bool
	requests int
}

// A Head is the last checkpoint of a log that a witness has cosigned.
type Head struct {
	Size int64
	Root tlog.Hash
}

// Start starts a witness on the loopback address. trust returns the verifier key of a log, or "" if the witness does not know the log.
func Start(tb testing.TB, name string, trust func(origin string) string) *Witness {
	tb.Helper()
	seed := sha256.Sum256([]byte(name))
	w := &Witness{name: name, key: ed25519.NewKeyFromSeed(seed[:]), trust: trust, heads: map[string]Head{}}
	server := httptest.NewServer(http.HandlerFunc(w.serve))
	tb.Cleanup(server.Close)
	var err error
	if w.URL, err = url.Parse(server.URL + "/w"); err != nil {
		tb.Fatal(err)
	}
	return w
}

// Respond makes f respond to requests. If f returns false, the witness responds as usual. A nil f ends this.
func (w *Witness) Respond(f func(http.ResponseWriter) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.respond = f
}

// Head returns the last checkpoint of a log that the witness has cosigned, and the number of requests to the witness.
func (w *Witness) Head(origin string) (h Head, requests int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heads[origin], w.requests
}

// SetHead replaces the last checkpoint that the witness has cosigned.
func (w *Witness) SetHead(origin string, h Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heads[origin] = h
}

func (w *Witness) public() []byte {
	public, _ := w.key.Public().(ed25519.PublicKey)
	return append([]byte{4}, public...)
}

func (w *Witness) id() []byte {
	h := sha256.Sum256(slices.Concat([]byte(w.name+"\n"), w.public()))
	return h[:4]
}

// VerifierKey returns the verifier key of the witness.
func (w *Witness) VerifierKey() string {
	return fmt.Sprintf("%s+%x+%s", w.name, w.id(), base64.StdEncoding.EncodeToString(w.public()))
}

// A request is a parsed request for a cosignature.
type request struct {
	before int64
	proof  tlog.TreeProof
	text   string // the text of the checkpoint
	origin string
	Head
}

// read parses a request. It returns a status other than 200 if the witness must refuse the request.
func (w *Witness) read(body []byte) (r request, status int) {
	head, signed, found := bytes.Cut(body, []byte("\n\n"))
	origin, _, _ := strings.Cut(string(signed), "\n")
	old, hashes, _ := strings.Cut(string(head)+"\n", "\n")
	var err error
	if r.before, err = strconv.ParseInt(strings.TrimPrefix(old, "old "), 10, 64); err != nil || !found {
		return r, http.StatusBadRequest
	}
	for line := range strings.Lines(hashes) {
		h, err := tlog.ParseHash(strings.TrimSuffix(line, "\n"))
		if err != nil || len(r.proof) == 63 {
			return r, http.StatusBadRequest
		}
		r.proof = append(r.proof, h)
	}
	vkey := w.trust(origin)
	if vkey == "" {
		return r, http.StatusNotFound
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return r, http.StatusForbidden
	}
	opened, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return r, http.StatusForbidden
	}
	lines := strings.Split(opened.Text, "\n")
	r.text, r.origin = opened.Text, origin
	if r.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || r.before > r.Size {
		return r, http.StatusBadRequest
	}
	if r.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return r, http.StatusBadRequest
	}
	return r, http.StatusOK
}

func (w *Witness) serve(out http.ResponseWriter, in *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	body, err := io.ReadAll(in.Body)
	if err != nil || in.Method != http.MethodPost || in.URL.Path != "/w/add-checkpoint" {
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	if w.respond != nil && w.respond(out) {
		return
	}
	r, status := w.read(body)
	was := w.heads[r.origin]
	switch {
	case status != http.StatusOK:
		out.WriteHeader(status)
	case r.before != was.Size, r.before == r.Size && r.before > 0 && r.Root != was.Root:
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		fmt.Fprintf(out, "%d\n", was.Size)
	case r.before > 0 && r.before < r.Size && tlog.CheckTree(r.proof, r.Size, r.Root, r.before, was.Root) != nil,
		(r.before == 0 || r.before == r.Size) && len(r.proof) > 0:
		out.WriteHeader(http.StatusUnprocessableEntity)
	default:
		w.heads[r.origin] = r.Head
		signature := ed25519.Sign(w.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", At, r.text))
		line := base64.StdEncoding.EncodeToString(slices.Concat(w.id(), binary.BigEndian.AppendUint64(nil, At), signature))
		fmt.Fprintf(out, "— another.example AAAAAAAA\n— %s %s\n", w.name, line)
	}
}
