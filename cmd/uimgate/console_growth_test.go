package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	storetest "github.com/uimgate/uimgate/internal/test/store"
)

// grownCalls is the number of calls in the database of TestPagesOfAGrownGateway, made by a tenth as many agents. 0 skips the test:
//
//	go test ./cmd/uimgate -run PagesOfAGrownGateway -v -growth.calls 1000000
var grownCalls = flag.Int("growth.calls", 0, "calls in TestPagesOfAGrownGateway, made by a tenth as many agents; 0 skips the test")

const (
	largestPage = 150_000 // bytes
	slowestPage = 100 * time.Millisecond
)

// Each page of the console stays small and fast on a database with many calls and agents. Each time is the minimum of seven measurements,
// because the machine may be busy.
func TestPagesOfAGrownGateway(t *testing.T) {
	if *grownCalls == 0 {
		t.Skip("-growth.calls is 0")
	}
	for name, place := range engines {
		t.Run(name, func(t *testing.T) {
			settings := place(t)
			unproved := strings.Replace(plainService, "upstream:", `intents: {"shop.example:order:v1": {proof: optional}}, upstream:`, 1)
			g := newProcess(t, operatorPolicy, settings+unproved, taken)
			g.startProcess()
			token, _ := g.agree("agent-1")
			if !g.order(token, "grown") {
				t.Fatal("the order failed")
			}
			agreement := want[api.Page[agreements.Agreement]](g, "agreements", "list").Items[0].ID
			execution := want[api.Page[calls.Execution]](g, "usage", "executions").Items[0].ID
			await(t, func() bool { return len(want[api.Page[calls.Call]](g, "calls", "list").Items) > 0 })
			g.stop()
			at := filepath.Join(g.dir, "data", "state.db")
			if settings != "" {
				at = strings.TrimSpace(strings.TrimPrefix(settings, "store: "))
			}
			growGateway(t, at, *grownCalls)
			g.startProcess()
			readPages(g, string(agreement), execution)
		})
	}
}

func growGateway(t *testing.T, place string, calls int) {
	t.Helper()
	agents := max(1, calls/10)
	agent := fmt.Sprintf("'agent-' || (n.n %% %d + 2)", agents)
	storetest.Grow(t, place, "agents", agents, map[string]string{
		"id": "'agent-' || (n.n + 1)", "name": "'Name ' || n.n", "created_at": "r.created_at - n.n",
	})
	storetest.Grow(t, place, "agreements", agents, map[string]string{
		"id": "'a-' || n.n", "agent_id": agent, "nonce": "'n-' || n.n", "created_at": "r.created_at - n.n",
	})
	storetest.Grow(t, place, "accounts", agents, map[string]string{"agent_id": agent})
	storetest.Grow(t, place, "executions", calls, map[string]string{
		"id": "'x-' || n.n", "agent_id": agent, "begun_at": "r.begun_at - n.n", "idem_key": "''",
	})
	storetest.Grow(t, place, "ledger", calls, map[string]string{
		"seq": "r.seq + n.n + 1000", "at": "r.at - n.n", "agent_id": agent, "execution_id": "'x-' || n.n", "k": "n.n + 10",
	})
	storetest.Grow(t, place, "requests", calls, map[string]string{
		"id": "'r-' || n.n", "at": "r.at - n.n", "number": "r.number + n.n", "agent": agent,
	})
}

// readPages reads each page of the console, and fails the test if one of them is too large or too slow.
func readPages(g *testGateway, agreement, execution string) {
	g.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		g.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	link := want[signin.ConsoleLink](g, "console", "--no-browser")
	resp, err := client.PostForm(g.addresses.Admin+"/console/link", url.Values{"code": {link.Code}})
	if err != nil || resp.StatusCode != http.StatusOK {
		g.Fatalf("signing in: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
	for _, page := range []string{
		"", "agents", "agents?search=agent-7", "agents?search=name", "agents?status=waiting", "agents/agent-7", "agreements", "agreements/" + agreement,
		"calls", "calls?reason=EXPIRED_TOKEN", "calls?agent_id=agent-7", "calls?outcome=failed", "calls/grown", "money", "money/calls",
		"money/calls?state=unresolved", "money/calls/" + execution, "money/payments", "money/statements", "money/invoices", "money/refunds",
		"money/ledger", "money/ledger?agent_id=agent-7", "catalogue", "policy", "policy/edit", "doors", "stops", "settings", "settings/keys",
		"settings/sessions", "settings/reloads",
	} {
		var took []time.Duration
		size := 0
		for range 7 {
			began := time.Now()
			resp, err := client.Get(g.addresses.Admin + "/console/" + page)
			if err != nil {
				g.Fatal(err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if size = int(n); err != nil || resp.StatusCode != http.StatusOK {
				g.Fatalf("%s: %d, %v", page, resp.StatusCode, err)
			}
			took = append(took, time.Since(began))
		}
		least := slices.Min(took)
		g.Logf("%-32s %4d kB %8.1f ms, first %8.1f ms", "/"+page, size/1000, least.Seconds()*1000, took[0].Seconds()*1000)
		if size > largestPage || least > slowestPage {
			g.Errorf("/%s has %d bytes, and took %s; want at most %d and %s", page, size, least, largestPage, slowestPage)
		}
	}
}
