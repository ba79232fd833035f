package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/quote"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// succeeded returns a gateway on which an order costs 0.25 EUR, and 0.50 EUR from an hour later on, the options of a bridge for it, and its
// log. The owner of the bridge accepts the first policy and, if both is true, the second one.
func succeeded(t *testing.T, both bool) (*gatetest.Gate, Options, func() string) {
	t.Helper()
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, upstream: {url: UPSTREAM}, "+
		"policies: [{file: policy.json}, {file: dearer.json, from: 2026-11-21T13:00Z}]}\n", func(g *gatetest.Gate) {
		g.Write("dearer.json", strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.50"`, 1))
	})
	g.Later(30 * time.Minute)
	key, err := testKey()
	g.Must(err)
	const published = "127.0.0.1:8080"
	dir := t.TempDir()
	var mu sync.Mutex
	var logged []string
	o := Options{
		Agent: agent.Options{
			Key: key, Now: g.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
			Wrap: func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					to := r.Clone(r.Context())
					to.URL.Host, to.Host = strings.TrimPrefix(g.URL, "http://"), published
					answer, err := next.RoundTrip(to)
					if err == nil {
						answer.Request = r
					}
					return answer, err
				})
			},
		},
		Services: []string{"http://" + published}, Agreements: dir, Outbox: filepath.Join(dir, "calls"),
		Compare: func(ctx context.Context, agreed, offered []byte, catalog *intents.Catalog) (Difference, bool) {
			d, known := quote.Compare(ctx, agreed, offered, catalog)
			return Difference{Same: d.Same, Words: fmt.Sprint(d.Changes)}, known
		},
		AgreeCommand: func(service, digest, _ string) string { return "agree " + service + " " + digest },
		NextCommand:  func(service, plan string) string { return "agree " + service + " --next" + plan },
		Log: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			logged = append(logged, line)
		},
	}
	current := g.Directory.Current().Service("default")
	if o.Accept = []string{current.Offer().Digest}; both {
		o.Accept = append(o.Accept, current.Successor().Digest)
	}
	return g, withBudget(t, o, "10 EUR/day"), func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(logged, "\n")
	}
}

// After the date, an agreement holds for a tool whose terms stay the same. For another one, the owner reads only what changes.
func TestToolsAfterDateOfPolicy(t *testing.T) {
	t.Parallel()
	g, o, logged := succeeded(t, false)
	h := start(t, o)
	search, order := map[string]any{"query": "tea"}, map[string]any{"product": "tea"}
	h.ok(gatetest.Searching, search)
	if got := h.ok(gatetest.Ordering, order).Meta["UIM-Charge"]; !strings.HasPrefix(fmt.Sprint(got), "0.25 EUR") {
		t.Errorf("before the date: %v, want 0.25 EUR", got)
	}
	has(t, logged(), "changes its terms at 2026-11-21T13:00:00Z", "agree http://127.0.0.1:8080 --next")
	g.Later(30 * time.Minute)
	h.ok(gatetest.Searching, search)
	sentence, _ := h.refused(gatetest.Ordering, order, "POLICY_REQUIRES_AGREEMENT")
	has(t, sentence, "Changes in the terms of shop.example", "The price is 0.50 EUR, instead of 0.25 EUR.")
	h.ok(gatetest.Searching, search)
}

// If the owner has accepted both policies, the bridge agrees to the next one in advance, and no call is refused.
func TestBridgeAgreesInAdvance(t *testing.T) {
	t.Parallel()
	g, o, logged := succeeded(t, true)
	h := start(t, o)
	var got []string
	order := func() {
		got = append(got, strings.SplitN(fmt.Sprint(h.ok(gatetest.Ordering, map[string]any{"product": "tea"}).Meta["UIM-Charge"]), ";", 2)[0])
	}
	order()
	g.Later(29 * time.Minute)
	order()
	g.Later(time.Minute)
	order()
	if want := "[0.25 EUR 0.25 EUR 0.50 EUR]"; fmt.Sprint(got) != want {
		t.Errorf("the charges: %v, want %s; the log:\n%s", got, want, logged())
	}
}

// The owner is asked about a repetition that may cost more than the call whose outcome is unknown, and its budget must suffice.
func TestRepetitionAtHigherPrice(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ above, limit, want string }{
		"above what the owner confirms": {"0.30 EUR", "10 EUR/day", "CONFIRMATION_REQUIRED"},
		"above the budget":              {"5 EUR", "0.40 EUR/day", "BUDGET_EXCEEDED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, o, _ := succeeded(t, true)
			o.ReadTerms = func(_ context.Context, p agent.Policy, _ *intents.Catalog) Terms {
				most := money.Amount{Nano: money.Unit / 4, Currency: "EUR"}
				if strings.Contains(string(p.Raw), `"0.50"`) {
					most.Nano *= 2
				}
				return Terms{Intents: map[string]CallTerm{gatetest.Ordering: {Most: most}}}
			}
			var down atomic.Bool
			wrap := o.Agent.Wrap
			o.Agent.Wrap = func(next http.RoundTripper) http.RoundTripper {
				next = wrap(next)
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					if down.Load() && strings.HasSuffix(r.URL.Path, "/execute") {
						return &http.Response{
							StatusCode: http.StatusBadGateway, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r,
						}, nil
					}
					return next.RoundTrip(r)
				})
			}
			h := start(t, withBudget(t, asking(t, o, test.above), test.limit))
			order := map[string]any{"product": "tea"}
			down.Store(true)
			has(t, text(h.call(gatetest.Ordering, order), 0), "Outcome unknown")
			down.Store(false)
			g.Later(30 * time.Minute)
			h.refused(gatetest.Ordering, order, test.want)
			if list, err := g.Store.Executions(t.Context(), store.Filter{Service: "default", Limit: 10}); err != nil || len(list) != 0 {
				t.Errorf("got %v, %v; want no call", list, err)
			}
		})
	}
}
