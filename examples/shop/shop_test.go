package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/store"
)

// start runs the shop on a free port and returns its address and how to stop it.
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
		t.Errorf("%s, %v", body, err)
	}
	http.DefaultClient.CloseIdleConnections()
	if code := stop(); code != 0 {
		t.Errorf("exit code %d", code)
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
		{[]string{"extra"}, 2, "", `"extra" is not expected`},
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

func TestThePolicyPublishes(t *testing.T) {
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

// Every intent of agents.json, called as the gateway calls it, gets from the shop what it promises.
func TestTheIntentsFitTheShop(t *testing.T) {
	const key = "s3cret"
	address, stop := start(t, "--api-key", key)
	defer stop()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u, err := upstream.New(upstream.Config{
		URL: base, Timeout: 10 * time.Second, MaxResponse: 1 << 20, IdempotencyHeader: "Idempotency-Key", Now: time.Now,
		AuthHeader: upstream.AuthHeader{Name: "X-Api-Key", Value: key}, Breaker: upstream.Breaker{Failures: 5, OpenFor: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	c := catalog(t)
	for _, tt := range []struct {
		intent, in, want string
		code             upstream.Code
	}{
		{
			"shop.example:search-products:v1", `{"query":"desk","category":"furniture","max_price":400.00}`,
			`{"products":[{"category":"furniture","currency":"EUR","id":"oak-desk","in_stock":true,"name":"Oak desk 140","price":349.00}],"total_results":1}`, "",
		},
		{
			"shop.example:product-details:v1", `{"product_id":"gel-pens"}`,
			`{"category":"stationery","currency":"EUR","description":"0.5 mm, six colours, quick to dry.","id":"gel-pens","name":"Gel pens, set of 6","price":11.40,"stock":90}`, "",
		},
		{"shop.example:product-details:v1", `{"product_id":"nope"}`, "", upstream.NotFound},
		{"shop.example:place-order:v1", `{"product_id":"gel-pens","quantity":2}`, `"order_id":"order-000001","product_id":"gel-pens","quantity":2,"status":"confirmed","total":22.80}`, ""},
		{"shop.example:place-order:v1", `{"product_id":"usb-hub"}`, "", upstream.Conflict},
	} {
		t.Run(tt.intent+tt.in, func(t *testing.T) {
			answer, outcome, err := call(t, u, c, tt.intent, tt.in)
			if tt.code != "" {
				rejected, ok := errors.AsType[*upstream.RejectedError](err)
				if !ok || rejected.Code != tt.code || rejected.Message == "" || outcome != store.Failed {
					t.Fatalf("%q, %v", outcome, err)
				}
				return
			}
			if err != nil {
				t.Fatal(outcome, err)
			}
			if !strings.Contains(answer, tt.want) {
				t.Errorf("%s, want %s", answer, tt.want)
			}
		})
	}
}

func call(t *testing.T, u *upstream.Upstream, c *intents.Catalog, uid, in string) (string, store.Outcome, error) {
	t.Helper()
	intent, ok := c.Lookup(uid)
	if !ok {
		t.Fatal("no such intent")
	}
	e := upstream.Endpoint{IntentUID: uid, URL: intent.Endpoint.URL, Method: intent.Endpoint.Method, ContentType: intent.Endpoint.ContentType}
	for _, p := range intent.Inputs {
		e.Parameters = append(e.Parameters, p.Name)
	}
	route, err := u.Route(e)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := strictjson.DecodeObject([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	filled, violations := intent.Validate(tree)
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	p, refused := route.Prepare(filled)
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	answer, outcome, err := u.Call(t.Context(), p, upstream.Identity{AgentID: "agent-1", ExecutionID: t.Name()}, func() error { return nil })
	if err != nil {
		return "", outcome, err
	}
	shaped, err := intent.Shape(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(shaped)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), outcome, nil
}
