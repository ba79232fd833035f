package agent_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// A call waits as long as the intent may take, unless the caller has set a limit. Before receives the key before the call is sent.
func TestCallWaitsAsLongAsTheIntentMayTake(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]bool{0: true, time.Minute: false} {
		shop := agenttest.New(t, agenttest.Canonical)
		o := options(t, shop)
		o.Timeout = limit
		var long, sent bool
		o.Wrap = func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				deadline, ok := r.Context().Deadline()
				if strings.HasSuffix(r.URL.Path, "/execute") {
					long, sent = ok && time.Until(deadline) > 5*time.Minute, true
				}
				return next.RoundTrip(r)
			})
		}
		shop.SetMember("intents", []any{map[string]any{
			"intent_uid": agenttest.Order, "intent_name": "Order", "description": "Order.", "price": "0.01 USD", "x-timeout": 400,
			"input_parameters": []any{map[string]any{"name": "product", "type": "string"}},
		}})
		s := agreed(t, o, shop.URL)
		key := ""
		r, err := s.Execute(t.Context(), agenttest.Order, map[string]any{"product": "tea"}, agent.ExecuteOptions{Before: func(k string) {
			if key = k; sent {
				t.Error("the call was sent before Before was called")
			}
		}})
		if err != nil || long != want || key == "" || r.IdempotencyKey != key {
			t.Errorf("limit %s: waits long: %v, key %q, %+v, %v; want %v", limit, long, key, r, err, want)
		}
	}
}
