package relay_test

import (
	"net/http"
	"testing"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/internal/limit"
)

// A send uses up the signature of its request even if the message is refused: the request counts once, and its sender is registered.
func TestSendSignatureIsUsedOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", func(o *relay.Options) { o.Limits.Sends = 3 })
	shut := h.agent().known()
	h.wants(http.StatusOK, "", shut.do("PATCH", "/v1/agents/"+shut.key().String(), `{"inbox_policy":"closed"}`))
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"taken":     {message(h.agent().key(), `1`), http.StatusAccepted},
		"refused":   {message(shut.key(), `1`), http.StatusForbidden},
		"malformed": {`{"body":1}`, http.StatusBadRequest},
	} {
		a, other := h.agent(), h.agent().known()
		r := a.request("POST", "/v1/messages", c.body)
		if got := h.sent(r); got.Status != c.status {
			t.Errorf("%s: got %d %s; want %v", name, got.Status, got.Raw, c.status)
		}
		h.wants(http.StatusOK, "", other.do("GET", "/v1/agents/"+a.key().String(), "")) // the agent was created
		for range 3 {
			again := r.Clone(t.Context())
			var err error
			again.Body, err = r.GetBody()
			h.must(err)
			h.wants(http.StatusConflict, "replay_detected", h.sent(again))
		}
		if got := a.do("POST", "/v1/messages", c.body); got.Header.Get("X-RateLimit-Remaining") != "1" {
			t.Errorf("%s: %v", name, got.Header)
		}
	}
}

// Agents that are created by a send count against the limit of new agents.
func TestNewAgentsPerAddressBySending(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", func(o *relay.Options) { o.Limits.Newcomers = limit.Rate{Max: 2, Period: "hour"} })
	to := h.agent()
	for range 2 {
		h.agent().send(to, `1`)
	}
	h.wants(http.StatusTooManyRequests, "rate_limit_exceeded", h.agent().do("POST", "/v1/messages", message(to.key(), `1`)))
	h.wants(http.StatusTooManyRequests, "rate_limit_exceeded", h.agent().do("POST", "/v1/messages", `{}`))
}
