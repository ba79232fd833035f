package upstream_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/store"
)

func TestAskReturnsTheOutcome(t *testing.T) {
	const id = "01934f6e-7f6c-7d2a-9b1e-0123456789ab"
	byStatus := config.Reconcile{URL: "/orders/{execution_id}?by=key", Done: "200, 204", NotDone: "404"}
	byValue := config.Reconcile{URL: "/lookup", Done: "/order/state=paid", NotDone: "/unknown"}
	both := config.Reconcile{URL: "/lookup", Done: "200", NotDone: "/unknown"}
	for name, c := range map[string]struct {
		asks   config.Reconcile
		status int
		body   string
		want   store.State
	}{
		"done by status":       {byStatus, 200, "{}", store.Captured},
		"done without a body":  {byStatus, 204, "", store.Captured},
		"done and no JSON":     {byStatus, 200, "yes", store.Captured},
		"not done by status":   {byStatus, 404, "", store.Released},
		"another status":       {byStatus, 500, "", store.Unresolved},
		"410 is not 404":       {byStatus, 410, "", store.Unresolved},
		"done by value":        {byValue, 200, `{"order":{"state":"paid"}}`, store.Captured},
		"not done by value":    {byValue, 200, `{"unknown":true}`, store.Released},
		"another value":        {byValue, 200, `{"order":{"state":"open"},"unknown":false}`, store.Unresolved},
		"a value in a refusal": {byValue, 404, `{"unknown":true}`, store.Unresolved},
		"pointer through a value that is not an object": {byValue, 200, `{"order":"paid"}`, store.Unresolved},
		"both done and not done":                        {both, 200, `{"unknown":true}`, store.Unresolved},
	} {
		t.Run(name, func(t *testing.T) {
			var query string
			s := serve(t, func(_ int64, conn net.Conn, r *http.Request) bool {
				query = r.Method + " " + r.RequestURI + " " + r.Header.Get("Idempotency-Key") + " " + r.Header.Get("Uim-Execution-Id")
				length := fmt.Sprintf("Content-Length: %d\r\n", len(c.body))
				if c.status == http.StatusNoContent {
					length = ""
				}
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d X\r\n%s\r\n%s", c.status, length, c.body)
				return true
			})
			cfg := settings(t, s.URL+"/v1")
			cfg.IdempotencyHeader, cfg.Reconcile = "Idempotency-Key", c.asks
			u := open(t, cfg)
			got, err := u.Ask(t.Context(), id)
			if err != nil || got != c.want || !u.HasStatusQuestion() {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
			want := "GET /v1/lookup " + id + " " + id
			if c.asks.URL == byStatus.URL {
				want = "GET /v1/orders/" + id + "?by=key " + id + " " + id
			}
			if query != want {
				t.Errorf("asked %q; want %q", query, want)
			}
		})
	}
}

func TestAskWithoutResponse(t *testing.T) {
	s := serve(t, func(int64, net.Conn, *http.Request) bool { return false })
	for _, address := range []string{s.URL, closedPort(t)} {
		cfg := settings(t, address)
		cfg.Reconcile = config.Reconcile{URL: "/orders/{execution_id}", Done: "200", NotDone: "404"}
		if got, err := open(t, cfg).Ask(t.Context(), "x"); err == nil || got != "" {
			t.Errorf("got %q, %v; want an empty string, an error", got, err)
		}
	}
}

func TestInvalidReconcileConfig(t *testing.T) {
	fine := config.Reconcile{URL: "/orders/{execution_id}", Done: "200", NotDone: "404"}
	for name, spoil := range map[string]func(*config.Reconcile){
		"no path":             func(r *config.Reconcile) { r.URL = "orders/{execution_id}" },
		"another host":        func(r *config.Reconcile) { r.URL = "https://elsewhere.example/{execution_id}" },
		"no place for the id": func(r *config.Reconcile) { r.URL = "/orders" },
		"another placeholder": func(r *config.Reconcile) { r.URL = "/orders/{execution_id}/{id}" },
		"no sign of done":     func(r *config.Reconcile) { r.Done = "" },
		"no sign of not done": func(r *config.Reconcile) { r.NotDone = "" },
		"no status":           func(r *config.Reconcile) { r.Done = "fine" },
	} {
		cfg := settings(t, "http://127.0.0.1:1")
		cfg.Reconcile = fine
		spoil(&cfg.Reconcile)
		if _, err := upstream.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if open(t, settings(t, "http://127.0.0.1:1")).HasStatusQuestion() {
		t.Error("a service without reconcile can be asked")
	}
}
