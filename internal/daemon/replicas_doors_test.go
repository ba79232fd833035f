package daemon_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var a2aHeader = header{"Content-Type": "application/json", "A2A-Version": "1.0", "A2A-Extensions": "https://uimprotocol.com/a2a/v1"}

// a2a calls an A2A operation.
func (a *agent) a2a(method, params string) answer {
	a.g.t.Helper()
	h := header{"Authorization": "Bearer " + a.token}
	maps.Copy(h, a2aHeader)
	return a.g.do("POST", "/a2a", []byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`), h)
}

// TestEveryReplicaReturnsTheTask starts a task on one process, and requests it from another: while it is working, when it ends, and later.
func TestEveryReplicaReturnsTheTask(t *testing.T) {
	t.Parallel()
	dsn := migrated.Copy(t)
	started, goOn := make(chan struct{}), make(chan struct{})
	first := startGate(t, setup{
		config: "store: ${file:store.url}\n" + testConfig, files: map[string]string{"store.url": dsn + "\n"},
		upstream: func(w http.ResponseWriter, _ *http.Request) {
			started <- struct{}{}
			<-goOn
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"order_id":"o-1"}`))
		},
	})
	second := onPostgres(t, dsn, 0) // its service is never called
	a := first.newAgent("agent-1").agree()
	const sent = `{"message":{"messageId":"m-1","contextId":"talk","role":"ROLE_USER","parts":[{"data":` +
		`{"intent_uid":"` + order + `","parameters":{"product_id":"p"}}}]},"configuration":{"returnImmediately":true}}`
	var made struct {
		Result struct {
			Task struct {
				ID     string
				Status struct{ State string }
			}
		}
	}
	answered := make(chan answer, 1)
	go func() { answered <- a.a2a("SendMessage", sent) }()
	<-started
	got := <-answered
	if err := json.Unmarshal(got.body, &made); err != nil || made.Result.Task.Status.State != "TASK_STATE_WORKING" {
		t.Fatalf("%v %d %s; want a task that works", err, got.status, got.body)
	}
	id := `{"id":"` + made.Result.Task.ID + `"}`
	there := a.at(second)
	expect := func(what string, got answer, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(string(got.body), part) {
				t.Errorf("%s: %d %s has no %s", what, got.status, got.body, part)
			}
		}
	}
	expect("requested at the other", there.a2a("GetTask", id), made.Result.Task.ID, "TASK_STATE_WORKING", `"contextId":"talk"`)
	expect("listed at the other", there.a2a("ListTasks", `{"contextId":"talk"}`), made.Result.Task.ID)
	expect("the same message at the other", there.a2a("SendMessage", sent), made.Result.Task.ID, "TASK_STATE_WORKING")
	stranger := second.newAgent("agent-2").agree()
	expect("requested by another agent", stranger.a2a("GetTask", id), "-32001")
	events := there.subscribe(id)
	if first := <-events; !strings.Contains(first, "TASK_STATE_WORKING") {
		t.Errorf("the stream begins with %s, want a text that contains %q", first, "TASK_STATE_WORKING")
	}
	close(goOn)
	rest := ""
	for event := range events {
		rest += event
	}
	for _, part := range []string{`"order_id":"o-1"`, "TASK_STATE_COMPLETED"} {
		if !strings.Contains(rest, part) {
			t.Errorf("the stream ends with %s, without %s", rest, part)
		}
	}
	expect("requested after the end", there.a2a("GetTask", id), "TASK_STATE_COMPLETED", `"order_id":"o-1"`, `"amount":"0.25"`)
	expect("the same message after the end", there.a2a("SendMessage", sent), "TASK_STATE_COMPLETED", `"order_id":"o-1"`)
}

// subscribe returns the events of a task as they arrive.
func (a *agent) subscribe(params string) <-chan string {
	a.g.t.Helper()
	ctx, cancel := context.WithCancel(a.g.t.Context())
	a.g.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.g.url+"/a2a",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":`+params+`}`))
	if err != nil {
		a.g.t.Fatal(err)
	}
	for name, value := range a2aHeader {
		r.Header.Set(name, value)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		a.g.t.Fatal(err)
	}
	events := make(chan string)
	go func() {
		defer close(events)
		defer func() { _ = answer.Body.Close() }()
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- data
			}
		}
	}()
	return events
}

var (
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
	chosenScope = regexp.MustCompile(`<input type="checkbox" name="scope" value="([^"]*)" checked>`)
)

// TestReplicasShareConsents shows the page on one process, and sends the decision to the other. The code can be redeemed on either. If
// both redeem it at the same time, at most one returns a token, and the token is soon revoked: a code that is used twice was stolen.
func TestReplicasShareConsents(t *testing.T) {
	t.Parallel()
	dsn := migrated.Copy(t)
	shared := setup{
		config: "store: ${file:store.url}\n" + testConfig + "  public_url: http://127.0.0.1:1\n",
		files:  map[string]string{"store.url": dsn + "\n"},
	}
	gates := []*gate{startGate(t, shared), startGate(t, shared)}
	p := person{verifier: strings.Repeat("verifier", 8)}
	registered := gates[0].do("POST", "/oauth/register",
		[]byte(`{"client_name":"Assistant","redirect_uris":["`+callback+`"]}`), header{"Content-Type": "application/json"})
	p.client, _ = registered.json(t)["client_id"].(string)

	got := p.redeems(gates[0], p.agrees(gates[0], gates[1]))
	if token := tokenOf(t, got); token == "" || p.calls(gates[1], token) != http.StatusOK {
		t.Fatalf("redeemed where the page was: %d %s", got.status, got.body)
	}
	refresh, _ := got.json(t)["refresh_token"].(string)
	if got = p.asks(gates[1], url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}); tokenOf(t, got) == "" {
		t.Fatalf("refreshed at the other: %d %s", got.status, got.body)
	}

	secrets := []string{p.verifier, refresh, tokenOf(t, got)}
	code := p.agrees(gates[1], gates[0])
	var each sync.WaitGroup
	answers := make(chan answer, 8)
	for n := range cap(answers) {
		each.Go(func() { answers <- p.redeems(gates[n%2], code) })
	}
	each.Wait()
	close(answers)
	var tokens []string
	for got := range answers {
		if got.status == http.StatusOK {
			tokens = append(tokens, tokenOf(t, got))
		} else if !strings.Contains(string(got.body), "invalid_grant") {
			t.Errorf("got %d %s", got.status, got.body)
		}
	}
	if len(tokens) > 1 {
		t.Errorf("the code was redeemed %d times, want once at most", len(tokens))
	}
	for _, g := range gates {
		for _, token := range tokens {
			until(t, http.StatusUnauthorized, func() answer { return answer{status: p.calls(g, token)} })
		}
		for _, secret := range append(secrets, append(tokens, code)...) {
			if secret == "" || strings.Contains(g.log.String(), secret) {
				t.Errorf("the log has the secret %q", secret)
			}
		}
	}
}

const callback = "http://127.0.0.1:49152/callback"

// A person consents to a client on the consent page.
type person struct{ client, verifier string }

// agrees returns the code of a new consent. One process shows the page, and another receives the form.
func (p person) agrees(shown, sent *gate) string {
	shown.t.Helper()
	sum := sha256.Sum256([]byte(p.verifier))
	page := shown.do("GET", "/oauth/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {p.client}, "redirect_uri": {callback}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])},
	}.Encode(), nil, nil)
	cookie, _, _ := strings.Cut(page.header.Get("Set-Cookie"), ";")
	decision := url.Values{"decision": {"agree"}}
	for _, m := range hiddenField.FindAllStringSubmatch(string(page.body), -1) {
		decision.Add(m[1], html.UnescapeString(m[2]))
	}
	for _, m := range chosenScope.FindAllStringSubmatch(string(page.body), -1) {
		decision.Add("scope", m[1])
	}
	decided := sent.do("POST", "/oauth/authorize", []byte(decision.Encode()), header{
		"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", "Cookie": cookie,
	})
	to, err := url.Parse(decided.header.Get("Location"))
	if err != nil || to.Query().Get("code") == "" {
		shown.t.Fatalf("%v; agreed: %d %s %.600s", err, decided.status, decided.header.Get("Location"), decided.body)
	}
	return to.Query().Get("code")
}

// asks sends a token request.
func (p person) asks(g *gate, form url.Values) answer {
	form.Set("client_id", p.client)
	return g.do("POST", "/oauth/token", []byte(form.Encode()), header{"Content-Type": "application/x-www-form-urlencoded"})
}

func (p person) redeems(g *gate, code string) answer {
	return p.asks(g, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {p.verifier},
	})
}

// calls makes a call with a token, and returns the status.
func (p person) calls(g *gate, token string) int {
	a := &agent{g: g, token: token}
	return a.execute(details, map[string]any{"id": "p"}, nil).status
}

// tokenOf returns the access token in a response, or "" if there is none.
func tokenOf(t *testing.T, a answer) string {
	t.Helper()
	token, _ := a.json(t)["access_token"].(string)
	return token
}
