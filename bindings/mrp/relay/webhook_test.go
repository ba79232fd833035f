package relay_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A hook is the server behind a webhook.
type hook struct {
	*httptest.Server
	secret   wire.Secret
	mu       sync.Mutex
	got      []wire.Delivery
	answer   []int // the status of each response; the last one repeats
	received chan struct{}
}

func newHook(t *testing.T, answer ...int) *hook {
	t.Helper()
	k := &hook{answer: answer, received: make(chan struct{}, 1000)}
	_, _ = rand.Read(k.secret[:])
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var d wire.Delivery
		if err != nil || !wire.VerifyDelivery(k.secret, body, r.Header.Get("X-M2M-Webhook-Signature")) || json.Unmarshal(body, &d) != nil ||
			r.Header.Get("X-M2M-Delivery-ID") != d.ID || r.Header.Get("X-M2M-Webhook-Timestamp") == "" {
			t.Errorf("an invalid delivery: %v %s %v", r.Header, body, err)
		}
		k.mu.Lock()
		k.got = append(k.got, d)
		status := k.answer[min(len(k.got), len(k.answer))-1]
		k.mu.Unlock()
		if status == http.StatusFound {
			w.Header().Set("Location", "http://169.254.169.254/latest/meta-data")
		}
		w.WriteHeader(status)
		k.received <- struct{}{}
	}))
	t.Cleanup(k.Close)
	return k
}

// set makes the hook an agent's webhook.
func (k *hook) set(a *agent) answer {
	a.Helper()
	return a.do("PUT", a.path()+"/webhook", fmt.Sprintf(`{"url":%q,"secret":%q}`, k.URL+"/in?x=1", base64.RawURLEncoding.EncodeToString(k.secret[:])))
}

func private(o *relay.Options) { o.PrivateWebhooks = true }

func TestWebhook(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().known(), h.agent().known()
		k := newHook(t, http.StatusOK)
		got := h.wants(http.StatusOK, "", k.set(b))
		if strings.Contains(string(got.Raw), "secret") || !strings.Contains(string(got.Raw), `"enabled":true`) {
			t.Errorf("got %s", got.Raw)
		}
		id := a.send(b, `{ "a" : 1 }`)
		h.waitFor(k.received)
		if k.got[0].Message.ID != id || string(k.got[0].Message.Body) != `{ "a" : 1 }` || !strings.HasPrefix(k.got[0].ID, "dlv_") {
			t.Errorf("got %+v", k.got)
		}
		h.eventually("delivered", func() bool {
			return strings.Contains(string(a.do("GET", "/v1/messages/"+id+"/status", "").Raw), `"delivered"`)
		})
		if list := b.poll(""); len(list) != 0 {
			t.Errorf("a poll returned it again: %v", ids(list))
		}
		h.wants(http.StatusForbidden, "forbidden", a.do("GET", b.path()+"/webhook", ""))
		h.wants(http.StatusNoContent, "", b.do("DELETE", b.path()+"/webhook", ""))
		h.wants(http.StatusNotFound, "not_found", b.do("GET", b.path()+"/webhook", ""))
	}, private, many)
}

// After a status other than 200, the message is posted again with the same id; until an attempt succeeds, a poll returns the message.
func TestFailingWebhook(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", private, many)
	a, b := h.agent().known(), h.agent().known()
	k := newHook(t, http.StatusNoContent, http.StatusFound, http.StatusInternalServerError, http.StatusOK)
	h.wants(http.StatusOK, "", k.set(b))
	id := a.send(b, `1`)
	for attempt := range 4 {
		h.waitFor(k.received)
		if attempt == 3 {
			break
		}
		h.eventually("counted", func() bool {
			return strings.Contains(string(b.do("GET", b.path()+"/webhook", "").Raw), fmt.Sprintf(`"consecutive_failures":%d`, attempt+1))
		})
	}
	h.eventually("delivered", func() bool {
		return strings.Contains(string(a.do("GET", "/v1/messages/"+id+"/status", "").Raw), `"delivered"`)
	})
	if got := b.do("GET", b.path()+"/webhook", ""); !strings.Contains(string(got.Raw), `"consecutive_failures":0`) {
		t.Errorf("got %s", got.Raw)
	}
	for _, d := range k.got {
		if d.ID != k.got[0].ID || d.Message.ID != id {
			t.Errorf("got %+v", d)
		}
	}
}

// waitFor advances the clock until a delivery arrives.
func (h *host) waitFor(came <-chan struct{}) {
	h.eventually("a delivery arrives", func() bool {
		select {
		case <-came:
			return true
		default:
			if h.clock != nil {
				h.pass(1e9)
			}
			h.relay.Post(h.Context())
			return false
		}
	})
}

func TestUnprovedWebhookIsDisabled(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", private, many)
	a, b := h.agent().known(), h.agent().known()
	k := newHook(t, http.StatusTeapot)
	h.wants(http.StatusOK, "", k.set(b))
	var sent []string
	for i := range 21 {
		sent = append(sent, a.send(b, fmt.Sprint(i)))
	}
	h.eventually("disabled", func() bool {
		h.pass(10e9)
		h.relay.Post(h.Context())
		return strings.Contains(string(b.do("GET", b.path()+"/webhook", "").Raw), `"enabled":false`)
	})
	if got := ids(b.poll("")); !slices.Equal(got, sent) {
		t.Errorf("%d messages wait, want 21", len(got))
	}
	h.wants(http.StatusOK, "", k.set(b))
	if got := b.do("GET", b.path()+"/webhook", ""); !strings.Contains(string(got.Raw), `"enabled":true`) ||
		!strings.Contains(string(got.Raw), `"consecutive_failures":0`) {
		t.Errorf("got %s", got.Raw)
	}
}

func TestRefusedWebhooks(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a := h.agent().known()
	secret := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	for _, address := range []string{
		"http://example.com/", "https://127.0.0.1/", "https://localhost/", "https://10.0.0.1/", "https://169.254.169.254/", "https://[::1]/",
		"https://[::ffff:10.0.0.1]/", "https://u:p@example.com/", "ftp://example.com/", "//example.com", "",
	} {
		h.wants(http.StatusBadRequest, "bad_request", a.do("PUT", a.path()+"/webhook", fmt.Sprintf(`{"url":%q,"secret":%q}`, address, secret)))
	}
	h.wants(http.StatusBadRequest, "bad_request", a.do("PUT", a.path()+"/webhook", `{"url":"https://example.com/","secret":"QUJD"}`))
	h.wants(http.StatusNotFound, "not_found", a.do("GET", a.path()+"/webhook", ""))
}
