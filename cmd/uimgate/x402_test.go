package main

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	facilitatortest "github.com/uimgate/uimgate/internal/test/facilitator"
	"github.com/uimgate/uimgate/store"
)

// A process is killed while the facilitator settles a payment. The next process asks for the outcome of the payment, and enters it once.
func TestPaymentSurvivesAKilledProcess(t *testing.T) {
	t.Parallel()
	for name, place := range engines {
		faults := killedOn(name, facilitatortest.HangingFirst, facilitatortest.MovedHanging, facilitatortest.Hanging)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killed := make([]*killedGateway, len(faults))
			for i, fault := range faults { // on PostgreSQL, the claims of the killed processes end during one wait
				killed[i] = killedWhilePaying(t, place(t), fault)
			}
			for i, fault := range faults {
				t.Run(string(fault), killed[i].enters)
			}
		})
	}
}

// A killedGateway is a gateway whose process was killed during a payment. The next process runs.
type killedGateway struct {
	*testGateway
	chain   *facilitatortest.Facilitator
	token   string
	payment []byte
	fault   facilitatortest.Fault
}

func killedWhilePaying(t *testing.T, place string, fault facilitatortest.Fault) *killedGateway {
	t.Helper()
	chain, payer := facilitatortest.New(t, time.Now), facilitatortest.NewPayer(t, time.Now)
	chain.Remember()
	g := newProcess(t, operatorPolicy, place+"payments: {minimum: 1 EUR, "+facilitatortest.Settings(chain.URL, "EUR")+"}\n"+`services:
- agents_file: agents.json
  policy_file: policy.json
  intents: {"shop.example:order:v1": {proof: optional}}
  upstream: {url: "UPSTREAM"}
`, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) })
	text, err := os.ReadFile(g.config())
	if err != nil {
		t.Fatal(err)
	}
	g.write("uimgate.yaml", strings.Replace(string(text), "billing: {credit: 100 EUR}", "billing: {mode: prepaid}", 1))
	process := g.startProcess()
	token, _ := g.agree("agent-1")
	status, terms := g.pay(token, nil)
	if status != http.StatusPaymentRequired || terms == "" {
		t.Fatalf("got %d with terms %q", status, terms)
	}
	chain.Fail(fault)
	payment := payer.Pay(t, terms)
	var caller sync.WaitGroup
	caller.Go(func() { _, _ = g.pay(token, payment) })
	moved := 0
	if fault == facilitatortest.MovedHanging {
		moved = 1
	}
	if fault == facilitatortest.HangingFirst {
		await(t, func() bool { return chain.Requests("/verify") == 1 })
	} else {
		await(t, func() bool { return chain.Requests("/settle") == 1 && len(chain.Moved()) == moved })
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	caller.Wait()
	g.stop()
	chain.Fail(facilitatortest.None)
	g.ahead = 15 * time.Second // after the claim of the killed process
	g.start()
	t.Cleanup(func() { g.stop() })
	return &killedGateway{testGateway: g, chain: chain, token: token, payment: payment, fault: fault}
}

// enters expects that the next process enters the payment once.
func (g *killedGateway) enters(t *testing.T) {
	next := *g.testGateway
	next.T = t
	await(t, func() bool {
		list := want[api.Page[billing.Payment]](&next, "usage", "payments").Items
		if g.fault == facilitatortest.HangingFirst { // nothing was settled: the payer may send the payment again
			return len(list) == 0
		}
		return len(list) == 1 && list[0].State == store.PaymentCredited
	})
	if status, _ := next.pay(g.token, g.payment); status != http.StatusOK {
		t.Errorf("the same payment again: got status %d", status)
	}
	accounts := want[api.Page[billing.Statement]](&next, "usage", "statements").Items
	if len(g.chain.Moved()) != 1 || len(accounts) != 1 || accounts[0].Closing.ToppedUp != "1.00" || accounts[0].Closing.Captured != "0.25" {
		t.Errorf("got %d payments, %+v; want one payment, of 1.00", len(g.chain.Moved()), accounts)
	}
}

// await waits for a condition.
func await(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition does not hold within a minute")
		}
	}
}

// pay makes a call, with a payment unless that is nil. It returns the status, or 0 if there was no response, and the terms of a payment.
func (g *testGateway) pay(token string, payment []byte) (status int, terms string) {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.addresses.Listen+"/api/intents/execute",
		strings.NewReader(`{"intent_uid": "shop.example:order:v1", "parameters": {"product": "lamp"}}`))
	if err != nil {
		g.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if payment != nil {
		r.Header.Set("PAYMENT-SIGNATURE", facilitatortest.Header(payment))
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	return response.StatusCode, response.Header.Get("PAYMENT-REQUIRED")
}

// The agent pays with the owner's command, at most the amount that the owner has set, and only once.
func TestAgentPaysWithACommand(t *testing.T) {
	t.Parallel()
	chain, payer := facilitatortest.New(t, time.Now), facilitatortest.NewPayer(t, time.Now)
	g := newProcess(t, operatorPolicy, "payments: {minimum: 1 EUR, "+facilitatortest.Settings(chain.URL, "EUR")+"}\n"+`services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: "UPSTREAM"}
`, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) })
	text, err := os.ReadFile(g.config())
	if err != nil {
		t.Fatal(err)
	}
	g.write("uimgate.yaml", strings.Replace(string(text), "billing: {credit: 100 EUR}", "billing: {mode: prepaid}", 1))
	g.start()
	t.Cleanup(func() { g.stop() })
	agent := func(args ...string) output {
		return command(t, "", append([]string{"agent", "--data", g.dir + "/agent"}, args...)...)
	}
	for _, args := range [][]string{{"keygen"}, {"agree", g.addresses.Listen, "--yes"}} {
		if s := agent(args...); s.code != exitDone {
			t.Fatalf("%q: %+v", args, s)
		}
	}
	call := func(signer string, more ...string) output {
		return agent(append([]string{"execute", "shop.example:order:v1", "product=lamp", "--pay-with", signer}, more...)...)
	}
	terms := g.dir + "/terms.json"
	for name, s := range map[string]struct {
		output
		want string
	}{
		"without a bound": {call("true"), "--pay-with and --pay-at-most go together"},
		"too little":      {call("true", "--pay-at-most", "0.99 EUR"), "the service asks for 1.00 EUR, and --pay-at-most is 0.99 EUR"},
		"other currency":  {call("true", "--pay-at-most", "5 USD"), "the service asks for 1.00 EUR, and --pay-at-most is 5.00 USD"},
		"a failure":       {call("cat > "+terms+"; exit 3", "--pay-at-most", "1 EUR"), "the command of --pay-with: exit status 3"},
		"nothing":         {call("true", "--pay-at-most", "1 EUR"), "the payment was not made"},
		"too much output": {call("head -c 100000 /dev/zero", "--pay-at-most", "1 EUR"), "the payment was not made"},
	} {
		if s.code == exitDone || !strings.Contains(s.errors, s.want) || len(chain.Moved()) != 0 {
			t.Errorf("%s: got %+v, want %q", name, s.output, s.want)
		}
	}
	asked, err := os.ReadFile(terms)
	if err != nil {
		t.Fatal(err)
	}
	much := *payer
	much.Value = "2000000"
	g.write("much.json", string(much.PayTerms(t, asked)))
	if s := call("cat "+g.dir+"/much.json", "--pay-at-most", "1 EUR"); s.code == exitDone || !strings.Contains(s.errors, "none of the terms") {
		t.Errorf("more than the terms: got %+v", s)
	}
	s := call("cat "+g.dir+"/much.json", "--pay-at-most", "1 EUR", "--via", "a2a")
	if s.code == exitDone || !strings.Contains(s.errors, "Calls through this protocol carry no payments") || len(chain.Moved()) != 0 {
		t.Errorf("through A2A: got %+v", s)
	}
	g.write("payment.json", string(payer.PayTerms(t, asked)))
	for i := range 2 { // the second call has credit
		s := call("cat "+g.dir+"/payment.json", "--pay-at-most", "1 EUR")
		if s.code != exitDone || strings.Contains(s.errors, "the payment was settled") != (i == 0) || len(chain.Moved()) != 1 {
			t.Fatalf("got %+v, %d payments", s, len(chain.Moved()))
		}
	}
	for range 2 { // of the credit of 1 EUR, 0.50 EUR is left
		if s := call("false", "--pay-at-most", "1 EUR", "--via", "mcp"); s.code != exitDone {
			t.Fatalf("through MCP, on credit: %+v", s)
		}
	}
	if s := call("cat > "+terms+"; exit 3", "--pay-at-most", "1 EUR", "--via", "mcp"); !strings.Contains(s.errors, "exit status 3") {
		t.Fatalf("through MCP: %+v", s)
	}
	if asked, err = os.ReadFile(terms); err != nil {
		t.Fatal(err)
	}
	g.write("payment.json", string(payer.PayTerms(t, asked)))
	for i := range 2 {
		s := call("cat "+g.dir+"/payment.json", "--pay-at-most", "1 EUR", "--via", "mcp")
		if s.code != exitDone || strings.Contains(s.errors, "the payment was settled") != (i == 0) || len(chain.Moved()) != 2 {
			t.Fatalf("through MCP: got %+v, %d payments", s, len(chain.Moved()))
		}
	}
}
