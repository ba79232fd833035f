package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const loggedPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [{"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "logUsage"}]}]
}`

const plainService = `services: [{agents_file: agents.json, policy_file: policy.json, upstream: {url: "UPSTREAM"}}]
`

func taken(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"order": 1}`) }

// audited returns, by request id, how many records of permitted calls a file of the audit stream has.
func (g *testGateway) audited(name string) map[string]int {
	g.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "data", name))
	if err != nil {
		g.Fatal(err)
	}
	n := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var r struct {
			RequestID string `json:"request_id"`
			Decision  string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil { // incomplete, because the process ended
			continue
		}
		if r.Decision == "permit" {
			n[r.RequestID]++
		}
	}
	return n
}

func TestDutyRecordSurvivesRestart(t *testing.T) {
	t.Parallel()
	g := newProcess(t, loggedPolicy, plainService, taken)
	process := g.startProcess()
	token, _ := g.agree("agent-1")
	var callers sync.WaitGroup
	var count atomic.Int64
	var mu sync.Mutex
	var answered []string
	for caller := range 8 {
		callers.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("r-%d-%d", caller, i)
				if !g.order(token, id) {
					return
				}
				mu.Lock()
				answered = append(answered, id)
				mu.Unlock()
				if count.Add(1) == 200 {
					_ = process.Signal(syscall.SIGKILL)
				}
			}
		})
	}
	callers.Wait()
	g.stop()
	if len(answered) < 200 {
		t.Fatalf("%d calls got a response", len(answered))
	}
	records, lost := g.audited("audit.jsonl"), 0
	for _, id := range answered {
		if records[id] == 0 {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d calls with a response have no record", lost, len(answered))
	}
}

func TestAuditStreamRotation(t *testing.T) {
	t.Parallel()
	g := newProcess(t, loggedPolicy, plainService, taken)
	process := g.startProcess()
	token, _ := g.agree("agent-1")
	call := func(id string) {
		t.Helper()
		if !g.order(token, id) {
			t.Fatalf("%s got no response", id)
		}
	}
	now, before := filepath.Join(g.dir, "data", "audit.jsonl"), filepath.Join(g.dir, "data", "audit.jsonl.1")
	call("r-1")
	if err := os.Rename(now, before); err != nil {
		t.Fatal(err)
	}
	call("r-2")
	if err := process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(now); err == nil {
			if mode := info.Mode().Perm(); mode != 0o600 {
				t.Errorf("mode %o, want 0o600", mode)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no new file was opened")
		}
	}
	call("r-3")
	if old := g.audited("audit.jsonl.1"); len(old) != 2 || old["r-1"] != 1 || old["r-2"] != 1 {
		t.Errorf("before: %v", old)
	}
	if next := g.audited("audit.jsonl"); len(next) != 1 || next["r-3"] != 1 {
		t.Errorf("after: %v", next)
	}
}

func TestStatusReportsDegradation(t *testing.T) {
	t.Parallel()
	g := newProcess(t, loggedPolicy, plainService, taken)
	data := filepath.Join(g.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(data, "audit.jsonl")); err != nil {
		t.Fatal(err)
	}
	g.startProcess()
	token, _ := g.agree("agent-1")
	if !g.order(token, "r-1") {
		t.Error("a call was refused")
	}
	s := g.run("status")
	if want := "Degraded: audit: audit records cannot be written: no space left on device\n"; s.code != exitDone ||
		!strings.Contains(s.errors, want) {
		t.Errorf("got %+v; want code %v and errors containing %q", s, exitDone, want)
	}
}
