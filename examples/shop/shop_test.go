package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

// start runs the shop on a free port. It returns the address, and a function that stops the shop.
func start(t *testing.T, args ...string) (address string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), noEnv, in, t.Output())
		_ = in.Close()
	}()
	var ready struct {
		Ready  bool
		Listen string
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil || !ready.Ready {
		t.Fatalf("no ready line: %q, %v", line, err)
	}
	return ready.Listen, func() int { cancel(); return <-code }
}

func noEnv(string) string { return "" }

func TestRun(t *testing.T) {
	address, stop := start(t)
	resp, err := http.Get(address + "/products/stool")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || !strings.Contains(string(body), "Birch stool") {
		t.Errorf("got %s, %v", body, err)
	}
	http.DefaultClient.CloseIdleConnections()
	if code := stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestExitCodes(t *testing.T) {
	address, stop := start(t)
	defer stop()
	taken := strings.TrimPrefix(address, "http://")
	for _, tt := range []struct {
		args        []string
		code        int
		out, errors string
	}{
		{[]string{"--help"}, 0, "Example:", ""},
		{[]string{"--nope"}, 2, "", "--help"},
		{[]string{"extra"}, 2, "", `unexpected argument "extra"`},
		{[]string{"--listen", taken}, 1, "", "address already in use"},
		{[]string{"--listen", "nonsense"}, 1, "", "shop: "},
	} {
		var out, errs strings.Builder
		code := run(t.Context(), tt.args, noEnv, &out, &errs)
		if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.errors) {
			t.Errorf("%q: %d, %q, %q", tt.args, code, out.String(), errs.String())
		}
	}
}

func catalog(t *testing.T) *intents.Catalog {
	t.Helper()
	doc, err := os.ReadFile("agents.json")
	if err != nil {
		t.Fatal(err)
	}
	c, problems := intents.Parse(doc, intents.Options{Strict: true})
	quiet(t, problems)
	return c
}

func quiet(t *testing.T, problems problem.List) {
	t.Helper()
	for _, p := range problems {
		t.Errorf("%s: %s", p.Level, p)
	}
	if problems.Failed() {
		t.FailNow()
	}
}

func TestPolicyPublishes(t *testing.T) {
	doc, err := os.ReadFile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	world := odrl.World{Hosts: []string{"shop.example"}}
	for _, i := range catalog(t).Intents() {
		world.Intents = append(world.Intents, odrl.Asset{UID: i.UID.String(), Namespace: i.UID.Namespace, Name: i.UID.Name, Title: i.Name})
	}
	policy, problems := odrl.Publish(t.Context(), doc, world)
	quiet(t, problems)
	for _, tt := range []struct{ intent, charge, rate string }{
		{"shop.example:search-products:v1", "0", "30/minute"},
		{"shop.example:product-details:v1", "0", "1000/hour"},
		{"shop.example:place-order:v1", "0.05 EUR", "60/hour"},
	} {
		d, err := policy.Decide(t.Context(), odrl.Request{AgentID: "agent-1", KeyID: "k", Intent: tt.intent, Now: time.Now()})
		if err != nil || !d.Permit || len(d.Candidates) != 1 {
			t.Fatalf("%s: %+v, %v", tt.intent, d, err)
		}
		if c := d.Candidates[0]; c.Charge.String() != tt.charge || len(c.Limits) != 1 || c.Limits[0].String() != tt.rate {
			t.Errorf("%s: %+v", tt.intent, c)
		}
	}
}
