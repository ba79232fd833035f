// Package litewitness_test has the checkpoints of a real gateway cosigned by litewitness, a witness whose code shares nothing with
// uimgate. It is a module of its own, because uimgate itself needs nothing of that witness.
package litewitness_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/torchwood"
	"go.uber.org/zap"
	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/pat/keys"
)

const order = "shop.example:order:v1"

const agentsFile = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [{
    "intent_uid": "` + order + `", "intent_name": "Order", "description": "Order.",
    "input_parameters": [{"name": "product", "type": "string", "required": true}],
    "endpoint": {"url": "https://shop.example/orders", "method": "POST", "content_type": "application/json"}
  }]
}`

const policyFile = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [{"target": "` + order + `", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}]
}`

// The name of the witness is a URL without its scheme, as C2SP tlog-cosignature recommends.
const witnessName = "witness.example/w1"

// A witness knows a log by its key. It cosigns the first checkpoint, and each later one only with a proof that the log has grown without a
// change, so a checkpoint with a cosignature shows that this proof, and the encodings of C2SP, are right.
func TestForeignWitnessCosignsAGrowingLog(t *testing.T) {
	w := newWitness(t)
	g := startGateway(t, w)
	c := g.customer(t)
	w.serve(t, g.logKey(t))
	size := int64(0)
	for range 3 {
		if _, err := c.Execute(t.Context(), order, map[string]any{"product": "lamp"}, agent.ExecuteOptions{}); err != nil {
			t.Fatal(err)
		}
		checkpoint := g.cosigned(t, w, size)
		if checkpoint.N <= size {
			t.Fatalf("got a checkpoint of %d entries, want more than %d", checkpoint.N, size)
		}
		size = checkpoint.N
	}
}

// A witness is a process of litewitness, with a key in an SSH agent of this process.
type witness struct {
	dir, address string
	verifier     *torchwood.CosignatureVerifier
	fingerprint  string
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // paths of sockets have at most about 100 bytes
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &witness{dir: dir, address: freeAddress(t)}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/", "filippo.io/torchwood/cmd/litewitness")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, private, err := ed25519.GenerateKey(nil)
	must(t, err)
	signer, err := torchwood.NewCosignatureSigner(witnessName, private)
	must(t, err)
	w.verifier = signer.Verifier()
	sshKey, err := ssh.NewPublicKey(public)
	must(t, err)
	w.fingerprint = ssh.FingerprintSHA256(sshKey)
	ring := sshagent.NewKeyring()
	must(t, ring.Add(sshagent.AddedKey{PrivateKey: private}))
	sockets, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "agent"))
	must(t, err)
	t.Cleanup(func() { _ = sockets.Close() })
	go func() {
		for {
			conn, err := sockets.Accept()
			if err != nil {
				return
			}
			go func() { _ = sshagent.ServeAgent(ring, conn) }()
		}
	}()
	return w
}

// serve starts the witness, and adds a log with the given verifier key to its database.
func (w *witness) serve(t *testing.T, logKey string) {
	t.Helper()
	db := filepath.Join(w.dir, "witness.db")
	process := exec.CommandContext(t.Context(), filepath.Join(w.dir, "litewitness"), "-db", db, "-name", witnessName, "-key", w.fingerprint,
		"-ssh-agent", filepath.Join(w.dir, "agent"), "-listen", w.address)
	process.Stderr = t.Output()
	must(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	w.awaitListener(t)
	origin, _, _ := strings.Cut(logKey, "+")
	empty := tlog.Hash(sha256.Sum256(nil))
	sqlitetest.Alter(t, db, fmt.Sprintf("INSERT INTO log (origin, tree_size, tree_hash) VALUES ('%s', 0, '%s')", origin, empty))
	sqlitetest.Alter(t, db, fmt.Sprintf("INSERT INTO key (origin, key) VALUES ('%s', '%s')", origin, logKey))
}

// awaitListener waits until the witness accepts connections, because its database has its tables then.
func (w *witness) awaitListener(t *testing.T) {
	t.Helper()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", w.address); err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-poll.C:
		case <-t.Context().Done():
			t.Fatal("the witness does not accept connections")
		}
	}
}

type gateway struct{ url string }

// startGateway runs a whole gateway that asks the witness, until the test ends.
func startGateway(t *testing.T, w *witness) *gateway {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"ok": true}`)
	}))
	t.Cleanup(api.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{"agents.json": agentsFile, "policy.json": policyFile, "uimgate.yaml": `
server: {listen: 127.0.0.1:0}
billing: {credit: 100 EUR, newcomers: 100 EUR}
evidence: {publish: public, witnesses: [{key: "` + w.verifier.String() + `", url: "http://` + w.address + `"}]}
services:
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: ` + api.URL + `}}
`} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	load := func() (*config.Config, config.Problems) {
		return config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{
			Blocks: bindings.Blocks(), Env: func(string) (string, bool) { return "", false },
		})
	}
	cfg, problems := load()
	if cfg == nil {
		t.Fatal(problems.Err())
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan daemon.Addresses, 1), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{
			Config: cfg, Load: load, Log: zap.NewNop(), Ready: func(a daemon.Addresses) { ready <- a }, Version: "test", Commit: "test",
			Now: time.Now, Elapsed: func() time.Duration { return time.Since(began) },
		})
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-ready:
		t.Cleanup(stop)
		return &gateway{a.Listen}
	case err := <-done:
		cancel()
		t.Fatal(err)
		return nil
	}
}

// customer returns an agent that has agreed.
func (g *gateway) customer(t *testing.T) *agent.Service {
	t.Helper()
	key, err := agent.NewKey(keys.EdDSA)
	must(t, err)
	client, err := agent.New(agent.Options{Key: key, AgentID: "customer", AllowInsecure: true})
	must(t, err)
	t.Cleanup(client.Close)
	service, err := client.Discover(t.Context(), g.url)
	must(t, err)
	policy, err := service.Policy(t.Context())
	must(t, err)
	_, err = service.Agree(t.Context(), agent.Acceptance{Digest: policy.Digest})
	must(t, err)
	return service
}

// logKey returns the verifier key of the log, as agents.json has it.
func (g *gateway) logKey(t *testing.T) string {
	t.Helper()
	var document struct {
		LogKey string `json:"uim-log-key"`
	}
	must(t, json.Unmarshal(g.get(t, "/agents.json"), &document))
	if document.LogKey == "" {
		t.Fatal("agents.json has no uim-log-key")
	}
	return document.LogKey
}

// cosigned waits for a checkpoint of more than size entries that the witness has cosigned, and verifies both signatures with the code of
// the witness.
func (g *gateway) cosigned(t *testing.T, w *witness, size int64) torchwood.Checkpoint {
	t.Helper()
	own, err := note.NewVerifier(g.logKey(t))
	must(t, err)
	verifiers := note.VerifierList(own, w.verifier)
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		n, err := note.Open(g.get(t, "/api/log/checkpoint"), verifiers)
		must(t, err)
		checkpoint, err := torchwood.ParseCheckpoint(n.Text)
		must(t, err)
		if checkpoint.N > size && len(n.Sigs) == 2 {
			return checkpoint
		}
		select {
		case <-poll.C:
		case <-t.Context().Done():
			t.Fatalf("no checkpoint of more than %d entries was cosigned; the last one: %s", size, n.Text)
		}
	}
}

func (g *gateway) get(t *testing.T, path string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+path, http.NoBody)
	must(t, err)
	response, err := http.DefaultClient.Do(r)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	must(t, err)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s: %s", path, response.Status, body)
	}
	return body
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
