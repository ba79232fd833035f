package admin_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/internal/problem"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// everyOperation lists the operations of the admin API.
var everyOperation = [][2]string{
	{"GET", "/openapi.json"},
	{"GET", "/status"},
	{"POST", "/reload"},
	{"GET", "/agents"},
	{"GET", "/agents/a"},
	{"POST", "/agents/a/block"},
	{"POST", "/agents/a/unblock"},
	{"POST", "/agents/a/approve"},
	{"POST", "/agents/a/keys"},
	{"POST", "/agents/a/name"},
	{"GET", "/agents/a/invoice"},
	{"POST", "/agents/a/invoice"},
	{"GET", "/agents/a/buyer"},
	{"POST", "/agents/a/buyer"},
	{"GET", "/agreements"},
	{"GET", "/agreements/a"},
	{"GET", "/agreements/a/export"},
	{"POST", "/agreements/a/revoke"},
	{"GET", "/policies"},
	{"POST", "/policies/a/revoke"},
	{"GET", "/pats"},
	{"GET", "/pats/a"},
	{"POST", "/pats/a/revoke"},
	{"POST", "/introspect"},
	{"GET", "/calls"},
	{"GET", "/figures"},
	{"GET", "/usage/accounts"},
	{"GET", "/usage/statements"},
	{"GET", "/usage/ledger"},
	{"GET", "/usage/executions"},
	{"GET", "/usage/executions/a"},
	{"POST", "/usage/executions/a/resolve"},
	{"GET", "/usage/invoices"},
	{"GET", "/usage/refunds"},
	{"GET", "/usage/refunds/a"},
	{"POST", "/usage/not-sent"},
	{"POST", "/usage/top-up"},
	{"POST", "/usage/move"},
	{"GET", "/keys"},
	{"POST", "/keys/rotate"},
	{"POST", "/keys/retire"},
	{"POST", "/keys/a/retire"},
}

func TestOperationsRequireTheToken(t *testing.T) {
	g := newAdminGate(t, "")
	for _, o := range everyOperation {
		for _, c := range []struct {
			header []string
			reason string
		}{
			{nil, "MISSING_TOKEN"},
			{[]string{"Bearer"}, "INVALID_TOKEN"},
			{[]string{"Bearer wrong"}, "INVALID_TOKEN"},
			{[]string{"Bearer " + adminToken + "x"}, "INVALID_TOKEN"},
			{[]string{"Bearer " + adminToken[:len(adminToken)-1]}, "INVALID_TOKEN"},
			{[]string{"Basic " + adminToken}, "INVALID_TOKEN"},
		} {
			r := g.request(o[0], "/admin/v1"+o[1], nil)
			r.Header["Authorization"] = c.header
			g.Pass(time.Minute) // wrong tokens are throttled
			a := g.Send(r)
			g.Refuses(a, http.StatusUnauthorized, c.reason)
			if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%v: challenge %q, want a text that starts with %q", o, a.Header.Get("WWW-Authenticate"), "Bearer")
			}
		}
	}
	r := g.request("GET", "/admin/v1/status", nil)
	r.Header["Authorization"] = []string{"Bearer " + adminToken, "Bearer " + adminToken}
	g.Refuses(g.Send(r), http.StatusBadRequest, "MALFORMED_REQUEST")
}

// Each refusal has the same request id as the header field. An id that the client sent is kept if it is valid.
func TestRefusalsHaveRequestID(t *testing.T) {
	g := newAdminGate(t, "")
	for sent, path := range map[string]string{"ticket-7": "/admin/v1/agents/nobody", "": "/admin/v1/nothing", "not one": "/nothing"} {
		r := g.request("GET", path, nil)
		r.Header.Set("UIM-Request-ID", sent)
		a := g.Send(r)
		var body struct {
			Error struct {
				Details struct {
					RequestID string `json:"request_id"`
				}
			}
		}
		if err := json.Unmarshal(a.Body, &body); err != nil {
			t.Fatal(err)
		}
		id := body.Error.Details.RequestID
		if a.Status != http.StatusNotFound || id == "" || id != a.Header.Get("UIM-Request-ID") || (id == sent) != (sent == "ticket-7") {
			t.Errorf("%s: sent %q, got %q and the header %q: %s", path, sent, id, a.Header.Get("UIM-Request-ID"), a.Body)
		}
	}
}

func TestEmptyTokenIsRefused(t *testing.T) {
	g := newAdminGate(t, "")
	g.administer("")
	for _, value := range []string{"", "Bearer ", "Bearer  ", "Bearer x"} {
		r := g.request("GET", "/admin/v1/status", nil)
		r.Header.Set("Authorization", value)
		if a := g.Send(r); a.Status != http.StatusUnauthorized {
			t.Errorf("%q: got %d %s; want %v", value, a.Status, a.Body, http.StatusUnauthorized)
		}
	}
}

func TestHostMustBeAddressOrLocalhost(t *testing.T) {
	g := newAdminGate(t, "")
	for host, want := range map[string]int{
		"localhost": 200, "LocalHost:8081": 200, "127.0.0.1": 200, "127.0.0.1:1": 200, "[::1]:8081": 200, "[::1]": 200, "192.0.2.7:8081": 200,
		"evil.example": 403, "evil.example:8081": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "shop.example": 403,
		"2130706433": 403,
	} {
		r := g.request("GET", "/admin/v1/status", nil)
		r.Host = host
		a := g.Send(r)
		if a.Status != want {
			t.Errorf("Host %s: %d %s, want %d", host, a.Status, a.Body, want)
		}
		for path, want := range map[string]int{"/livez": 200, "/healthz": 200, "/readyz": want, "/metrics": want} {
			r = g.request("GET", path, nil)
			r.Host = host
			r.Header.Del("Authorization")
			if a := g.Send(r); a.Status != want {
				t.Errorf("%s for Host %s: %d, want %d", path, host, a.Status, want)
			}
		}
	}
}

func TestAdminHosts(t *testing.T) {
	g := newAdminGate(t, `admin: {hosts: [Metrics.Example]}
services:
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}
`)
	for host, want := range map[string]int{
		"metrics.example:8081": 200, "METRICS.example.": 200, "localhost": 200, "evil.example": 403, "x.metrics.example": 403,
	} {
		for _, path := range []string{"/metrics", "/readyz", "/admin/v1/status"} {
			r := g.request("GET", path, nil)
			r.Host = host
			if a := g.Send(r); a.Status != want {
				t.Errorf("%s for Host %s: %d %s, want %d", path, host, a.Status, a.Body, want)
			}
		}
	}
}

// Each wrong token doubles the time for which the address is refused, even with the right token.
func TestWrongTokensAreThrottled(t *testing.T) {
	g := newAdminGate(t, "")
	send := func(token string) gatetest.Answer {
		r := g.request("GET", "/admin/v1/status", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		return g.Send(r)
	}
	compared := 0
	for n := range 3600 { // one guess a second for an hour
		switch a := send("guess-" + strconv.Itoa(n)); a.Status {
		case http.StatusUnauthorized:
			compared++
		case http.StatusTooManyRequests:
			if a.Header.Get("Retry-After") == "" {
				t.Fatal("no Retry-After")
			}
		default:
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
		g.Pass(time.Second)
	}
	if compared > 80 {
		t.Errorf("%d guesses were compared in an hour, want one a minute", compared)
	}
	if a := send("one more"); a.Status == http.StatusUnauthorized {
		t.Log("the address was not refused at this time")
	}
	g.Refuses(send(adminToken), http.StatusTooManyRequests, "TOO_MANY_CONNECTIONS")
	g.Later(time.Minute)
	for range 2 {
		if a := send(adminToken); a.Status != http.StatusOK {
			t.Errorf("the right token, after the wait: %d %s; want %v", a.Status, a.Body, http.StatusOK)
		}
		if a := send("wrong"); a.Status != http.StatusUnauthorized {
			t.Errorf("a wrong token after the right one: %d, want %d", a.Status, http.StatusUnauthorized)
		}
	}
}

func TestUnknownPathsMethodsAndParameters(t *testing.T) {
	g := newAdminGate(t, "")
	for _, path := range []string{"/admin/v1/nothing", "/admin/v1/", "/admin/v2/status", "/admin/v1/agents/a/b/c"} {
		g.Refuses(g.Send(g.request("GET", path, nil)), http.StatusNotFound, "NO_SUCH_PATH")
	}
	for _, path := range []string{"/", "/agents.json", "/api/policy"} {
		r := g.request("GET", path, nil)
		r.Header.Del("Authorization")
		g.Refuses(g.Send(r), http.StatusNotFound, "NO_SUCH_PATH")
	}
	for _, o := range everyOperation {
		a := g.do("DELETE", o[1], nil)
		g.Refuses(a, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		if !strings.Contains(a.Header.Get("Allow"), o[0]) {
			t.Errorf("%v: Allow %q, want a text that contains %q", o, a.Header.Get("Allow"), o[0])
		}
		g.Refuses(g.do(o[0], o[1]+"?bogus=1", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
		g.Refuses(g.do(o[0], o[1]+"?service=default&service=default", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
		g.Refuses(g.do(o[0], o[1]+"?%zz", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
		if o[0] == http.MethodGet {
			continue
		}
		g.Refuses(g.do("POST", o[1], `{"bogus":1}`), http.StatusBadRequest, "MALFORMED_REQUEST")
		g.Refuses(g.do("POST", o[1], `{"reason":"a","reason":"b"}`), http.StatusBadRequest, "MALFORMED_REQUEST")
		g.Refuses(g.do("POST", o[1], `[]`), http.StatusBadRequest, "MALFORMED_REQUEST")
		g.Refuses(g.do("POST", o[1], strings.Repeat(" ", 64<<10)+"{}"), http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE")
		r := g.request("POST", "/admin/v1"+o[1], `{}`)
		r.Header.Set("Content-Type", "text/plain")
		g.Refuses(g.Send(r), http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
	}
	for _, query := range []string{
		"/agents?limit=0", "/agents?limit=1001", "/agents?limit=x", "/agents?status=bad", "/agents?approved=1", "/agreements?state=x",
		"/pats?state=revoked", "/pats?after=x", "/usage/ledger?after=x", "/usage/statements?from=x", "/usage/statements?to=2026-11-01",
		"/usage/statements?from=0001-01-01T00:00:00Z",
		"/usage/statements?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z", "/usage/executions?state=x", "/agents?after=%00",
		"/policies?after=x",
	} {
		g.Refuses(g.do("GET", query, nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	if got := len(patKeys(g)); got != 1 {
		t.Errorf("%d keys: a refused request rotated, want 1", got)
	}
}

func TestSeveralServices(t *testing.T) {
	g := newAdminGate(t, `services:
- {id: one, hosts: [one.example], public_url: "https://one.example", issuer: one, agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}
- {id: two, hosts: [two.example], public_url: "https://two.example", issuer: two, agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}
`)
	g.Refuses(g.do("GET", "/agents", nil), http.StatusBadRequest, "SERVICE_MISSING")
	g.Refuses(g.do("GET", "/agents?service=twoo", nil), http.StatusNotFound, "UNKNOWN_SERVICE")
	g.Refuses(g.do("POST", "/agents/x/block?service=three", nil), http.StatusNotFound, "UNKNOWN_SERVICE")
	ask[agreements.Agent](g, "POST", "/agents/x/block?service=two", nil)
	if got := items[agreements.Agent](g, "/agents?service=one"); len(got) != 0 {
		t.Errorf("got %+v, want none", got)
	}
	if got := items[agreements.Agent](g, "/agents?service=two"); len(got) != 1 {
		t.Errorf("got %+v, want length 1", got)
	}
	if got := ask[status.Status](g, "GET", "/status", nil); len(got.Services) != 2 || got.Services[1].ID != "two" {
		t.Errorf("got %+v; want Services of length 2 and Services[1].ID %q", got, "two")
	}
}

func TestHealth(t *testing.T) {
	g := newAdminGate(t, "")
	get := func(path string) gatetest.Answer {
		r := g.request("GET", path, nil)
		r.Header.Del("Authorization")
		return g.Send(r)
	}
	ready := func(want int, failing ...string) status.Health {
		t.Helper()
		a := get("/readyz")
		h := decode[status.Health](g, a)
		var bad []string
		for name, c := range h.Checks {
			if c.OK != (c.Reason == "") {
				t.Errorf("%s: got %+v; want OK %v", name, c, c.Reason == "")
			}
			if !c.OK {
				bad = append(bad, name)
			}
		}
		slices.Sort(bad)
		if a.Status != want || h.Ready != (want == http.StatusOK) || !slices.Equal(bad, failing) {
			t.Fatalf("%d %s; want %d, failing %v", a.Status, a.Body, want, failing)
		}
		return h
	}
	h := ready(http.StatusOK)
	if h.Draining || h.Configuration.Hash == "" || !h.Configuration.TakenAt.Equal(g.Now()) {
		t.Errorf("got %+v", h)
	}
	g.Pass(2 * time.Second)
	ready(http.StatusServiceUnavailable, "revocations")
	g.Must(g.View.Refresh(t.Context()))
	ready(http.StatusOK)
	g.operator.Statuses.Drain()
	if h := ready(http.StatusServiceUnavailable, "serving"); !h.Draining {
		t.Errorf("got %+v", h)
	}
	if a := g.Execute(g.Agreed("agent-1"), gatetest.Searching); a.Status != http.StatusOK {
		t.Errorf("while draining: %d %s; want %v", a.Status, a.Body, http.StatusOK)
	}
	g.Later(2 * time.Second)
	g.Must(g.Store.Close())
	ready(http.StatusServiceUnavailable, "serving", "store")
	for _, path := range []string{"/livez", "/healthz"} {
		if a := get(path); a.Status != http.StatusOK || string(a.Body) != `{"status":"ok"}`+"\n" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		r := g.request("POST", path, nil)
		g.Refuses(g.Send(r), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	}
	g.Refuses(g.do("GET", "/agents", nil), http.StatusServiceUnavailable, "STORE_UNAVAILABLE")
	g.Refuses(g.do("POST", "/agents/agent-1/block", nil), http.StatusServiceUnavailable, "STORE_UNAVAILABLE")
}

func TestMetrics(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-canary")
	g.Execute(a, gatetest.Searching)
	r := g.request("GET", "/metrics", nil)
	r.Header.Del("Authorization")
	got := g.Send(r)
	for _, want := range []string{
		"uimgate_http_requests_total{", "uimgate_decisions_total{", "uimgate_config_last_reload_successful 1",
		"go_goroutines",
	} {
		if !strings.Contains(string(got.Body), want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(string(got.Body), "agent-canary") {
		t.Error("an agent id is a label")
	}
	off := newAdminGate(
		t,
		"telemetry: {metrics: false}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n",
	)
	off.Refuses(off.Send(off.request("GET", "/metrics", nil)), http.StatusNotFound, "NO_SUCH_PATH")
}

func TestStatus(t *testing.T) {
	g := newAdminGate(t, "")
	s := ask[status.Status](g, "GET", "/status", nil)
	offer := g.Directory.Current().Service("default").Offer()
	if !s.Ready || s.SigningKey == "" || len(s.Services) != 1 || s.Configuration.Hash == "" {
		t.Fatalf("got %+v", s)
	}
	one := s.Services[0]
	if one.ID != "default" || one.Issuer != "shop.example" || one.Intents != 2 || one.Breaker != "closed" ||
		one.Policy.Digest != offer.Digest || one.Policy.UID != offer.UID || one.PublicURL == "" {
		t.Errorf("got %+v", one)
	}
}

func TestReload(t *testing.T) {
	g := newAdminGate(t, "")
	g.problems = config.Problems{{File: "policy.json", Line: 3, Level: problem.Warning, Message: "odd"}}
	done := ask[reloads.Reload](g, "POST", "/reload", nil)
	if done.Configuration.Hash == "" || len(done.Problems) != 1 || done.Problems[0] != (reloads.Problem{
		File: "policy.json", Line: 3,
		Level: "warning", Message: "odd",
	}) {
		t.Errorf("got %+v", done)
	}
	g.problems = append(g.problems, config.Problem{File: "uimgate.yaml", Line: 1, Level: problem.Error, Message: "wrong"})
	a := g.do("POST", "/reload", `{}`)
	g.Refuses(a, http.StatusUnprocessableEntity, "CONFIG_REFUSED")
	if !strings.Contains(string(a.Body), `"message":"wrong"`) {
		t.Errorf("got %s", a.Body)
	}
	g.administer(adminToken)
	g.Refuses(g.do("POST", "/reload", nil), http.StatusNotFound, "NOT_OFFERED")
}
