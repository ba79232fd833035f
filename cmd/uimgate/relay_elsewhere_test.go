package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/mrp"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	mrptest "github.com/uimgate/uimgate/internal/test/mrp"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
)

// TestRelayInAnotherProcess runs a gateway whose service is an agent at a relay in another process. An agent that only knows that relay
// finds the service there, searches, reads the policy, agrees and orders once. The operator finds the charge in the ledger.
func TestRelayInAnotherProcess(t *testing.T) {
	t.Parallel()
	relay := startedRelay(t)
	g := newProcess(t, operatorPolicy, `services: [{agents_file: agents.json, policy_file: policy.json, upstream: {url: "UPSTREAM"}, `+
		`doors: {mrp: {relay: "`+relay+`", name: Lamps}}}]`, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) })
	g.startProcess()

	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mrp.New(mrp.Options{Relay: relay, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	a := &mrptest.Agent{Client: c, Key: key, Now: time.Now}
	for a.To == (wire.Key{}) { // the gateway registers the service at the relay as soon as it can
		for found, err := range c.All(t.Context(), mrp.Search{Tags: []string{"uim"}, Name: "Lamps"}) {
			if err != nil {
				t.Fatal(err)
			}
			a.To = found.PublicKey
		}
	}
	found := mrptest.Result[struct {
		Intents []struct {
			UID string `json:"intent_uid"`
		}
	}](t, a.Ask(t, "uim:search", `{"query":"order"}`))
	if len(found.Intents) != 1 || found.Intents[0].UID != "shop.example:order:v1" {
		t.Fatalf("found %+v; want Intents of length 1 and Intents[0].UID %q", found, "shop.example:order:v1")
	}
	order := func(member string) string {
		return fmt.Sprintf(`{"intent_uid":%q,"parameters":{"product":"lamp"},"idempotency_key":"o-1"%s}`, found.Intents[0].UID, member)
	}
	if answer := a.Ask(t, "uim:execute", order("")); !strings.Contains(answer, `"code":"missing_token"`) {
		t.Errorf("without a PAT: %s, want a text that contains %q", answer, `"code":"missing_token"`)
	}
	token := a.Agrees(t, g.addresses.Listen+"/api/pat/issue").PAT
	if answer := a.Ask(t, "uim:execute", order(fmt.Sprintf(`,"pat":%q`, token))); !strings.Contains(answer, `"policy_requires_verification"`) {
		t.Errorf("without a proof, which another relay cannot create: %s", answer)
	}

	type executed struct {
		Output   map[string]any
		Charge   string
		Replayed bool
	}
	proved := func() executed {
		return mrptest.Result[executed](t, a.Ask(t, "uim:execute", order(fmt.Sprintf(`,"pat":%q,"proof":%q`, token, proves(t, a, token)))))
	}
	done, again := proved(), proved()
	if done.Output["ok"] != true || done.Replayed || !again.Replayed || again.Charge != done.Charge {
		t.Errorf("%+v, then %+v", done, again)
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(done.Charge, "0.25 EUR; id="), ";")
	var moves []string
	for _, e := range want[api.Page[calls.Entry]](g, "usage", "ledger").Items { // the newest first
		moves = append(moves, string(e.To))
		if e.ExecutionID != id || string(e.AgentID) != a.ID() || e.Intent != found.Intents[0].UID || e.Amount+" "+e.Currency != "0.25 EUR" {
			t.Errorf("%+v, want the charge of %s for %s", e, a.ID(), id)
		}
	}
	if !slices.Equal(moves, []string{"captured", "held"}) {
		t.Errorf("the ledger has %v", moves)
	}
}

// proves signs a proof of key for the order.
func proves(t *testing.T, a *mrptest.Agent, token string) string {
	t.Helper()
	var claims struct {
		ID pat.TokenID `json:"jti"`
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	digest, err := pat.ExecuteDigest("shop.example:order:v1", map[string]any{"product": "lamp"})
	if err != nil {
		t.Fatal(err)
	}
	proof, err := pat.SignProof(a.Key, pat.ProofBinding{Audience: "shop.example", TokenID: claims.ID, Digest: digest}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

// startedRelay runs uimgate mrp-relay until the end of the test, and returns its URL.
func startedRelay(t *testing.T) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "uimgate", "mrp-relay", "--listen", "127.0.0.1:0", "--data", t.TempDir(),
		"--requests-per-minute", "100000")
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	var log bytes.Buffer
	c.Stderr = &log
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // t.Context has ended, which stops the relay
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait()
	})
	var ready struct {
		Relay string `json:"mrp_relay"`
	}
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatalf("the relay did not start: %v\n%s", err, &log)
	}
	return ready.Relay
}
