package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
)

// confirmSettings are settings of a service that asks people to confirm orders. Its public_url is not that of its listener, so that a new
// process has the same.
const confirmSettings = `services:
- agents_file: agents.json
  policy_file: policy.json
  public_url: http://127.0.0.1:8080
  upstream: {url: "UPSTREAM"}
  doors: {mcp: {consent: {budget: {max: 5 EUR/month, confirm_above: 0.01 EUR}}}}
`

// A confirmingPerson lets a client without a key spend money, and confirms its calls.
type confirmingPerson struct {
	*testing.T
	browser     *http.Client
	token       string
	at          func() string // the URL of the gateway
	confirmable string        // path of the page of the last call that was refused
}

func newPerson(t *testing.T, at func() string) *confirmingPerson {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &confirmingPerson{T: t, at: at, browser: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	const callback = "http://localhost/callback"
	var client struct {
		ID string `json:"client_id"`
	}
	p.json(p.post("/oauth/register", "application/json", `{"client_name": "Assistant", "redirect_uris": ["`+callback+`"]}`), &client)
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	form := p.form("/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {callback}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])},
	}.Encode())
	for name, value := range map[string]string{
		"decision": "agree", "spend": "yes", "budget": "5", "period": "month", "pay": "shop.example:order:v1:execute",
	} {
		form.Set(name, value)
	}
	sent := p.post("/oauth/authorize", formType, form.Encode())
	back, err := url.Parse(sent.Header.Get("Location"))
	if err != nil || back.Query().Get("code") == "" {
		t.Fatalf("got %d to %v", sent.StatusCode, back)
	}
	var given struct {
		Token string `json:"access_token"`
	}
	p.json(p.post("/oauth/token", formType, url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {callback}, "client_id": {client.ID},
		"code_verifier": {verifier},
	}.Encode()), &given)
	p.token = given.Token
	return p
}

const formType = "application/x-www-form-urlencoded"

var fieldOfForm = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// send sends a request as the browser. It returns nil if the gateway did not respond.
func (p *confirmingPerson) send(method, path, kind, body string) *http.Response {
	r, err := http.NewRequestWithContext(p.Context(), method, p.at()+path, strings.NewReader(body))
	if err != nil {
		p.Error(err)
		return nil
	}
	r.Header.Set("Content-Type", kind)
	answer, err := p.browser.Do(r)
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return nil
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer
}

func (p *confirmingPerson) post(path, kind, body string) *http.Response {
	p.Helper()
	answer := p.send(http.MethodPost, path, kind, body)
	if answer == nil {
		p.Fatalf("POST %s: no response", path)
	}
	return answer
}

func (p *confirmingPerson) json(answer *http.Response, into any) {
	p.Helper()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		p.Fatalf("status %d: %v", answer.StatusCode, err)
	}
}

// form returns the hidden fields of a page.
func (p *confirmingPerson) form(path string) url.Values {
	p.Helper()
	answer := p.send(http.MethodGet, path, "", "")
	if answer == nil {
		p.Fatalf("GET %s: no response", path)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.Fatalf("GET %s: %d %s", path, answer.StatusCode, text)
	}
	form := url.Values{}
	for _, field := range fieldOfForm.FindAllSubmatch(text, -1) {
		form.Set(string(field[1]), html.UnescapeString(string(field[2])))
	}
	return form
}

// orders calls the order tool through MCP, and returns OK, the reason of a refusal, or "" if there was no response.
func (p *confirmingPerson) orders(at string) string {
	r, err := http.NewRequestWithContext(p.Context(), http.MethodPost, at+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order_v1","arguments":{"product":"lamp"}}}`))
	if err != nil {
		p.Error(err)
		return ""
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return ""
	}
	defer func() { _ = answer.Body.Close() }()
	var a struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&a); err != nil {
		return ""
	}
	if !a.Result.IsError {
		return "OK"
	}
	var e struct {
		Error struct {
			Details struct {
				Reason     string
				ConfirmURL string `json:"confirm_url"`
			}
		}
	}
	if len(a.Result.Content) < 2 || json.Unmarshal([]byte(a.Result.Content[1].Text), &e) != nil {
		return ""
	}
	if u, err := url.Parse(e.Error.Details.ConfirmURL); err == nil && u.Path != "" {
		p.confirmable = u.RequestURI()
	}
	return e.Error.Details.Reason
}

// confirms presses Confirm on the page of the call that was refused last, unless it was confirmed before.
func (p *confirmingPerson) confirms() {
	p.Helper()
	form := p.form(p.confirmable)
	if form.Get("id") == "" {
		return
	}
	form.Set("decision", "confirm")
	p.post("/oauth/confirm", formType, form.Encode())
}

// ledgerOf returns how many charges an agent's account has, in any state but released.
func (p *confirmingPerson) ledgerOf(g *testGateway) int {
	p.Helper()
	n := 0
	for _, e := range want[api.Page[calls.Execution]](g, "usage", "executions").Items {
		if e.State != store.Released {
			n++
		}
	}
	return n
}

// payIn adds 5 EUR to the credit of the agent of the consent.
func (p *confirmingPerson) payIn(g *testGateway) {
	p.Helper()
	agreements := want[api.Page[agreements.Agreement]](g, "agreements", "list").Items
	if len(agreements) != 1 {
		p.Fatalf("got %+v", agreements)
	}
	want[billing.TopUpResult](g, "usage", "top-up", string(agreements[0].AgentID), "5", "EUR")
}

// engines are the databases of tests, as settings.
var engines = map[string]func(t *testing.T) string{
	"SQLite":     func(*testing.T) string { return "" },
	"PostgreSQL": func(t *testing.T) string { return "store: " + pgtest.Start(t).Database(t) + "\n" }, //nolint:thelper // a case
}

// A process is killed between any two steps, from the question to the call. The next process continues: the call is made once and charged
// once.
func TestConfirmationSurvivesAKilledProcess(t *testing.T) {
	t.Parallel()
	for name, place := range engines {
		for _, when := range killedOn(name, "asked", "confirming", "confirmed", "calling", "called") {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				killedWhileConfirming(t, place(t), when)
			})
		}
	}
}

func killedWhileConfirming(t *testing.T, place, when string) {
	t.Helper()
	var served atomic.Int64
	reached, hang := make(chan struct{}, 8), make(chan struct{})
	defer close(hang)
	g := newProcess(t, operatorPolicy, place+confirmSettings, func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1) == 1 && when == "called" {
			reached <- struct{}{}
			<-hang
			return
		}
		_, _ = w.Write([]byte(`{"ok":true}`))
	})
	process := g.startProcess()
	p := newPerson(t, func() string { return g.addresses.Listen })
	p.payIn(g)
	if got := p.orders(g.addresses.Listen); got != "CONFIRMATION_REQUIRED" || p.confirmable == "" {
		t.Fatalf("got %q", got)
	}
	var busy sync.WaitGroup
	switch when {
	case "confirming": // the kill arrives before, during or after the decision
		form := p.form(p.confirmable)
		form.Set("decision", "confirm")
		busy.Go(func() { p.send(http.MethodPost, "/oauth/confirm", formType, form.Encode()) })
	case "confirmed":
		p.confirms()
	case "calling": // the kill arrives before, during or after the call
		p.confirms()
		at := g.addresses.Listen
		busy.Go(func() { p.orders(at) })
	case "called":
		p.confirms()
		at := g.addresses.Listen
		busy.Go(func() {
			if got := p.orders(at); got != "" {
				t.Errorf("got %q before the kill", got)
				reached <- struct{}{}
			}
		})
		<-reached
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	busy.Wait()
	g.stop()
	g.startProcess()
	before := p.ledgerOf(g)
	if int64(before) < served.Load() || before > 1 {
		t.Fatalf("%d charges, %d served", before, served.Load())
	}
	if before == 0 {
		p.confirms()
		if got := p.orders(g.addresses.Listen); got != "OK" {
			t.Errorf("confirmed: got %q", got)
		}
	}
	if got := p.orders(g.addresses.Listen); got != "CONFIRMATION_REQUIRED" {
		t.Errorf("again: got %q", got)
	}
	if charges := p.ledgerOf(g); charges != 1 || served.Load() > 1 {
		t.Errorf("%d charges, %d served; want 1 of each", charges, served.Load())
	}
}

// A confirmation that clients use at three replicas at once permits one call, which is charged once.
func TestConfirmationUsedAtThreeReplicas(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	place := "store: " + pgtest.Start(t).Database(t) + "\n"
	var replicas [3]*testGateway
	for i := range replicas {
		replicas[i] = newProcess(t, operatorPolicy, place+confirmSettings, func(w http.ResponseWriter, _ *http.Request) {
			served.Add(1)
			_, _ = w.Write([]byte(`{"ok":true}`))
		})
		replicas[i].startProcess()
	}
	turn := 0
	p := newPerson(t, func() string { // each page comes from another replica
		turn++
		return replicas[turn%len(replicas)].addresses.Listen
	})
	p.payIn(replicas[0])
	for round := 1; round <= 5; round++ {
		await(t, func() bool { return p.orders(replicas[round%3].addresses.Listen) == "CONFIRMATION_REQUIRED" })
		p.confirms()
		var all sync.WaitGroup
		var done atomic.Int64
		for i := range 24 {
			q := *p
			all.Go(func() {
				switch got := q.orders(replicas[i%3].addresses.Listen); got {
				case "OK":
					done.Add(1)
				case "CONFIRMATION_REQUIRED":
				default:
					t.Errorf("got %q", got)
				}
			})
		}
		all.Wait()
		if done.Load() != 1 || served.Load() != int64(round) || p.ledgerOf(replicas[1]) != round {
			t.Fatalf("round %d: %d succeeded, %d served, %d charges", round, done.Load(), served.Load(), p.ledgerOf(replicas[1]))
		}
	}
}

// The bundle of a month has the record of a confirmation, and the verifiers in other languages accept it.
func TestBundleWithAConfirmation(t *testing.T) {
	t.Parallel()
	g := newProcess(t, operatorPolicy, confirmSettings, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) })
	g.startProcess()
	p := newPerson(t, func() string { return g.addresses.Listen })
	p.payIn(g)
	p.orders(g.addresses.Listen)
	p.confirms()
	if got := p.orders(g.addresses.Listen); got != "OK" {
		t.Fatalf("got %q", got)
	}
	charge := want[api.Page[calls.Execution]](g, "usage", "executions").Items[0]
	out := filepath.Join(t.TempDir(), "bundle.jsonl.gz")
	proofs := 0
	await(t, func() bool { // the log takes new entries every second
		month := charge.BeganAt.UTC().Format("2006-01")
		if s := g.run("usage", "bundle", "--agent", string(charge.AgentID), "--month", month, "--out", out); s.code != exitDone {
			t.Fatalf("got %+v", s)
		}
		entries, logged := 0, 0
		proofs = 0
		for _, l := range readBundle(t, out) {
			switch l.Type {
			case "entry":
				entries++
			case "tlog-proof":
				logged++
			case "proof":
				if proofs++; !strings.Contains(confirmationType(l.JWS), "uim-confirmation+jwt") {
					t.Errorf("got %+v", l)
				}
			}
		}
		return entries > 0 && logged == entries
	})
	if proofs != 1 {
		t.Errorf("%d proofs in the bundle; want the record of the confirmation", proofs)
	}
	verifyBundle(t, out)
}

func confirmationType(jws string) string {
	header, _, _ := strings.Cut(jws, ".")
	text, _ := base64.RawURLEncoding.DecodeString(header)
	return string(text)
}
