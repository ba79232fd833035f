package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/uimgate/uimgate/config"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
)

// newProcess prepares a gateway in front of an API that answer implements; startProcess runs it as a separate process. UPSTREAM in settings
// is replaced by the address of the API.
func newProcess(t *testing.T, policy, settings string, answer http.HandlerFunc) *testGateway {
	t.Helper()
	upstream := httptest.NewServer(answer)
	t.Cleanup(upstream.Close)
	g := &testGateway{T: t, dir: t.TempDir()}
	g.write("agents.json", operatorAgents)
	g.write("policy.json", policy)
	g.write("uimgate.yaml", `data: data
server: {listen: "127.0.0.1:0", per_address: 100000/second, issue_per_address: 1000/second}
admin: {listen: "127.0.0.1:0"}
billing: {credit: 100 EUR}
`+strings.ReplaceAll(settings, "UPSTREAM", upstream.URL))
	return g
}

// startProcess runs the built command until stop or the end of the test. A new gateway with SQLite begins with a copied database.
func (g *testGateway) startProcess() *os.Process {
	g.Helper()
	self, err := exec.LookPath("uimgate")
	if err != nil {
		g.Fatal(err)
	}
	if text, err := os.ReadFile(g.config()); err != nil {
		g.Fatal(err)
	} else if !bytes.Contains(text, []byte("\nstore:")) {
		sqlitetest.Empty.Copy(g, config.StatePath(filepath.Join(g.dir, "data")))
	}
	c := exec.Command(self, "serve", "-c", g.config())
	log, err := os.Create(filepath.Join(g.dir, "gateway.log"))
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = log.Close() })
	c.Stderr = log
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		g.Fatal(err)
	}
	stopped := false
	g.stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = c.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait() // some tests kill the process
	}
	g.Cleanup(g.stop)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &g.addresses)
	}
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		g.Fatalf("the gateway did not start: %v\n%s", err, text)
	}
	return c.Process
}

// order makes a call and reports whether it got a complete successful response.
func (g *testGateway) order(token, requestID string) bool {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.addresses.Listen+"/api/intents/execute",
		strings.NewReader(`{"intent_uid": "shop.example:order:v1", "parameters": {"product": "lamp"}}`))
	if err != nil {
		g.Error(err)
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("UIM-Request-ID", requestID)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}
