package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/verify"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// verify works with services in dialects other than ours. It reports the checks of level Must that they fail, and the others hold.
func TestForeignServices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dialect  agenttest.Dialect
		failures []string // checks of level Must
		hold     []string
	}{
		{
			agenttest.Canonical,
			[]string{"public-key", "search-nothing", "error-challenge", "pat-signature"},
			[]string{"pat-fresh", "agreement-forged", "agreement-replayed", "pat-tampered", "pat-unsigned", "renew", "revoked-refused"},
		},
		{
			agenttest.Mock,
			[]string{"public-key", "error-challenge", "pat-signature", "pat-scope", "error-envelope"},
			[]string{"pat-issue", "agreement-forged", "pat-tampered", "pat-claims"},
		},
		{
			agenttest.Guide,
			[]string{"public-key", "error-challenge", "pat-signature", "pat-scope", "error-envelope"},
			[]string{"pat-issue", "agreement-forged", "pat-tampered", "pat-claims"},
		},
		{
			agenttest.Draft,
			[]string{"public-key", "search-nothing", "error-challenge", "pat-signature", "pat-scope", "execute-malformed"},
			[]string{"pat-fresh", "execute-answers", "execute-output", "revoked-refused"},
		},
	} {
		t.Run(string(tt.dialect), func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, tt.dialect)
			r := run(t, verify.Options{Target: shop.URL, Agree: true, Client: agent.Options{Now: shop.Clock.Now, AllowStatic: true}})
			var must []string
			for _, c := range r.Checks {
				if c.Failed() && c.Level == verify.Must {
					must = append(must, c.ID)
				}
			}
			if !slices.Equal(must, tt.failures) || r.Passed() {
				t.Errorf("%q\n%s", must, table(r))
			}
			for _, id := range tt.hold {
				if c := find(t, r, id); c.Outcome != verify.Holds {
					t.Errorf("got %+v, want Outcome %v", c, verify.Holds)
				}
			}
			for _, c := range shop.Calls() {
				if c.UID == agenttest.Order {
					t.Error("an intent that costs money was called")
				}
			}
		})
	}
}

// verify waits for a PAT that expires soon, and checks that the service then rejects it.
func TestExpiredPAT(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	shop.TTL = 5 * time.Second
	sleep := func(ctx context.Context, d time.Duration) error {
		shop.Clock.Add(d)
		return ctx.Err()
	}
	r := run(t, verify.Options{Target: shop.URL, Agree: true, Client: agent.Options{Now: shop.Clock.Now, Sleep: sleep}})
	if c := find(t, r, "pat-expired"); c.Outcome != verify.Holds {
		t.Errorf("got %+v, want Outcome %v", c, verify.Holds)
	}
}

func TestInvalidTargets(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"", "ftp://shop.example", "https://user:secret@shop.example", "a b", "https://shop.example/?q=1"} {
		if r, err := verify.Run(t.Context(), verify.Options{Target: target}); !errors.Is(err, agent.ErrTarget) || len(r.Checks) != 0 {
			t.Errorf("%q: %v", target, err)
		}
	}
	_, err := verify.Run(t.Context(), verify.Options{Target: "127.0.0.1:1", Client: agent.Options{AgentID: "not an id"}})
	if !errors.Is(err, agent.ErrOptions) {
		t.Errorf("got %v, want %v", err, agent.ErrOptions)
	}
}

// MaxTime bounds a run against a server that never answers.
func TestMaxTime(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	defer hanging.Close()
	defer close(ended)
	r := run(t, verify.Options{Target: hanging.URL, Agree: true, MaxTime: 50 * time.Millisecond})
	if r.Complete || r.Passed() {
		t.Error(table(r))
	}
	for _, c := range r.Checks {
		if c.Outcome == verify.Holds {
			t.Errorf("got %+v", c)
		}
	}
}

// The report shows foreign texts on one line, bounded and without control characters.
func TestReportIsPrintable(t *testing.T) {
	t.Parallel()
	evil := "\x1b[31m\u202e\r\n" + strings.Repeat("x", 5000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/agents.json" {
			w.WriteHeader(http.StatusTeapot)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": evil, "message": evil}})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"service-info": map[string]any{"name": evil, "service_url": evil}, "uim-license": evil, "uim-policy-file": evil, "uim-public-key": evil,
			"intents": []any{map[string]any{
				"intent_uid": evil, "intent_name": evil, "input_parameters": map[string]any{evil: map[string]any{"type": evil}},
			}},
		})
	}))
	defer server.Close()
	for _, c := range run(t, verify.Options{Target: server.URL, Agree: true}).Checks {
		if strings.ContainsAny(c.Detail, "\x1b\u202e\r\n") || len(c.Detail) > 2000 {
			t.Errorf("%s: %q", c.ID, c.Detail)
		}
	}
}

// An odd service fails verification, and the report still lists every check.
func TestOddResponses(t *testing.T) {
	t.Parallel()
	const intent = `{"intent_uid": "a.example:b:v1", "intent_name": "B", "description": "b", "input_parameters": []}`
	const policy = `"uid": "https://a.example/1", "permission": [{"target": "a.example:b:v1", "action": "execute"}]`
	for i, body := range []string{
		``, `null`, `[]`, `{}`, `"x"`, `{"intents": null}`, `{"intents": [null, 1, {}]}`, `{"intents": {"a": 1}, "keys": [null]}`,
		`{"agentsJson": "0.1.0", "flows": [], "sources": []}`, strings.Repeat("[", 10_000),
		`{"intents": [` + intent + `], "keys": [null, 7, {"kty": "oct", "k": "AA"}],
			"permission": [null, [], {"target": {"uid": {"@id": []}}}], "uid": [[]], "type": {}, "profile": [7]}`,
		`{"intents": [` + intent + `], "permission": "x", "prohibition": {"action": 1}, "obligation": [[["pay"]]], "@context": [{}],
			"pagination": {"page_size": -1}}`,
		`{"intents": [` + intent + `], "uim-pat": "a.b.c", ` + policy + `, "scope": 1, "expires_at": 1}`,
		`{"intents": [` + intent + `], "uim-pat": "e30.e30.", ` + policy + `}`,
		`{"intents": [` + strings.Replace(intent, "{", `{"safe": true, `, 1) + `], "uim-pat": "e30.e30.", "uim-license": "UIM--v",
			"uim-compliance": {"standards": 1, "regional-compliance": []}}`,
	} {
		for _, status := range []int{200, 401, 404, 500} {
			t.Run(fmt.Sprintf("%d %d", i, status), func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					if r.URL.Path != "/agents.json" {
						w.WriteHeader(status)
					}
					_, _ = w.Write([]byte(body))
				}))
				defer server.Close()
				if r := run(t, verify.Options{Target: server.URL, Agree: true}); r.Passed() || !r.Complete || len(r.Checks) < 100 {
					t.Errorf("%.80s %d: %s", body, status, table(r))
				}
			})
		}
	}
}

// Reports and URLs contain no part of a PAT.
func TestReportHasNoSecrets(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var secrets, addresses []string
	g := startGate(t, 100, func(gateway string) http.Handler {
		next := proxy(gateway, only(200, func(r *http.Response) error {
			if !strings.HasPrefix(r.Request.URL.Path, "/api/pat/") || r.Request.URL.Path == "/api/pat/revoke" {
				return nil
			}
			return edited(r, func(tree map[string]any) {
				mu.Lock()
				defer mu.Unlock()
				secrets = append(secrets, strings.Split(tree["uim-pat"].(string), ".")...)
			})
		}))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			addresses = append(addresses, r.URL.String())
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
	r := run(t, verify.Options{Target: g.url, Agree: true})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(secrets) < 6 {
		t.Fatalf("%d parts of PATs were seen", len(secrets))
	}
	for _, secret := range secrets {
		if strings.Contains(string(text), secret) || strings.Contains(strings.Join(addresses, "\n"), secret) {
			t.Error("a part of a PAT is in the report or in a URL")
		}
	}
}

// verify compares DNS records with the domain and with agents.json.
func TestDNS(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		records verify.Records
		err     error
		want    map[string]verify.Outcome
	}{
		"no records":  {verify.Records{}, nil, map[string]verify.Outcome{"dns-agents-file": verify.Missing, "dns-policy-file": verify.Skipped}},
		"no response": {verify.Records{}, errors.New("no server answers"), map[string]verify.Outcome{"dns-agents-file": verify.Wrong}},
		"elsewhere": {
			verify.Records{AgentsFile: "https://other.example/agents.json"},
			nil,
			map[string]verify.Outcome{"dns-agents-file": verify.Wrong},
		},
		"not https": {
			verify.Records{AgentsFile: "http://shop.invalid/agents.json"},
			nil,
			map[string]verify.Outcome{"dns-agents-file": verify.Wrong},
		},
		"no policy": {
			verify.Records{AgentsFile: "https://api.shop.invalid/agents.json"},
			nil,
			map[string]verify.Outcome{"dns-agents-file": verify.Holds, "dns-policy-file": verify.Missing},
		},
		"whole": {
			verify.Records{AgentsFile: "https://shop.invalid/agents.json", PolicyFile: "https://shop.invalid/policy.json"},
			nil,
			map[string]verify.Outcome{"dns-agents-file": verify.Holds, "dns-policy-file": verify.Holds},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := ""
			lookup := func(_ context.Context, domain string) (verify.Records, error) {
				request = domain
				return tt.records, tt.err
			}
			r := run(t, verify.Options{Target: "shop.invalid", MaxTime: 5 * time.Second, Lookup: lookup})
			if request != "shop.invalid" {
				t.Errorf("looked up %q, want shop.invalid", request)
			}
			for id, outcome := range tt.want {
				if c := find(t, r, id); c.Outcome != outcome {
					t.Errorf("%+v, want %s", c, outcome)
				}
			}
		})
	}
}
