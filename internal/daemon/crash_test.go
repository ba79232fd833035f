package daemon_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
)

// childVariable makes the test binary a gateway: the directory of its configuration.
const childVariable = "UIMGATE_TEST_GATEWAY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		if err := beGateway(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beGateway(dir string) error {
	cfg, problems := config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{})
	if cfg == nil {
		return problems.Err()
	}
	return daemon.Run(context.Background(), daemon.Options{Config: cfg, Log: zap.NewNop(), Now: time.Now, Ready: func(a daemon.Addresses) {
		_ = json.NewEncoder(os.Stdout).Encode(a)
	}})
}

// startProcess runs a gateway in a process of its own, so that it can be killed.
func (g *gate) startProcess() *exec.Cmd {
	g.t.Helper()
	self, err := os.Executable()
	if err != nil {
		g.t.Fatal(err)
	}
	c := exec.CommandContext(g.t.Context(), self)
	c.Env = append(os.Environ(), childVariable+"="+g.dir)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var a daemon.Addresses
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
		g.t.Fatalf("the gateway did not start again: %v %s", err, stderr.String())
	}
	g.url, g.admin = a.Listen, a.Admin
	return c
}

// A gateway is killed again and again under load. Whatever moment it was: every call that reached the
// upstream has exactly one record, whatever an agent was told is what the record says, the limit was
// never exceeded, and what was revoked stays revoked.
func TestKilledUnderLoadNothingIsLost(t *testing.T) {
	const lives, workers, limit = 4, 8, 60
	g := &gate{t: t, dir: t.TempDir(), upstream: newUpstream(t, nil)}
	g.write("agents.json", testAgents)
	g.write("policy.json", strings.Replace(testPolicy, `"rightOperand": 1000`, fmt.Sprintf(`"rightOperand": %d`, limit), 1))
	g.write("uimgate.yaml", strings.ReplaceAll(strings.Replace(testConfig, "1 EUR", "100000 EUR", 1), "UPSTREAM", g.upstream.server.URL))
	process := g.startProcess()
	buyer, searcher, revoked := g.newAgent("buyer").agree(), g.newAgent("searcher").agree(), g.newAgent("revoked").agree()
	if got := g.do("POST", "/api/pat/revoke", []byte("token="+revoked.token), header{"Content-Type": "application/x-www-form-urlencoded"}); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}

	var mu sync.Mutex
	told := map[string]string{} // execution → the state an agent was told
	for life := range lives {
		var answered atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for worker := range workers {
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					h := header{"Content-Type": "application/json", "Authorization": "Bearer " + buyer.token, "Idempotency-Key": fmt.Sprintf("%d-%d-%d", life, worker, n)}
					body := `{"intent_uid":"` + order + `","parameters":{"product_id":"p1"}}`
					if n%3 == 0 {
						h["Authorization"], body = "Bearer "+searcher.token, `{"intent_uid":"`+search+`","parameters":{"query":"lamp"}}`
					}
					got, err := try(ctx, "POST", g.url+"/api/intents/execute", []byte(body), h)
					if err != nil {
						continue // killed, or about to be
					}
					answered.Add(1)
					if id, state, ok := chargeTold(got); ok {
						mu.Lock()
						told[id] = state
						mu.Unlock()
					}
				}
			})
		}
		for want := 40 + rand.Int64N(80); answered.Load() < want; { // killed in the midst of it, at no particular moment
			if process.ProcessState != nil {
				t.Fatal("the gateway ended by itself")
			}
			waitABit(t)
		}
		if err := process.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = process.Wait()
		cancel()
		wg.Wait()
		process = g.startProcess()
	}

	if got := revoked.execute(details, map[string]any{"id": "p1"}, nil); got.reason(t) != "REVOKED_TOKEN" {
		t.Errorf("revoked before the crashes: %d %s", got.status, got.body)
	}
	records := g.executions()
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()

	searches, orders := 0, map[string]int{}
	for _, call := range g.upstream.calls() {
		if call.method == http.MethodGet {
			searches++
			continue
		}
		orders[call.header.Get("UIM-Execution-Id")]++
	}
	if searches > limit || searches < limit/2 {
		t.Errorf("%d searches reached the upstream on a limit of %d", searches, limit)
	}
	for id, n := range orders {
		if n != 1 || records[id] == "" {
			t.Errorf("execution %s reached the upstream %d times; its record: %q", id, n, records[id])
		}
	}
	for id, state := range told {
		if records[id] != state {
			t.Errorf("execution %s: the agent was told %s, the record says %q", id, state, records[id])
		}
		if state == "captured" && orders[id] != 1 {
			t.Errorf("execution %s was charged, but reached the upstream %d times", id, orders[id])
		}
	}
	if len(told) < 50 || len(orders) < len(told) {
		t.Errorf("too little happened: %d told, %d orders", len(told), len(orders))
	}
	t.Logf("%d searches, %d orders, %d told, %d records", searches, len(orders), len(told), len(records))
}

// chargeTold reads the UIM-Charge field.
func chargeTold(a answer) (id, state string, ok bool) {
	for part := range strings.SplitSeq(a.header.Get("UIM-Charge"), "; ") {
		if v, is := strings.CutPrefix(part, "id="); is {
			id = v
		}
		if v, is := strings.CutPrefix(part, "state="); is {
			state = v
		}
	}
	return id, state, id != ""
}

// executions lists every record: id → state.
func (g *gate) executions() map[string]string {
	g.t.Helper()
	out, after := map[string]string{}, ""
	for {
		page := g.adminDo("GET", "/admin/v1/usage/executions?limit=1000&after="+after, nil).json(g.t)
		items, _ := page["items"].([]any)
		for _, item := range items {
			record, _ := item.(map[string]any)
			id, _ := record["id"].(string)
			out[id], _ = record["state"].(string)
			after = id
		}
		if next, _ := page["next"].(string); next == "" || len(items) == 0 {
			return out
		}
	}
}
