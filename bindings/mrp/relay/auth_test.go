package relay_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/internal/limit"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

func TestFirstRequestCreatesAgent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent(), h.agent().known()
		got := h.wants(http.StatusOK, "", a.do("GET", "/v1/agents/"+a.key().String(), ""))
		if got.PublicKey != a.key() || got.Profile.Status != wire.Active || got.Visibility != wire.Private ||
			got.InboxPolicy != wire.BlockList || string(got.Metadata) != "{}" || got.Capabilities == nil || len(got.Capabilities) != 0 ||
			got.DisplayName != nil || got.CreatedAt.IsZero() {
			t.Errorf("got %s", got.Raw)
		}
		h.wants(http.StatusOK, "", b.do("GET", "/v1/agents/"+a.key().String(), ""))
		h.wants(http.StatusNotFound, "agent_not_found", b.do("GET", "/v1/agents/"+h.agent().key().String(), ""))
		h.wants(http.StatusBadRequest, "bad_request", b.do("GET", "/v1/agents/"+strings.Repeat("x", 44), ""))
	})
}

func TestInvalidSignatures(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a := h.agent()
		const target = "/v1/messages?limit=10"
		for name, c := range map[string]struct {
			change func(*http.Request)
			code   string
		}{
			"no headers":                  {func(r *http.Request) { r.Header = http.Header{} }, "unauthorized"},
			"no timestamp":                {func(r *http.Request) { r.Header.Del(wire.HeaderTimestamp) }, "unauthorized"},
			"an alias of the key":         {func(r *http.Request) { alias(r.Header, wire.HeaderKey) }, "unauthorized"},
			"an alias of the sig":         {func(r *http.Request) { alias(r.Header, wire.HeaderSignature) }, "unauthorized"},
			"key of another agent":        {func(r *http.Request) { r.Header.Set(wire.HeaderKey, h.agent().key().String()) }, "invalid_signature"},
			"another query":               {func(r *http.Request) { r.URL.RawQuery = "limit=11" }, "invalid_signature"},
			"the query left out":          {func(r *http.Request) { r.URL.RawQuery = "" }, "invalid_signature"},
			"the query spelt differently": {func(r *http.Request) { r.URL.RawQuery = "limit=%310" }, "invalid_signature"},
			"another timestamp":           {func(r *http.Request) { r.Header.Set(wire.HeaderTimestamp, wire.Timestamp(a.at())) }, "invalid_signature"},
			"the same time, spelt": {func(r *http.Request) {
				r.Header.Set(wire.HeaderTimestamp, strings.Replace(r.Header.Get(wire.HeaderTimestamp), "Z", "+00:00", 1))
			}, "invalid_signature"},
			"five minutes too late": {func(r *http.Request) { sign(a, r, h.now().Add(-5*time.Minute-time.Second)) }, "timestamp_expired"},
			"five minutes early":    {func(r *http.Request) { sign(a, r, h.now().Add(5*time.Minute+2*time.Second)) }, "timestamp_expired"},
			"the year 9999":         {func(r *http.Request) { sign(a, r, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)) }, "timestamp_expired"},
			"the year 0":            {func(r *http.Request) { sign(a, r, time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)) }, "timestamp_expired"},
		} {
			r := a.request("GET", target, "")
			c.change(r)
			if got := h.sent(r); got.Status != http.StatusUnauthorized || got.code() != c.code {
				t.Errorf("%s: %d %s", name, got.Status, got.Raw)
			}
		}
		for _, ago := range []time.Duration{4*time.Minute + 50*time.Second, -4*time.Minute - 50*time.Second} {
			r := a.request("GET", target, "")
			sign(a, r, h.now().Add(-ago))
			h.wants(http.StatusOK, "", h.sent(r))
		}
		h.wants(http.StatusOK, "", a.do("GET", target, ""))
	})
}

func sign(a *agent, r *http.Request, at time.Time) {
	wire.Sign(r.Header, a.private, at, r.Method, r.URL.RequestURI(), wire.Sum(nil))
}

// With a key of small order, one signature is valid for every request, so anyone could act as the agent. The relay refuses such keys over
// HTTP and over a WebSocket, as agreements do.
func TestSmallOrderKeyIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		weak := wire.Key{1}                  // the identity
		forged := wire.Signature{1}.String() // R is the identity, and S is 0
		for name, key := range map[string]wire.Key{"the identity": weak, "not canonical": {1, 31: 0x80}, "not a point": {2}} {
			r := h.agent().request("GET", "/v1/messages", "")
			r.Header.Set(wire.HeaderKey, key.String())
			r.Header.Set(wire.HeaderSignature, forged)
			if got := h.sent(r); got.Status != http.StatusUnauthorized || got.code() != "unauthorized" {
				t.Errorf("%s: %d %s", name, got.Status, got.Raw)
			}
		}
		_, refused := wire.ReadAuthFrame(fmt.Appendf(nil, `{"type":"auth","public_key":%q,"timestamp":"2026-03-05T12:00:00Z","signature":%q}`,
			weak, forged))
		if refused == nil || refused.Code != wire.Unauthorized {
			t.Errorf("the first frame of a WebSocket: %v", refused)
		}
		h.wants(http.StatusNotFound, "agent_not_found", h.agent().do("GET", "/v1/agents/"+weak.String(), ""))
	})
}

// alias returns another spelling of a base64url text, because the last character has unused bits.
func alias(h http.Header, name string) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	text := h.Get(name)
	h.Set(name, text[:len(text)-1]+string(letters[strings.IndexByte(letters, text[len(text)-1])+1]))
}

// A request is accepted once, even if it arrives again, at another relay, or after a restart.
func TestReplays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a := h.agent().known()
		other := h
		if h.clock == nil {
			other = newHost(t, h.place)
		}
		var taken, refused atomic.Int64
		r := a.request("GET", "/v1/messages", "")
		var at sync.WaitGroup
		for i := range 8 {
			at.Go(func() {
				again := r.Clone(t.Context())
				if i%2 == 1 {
					again.URL.Host = strings.TrimPrefix(other.URL, "http://")
					again.Host = again.URL.Host
				}
				switch got := h.sent(again); got.code() {
				case "":
					taken.Add(1)
				case "replay_detected":
					refused.Add(1)
				default:
					t.Errorf("got %s", got.Raw)
				}
			})
		}
		at.Wait()
		if taken.Load() != 1 || refused.Load() != 7 {
			t.Errorf("accepted %d times, refused %d times", taken.Load(), refused.Load())
		}
		h.wants(http.StatusConflict, "replay_detected", h.sent(r.Clone(t.Context())))
	})
}

func TestReplaysAfterRestart(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a := h.agent()
	r := a.request("GET", "/v1/messages", "")
	h.wants(http.StatusOK, "", h.sent(r))
	h.stop()
	h.start(h.clock.Now, t.TempDir(), nil)
	t.Cleanup(h.stop)
	r.URL.Host, r.Host = strings.TrimPrefix(h.URL, "http://"), ""
	h.wants(http.StatusConflict, "replay_detected", h.sent(r.Clone(t.Context())))
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", func(o *relay.Options) { o.Prefix = "/mrp" })
	a := h.agent()
	h.wants(http.StatusOK, "", a.do("GET", "/mrp/v1/messages?limit=1", ""))
	r := a.host.request("GET", "/mrp/v1/messages?limit=1", "")
	wire.Sign(r.Header, a.private, a.at(), "GET", "/v1/messages?limit=1", wire.Sum(nil))
	h.wants(http.StatusOK, "", h.sent(r))
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a := h.agent()
	h.wants(http.StatusNotFound, "not_found", a.do("GET", "/v1/nothing", ""))
	h.wants(http.StatusNotFound, "not_found", a.do("GET", "/v2/messages", ""))
	got := h.wants(http.StatusMethodNotAllowed, "bad_request", a.do("PATCH", "/v1/messages", ""))
	if got.Header.Get("Allow") != "GET, POST" {
		t.Errorf("Allow: %s, want %q", got.Header.Get("Allow"), "GET, POST")
	}
	for _, path := range []string{"/v1/health", "/v1/health/ready", "/v1/health/live", "/v1/health/details", "/v1/openapi.json", "/"} {
		if got := h.sent(h.request("GET", path, "")); got.Status != http.StatusOK || len(got.Raw) == 0 {
			t.Errorf("%s: %d", path, got.Status)
		}
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	h.pass(30 * time.Second) // the middle of a minute
	a, b := h.agent().known(), h.agent().known()
	for i := range 30 {
		got := h.wants(http.StatusAccepted, "", a.do("POST", "/v1/messages", message(b.key(), "1")))
		if got.Header.Get("X-RateLimit-Limit") != "30" || got.Header.Get("X-RateLimit-Remaining") != fmt.Sprint(29-i) ||
			got.Header.Get("X-RateLimit-Reset") == "" {
			t.Errorf("the %dth: %v", i+1, got.Header)
		}
	}
	got := h.wants(http.StatusTooManyRequests, "rate_limit_exceeded", a.do("POST", "/v1/messages", message(b.key(), "1")))
	if got.Header.Get("Retry-After") == "" || got.Header.Get("X-RateLimit-Remaining") != "0" || got.Error.Details["window"] != "1m" ||
		got.Error.Details["limit"] != 30.0 || got.Error.Details["retry_after"] == nil {
		t.Errorf("got %v %s", got.Header, got.Raw)
	}
	h.wants(http.StatusOK, "", a.do("GET", "/v1/messages", ""))
	h.wants(http.StatusAccepted, "", b.do("POST", "/v1/messages", message(a.key(), "1")))
	h.pass(time.Duration(got.Error.Details["retry_after"].(float64) * float64(time.Second)))
	h.wants(http.StatusAccepted, "", a.do("POST", "/v1/messages", message(b.key(), "1")))
	for range 119 {
		h.wants(http.StatusOK, "", b.do("GET", "/v1/messages", ""))
	}
}

// Requests without the key do not count against the limits of the agent.
func TestForgedRequestsAreNotCounted(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", func(o *relay.Options) { o.Limits.Polls = 5 })
	a := h.agent().known()
	for range 20 {
		r := a.request("GET", "/v1/messages", "")
		r.URL.RawQuery = "x=1"
		h.wants(http.StatusUnauthorized, "invalid_signature", h.sent(r))
	}
	replayed := a.request("GET", "/v1/messages", "")
	h.wants(http.StatusOK, "", h.sent(replayed))
	for range 20 {
		h.wants(http.StatusConflict, "replay_detected", h.sent(replayed.Clone(t.Context())))
	}
	for range 4 {
		h.wants(http.StatusOK, "", a.do("GET", "/v1/messages", ""))
	}
	h.wants(http.StatusTooManyRequests, "rate_limit_exceeded", a.do("GET", "/v1/messages", ""))
}

func TestNewAgentsPerAddress(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", func(o *relay.Options) { o.Limits.Newcomers = limit.Rate{Max: 3, Period: "hour"} })
	old := h.agent().known()
	h.agent().known()
	h.agent().known()
	got := h.agent().do("GET", "/v1/messages", "")
	if h.wants(http.StatusTooManyRequests, "rate_limit_exceeded", got); got.Header.Get("Retry-After") == "" {
		t.Errorf("got %v", got.Header)
	}
	h.wants(http.StatusOK, "", old.do("GET", "/v1/messages", ""))
}

func TestBodies(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a, b := h.agent().known(), h.agent().known()
	longest := `"` + strings.Repeat("x", wire.MaxBody-2) + `"`
	h.wants(http.StatusAccepted, "", a.do("POST", "/v1/messages", message(b.key(), longest)))
	h.wants(http.StatusRequestEntityTooLarge, "payload_too_large", a.do("POST", "/v1/messages", message(b.key(), longest[:9]+longest[8:])))
	if got := a.do("POST", "/v1/messages", strings.Repeat("x", wire.MaxRequest+1)); got.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d %s; want %v", got.Status, got.Raw, http.StatusRequestEntityTooLarge)
	}
	if got := b.poll(""); len(got) != 1 || string(got[0].Body) != longest {
		t.Errorf("%d messages", len(got))
	}
	for _, body := range []string{"", "{", "[]", `{"body":1}`} {
		h.wants(http.StatusBadRequest, "bad_request", a.do("POST", "/v1/messages", body))
	}
}
