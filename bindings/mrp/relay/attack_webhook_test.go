package relay_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
)

// posts sets an agent's webhook.
func (a *agent) posts(to string) {
	a.Helper()
	secret := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	a.wants(http.StatusOK, "", a.do("PUT", a.path()+"/webhook", fmt.Sprintf(`{"url":%q,"secret":%q}`, to, secret)))
}

// hook returns the response to a request for the agent's webhook.
func (a *agent) hook() string {
	a.Helper()
	return string(a.wants(http.StatusOK, "", a.do("GET", a.path()+"/webhook", "")).Raw)
}

func (a *agent) state(id string) string {
	a.Helper()
	return string(a.wants(http.StatusOK, "", a.do("GET", "/v1/messages/"+id+"/status", "")).Raw)
}

// Webhooks that hang do not delay others, however many there are and however many messages wait for them.
func TestWebhooksThatHang(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", private, many, relay.Hurry(relay.Times{Post: 300 * time.Millisecond}))
	a, b := h.agent().known(), h.agent().known()
	hung := make(chan struct{}, 1000)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the relay disconnects
		hung <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	for range 7 {
		slow := h.agent().known()
		slow.posts(hangs.URL)
		for range 17 {
			a.send(slow, `1`)
		}
	}
	h.waitFor(hung)
	k := newHook(t, http.StatusOK)
	h.wants(http.StatusOK, "", k.set(b))
	a.send(b, `1`)
	h.waitFor(k.received)
}

// A message is delivered once its webhook responds with 200; the relay does not wait for the body.
func TestEndlessWebhookResponse(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", private, many)
	a, b := h.agent().known(), h.agent().known()
	left := make(chan struct{}, 10)
	drips := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { left <- struct{}{} }()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
		}
	}))
	t.Cleanup(drips.Close)
	b.posts(drips.URL)
	id := a.send(b, `1`)
	h.waitFor(left)
	h.eventually("delivered", func() bool { return strings.Contains(a.state(id), `"delivered"`) })
	if got := b.hook(); !strings.Contains(got, `"consecutive_failures":0`) || len(left) > 0 {
		t.Errorf("%s, and %d more deliveries", got, len(left))
	}
}

// Endless headers, at any speed, are a failure like any other, and are limited.
func TestNonHTTPWebhooks(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct {
		begin, again string
		pause        time.Duration
	}{
		"headers without end":       {"HTTP/1.1 200 OK\r\n", "X: " + strings.Repeat("x", 1000) + "\r\n", 0},
		"one header without end":    {"HTTP/1.1 200 OK\r\nX: ", strings.Repeat("x", 1000), 0},
		"headers, a byte at a time": {"HTTP/1.1 200 OK\r\nX: ", "x", 10 * time.Millisecond},
		"hints without end":         {"", "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n", 0},
		"nonsense":                  {"nonsense\r\n", "nonsense", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "", private, many, relay.Hurry(relay.Times{Post: 200 * time.Millisecond}))
			a, b := h.agent().known(), h.agent().known()
			ended := make(chan struct{}, 100)
			b.posts("http://" + endless(h, answer.begin, answer.again, answer.pause, ended))
			id := a.send(b, `1`)
			h.waitFor(ended)
			h.eventually("the delivery fails", func() bool { return !strings.Contains(b.hook(), `"consecutive_failures":0`) })
			if got := a.state(id); !strings.Contains(got, `"sent"`) {
				t.Errorf("got %q, want a text that contains %q", got, `"sent"`)
			}
		})
	}
}

// endless returns the address of a server that repeats the same text forever. ended receives a value each time a client disconnects.
func endless(h *host, begin, again string, pause time.Duration, ended chan<- struct{}) string {
	h.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	h.must(err)
	h.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close(); ended <- struct{}{} }()
				_, err := fmt.Fprint(conn, begin)
				for err == nil {
					<-time.After(pause)
					_, err = fmt.Fprint(conn, again)
				}
			}()
		}
	}()
	return ln.Addr().String()
}
