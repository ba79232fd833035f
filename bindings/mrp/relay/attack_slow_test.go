package relay_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/internal/membudget"
)

// A body that arrives a byte at a time is cut off together with its connection, on every route.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", relay.Hurry(relay.Times{Body: 200 * time.Millisecond, Blob: 200 * time.Millisecond}))
	a := h.agent().known()
	plain := func(method, path string) string {
		return method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
	}
	for name, begin := range map[string]string{
		"health":             plain("GET", "/v1/health"),
		"an unknown path":    plain("POST", "/nothing"),
		"another method":     plain("PUT", "/v1/messages"),
		"not signed":         plain("POST", "/v1/messages"),
		"a blob, not signed": plain("POST", "/v1/blobs"),
		"a message":          a.signedText("POST", "/v1/messages", "", "x", 100_000),
		"a blob":             a.signedText("POST", "/v1/blobs", "", "x", 100_000),
		"above the maximum":  a.signedText("POST", "/v1/messages", "", "x", 100_000_000),
		"a WebSocket":        plain("GET", "/v1/ws"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := h.raw(begin)
			go func() {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for err := error(nil); err == nil; <-tick.C {
					_, err = fmt.Fprint(conn, "x")
				}
			}()
			h.cut(conn)
		})
	}
}

// Unfinished bodies of unauthenticated senders release their memory as soon as others need it.
func TestSlowBodiesMakeRoom(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", many, func(o *relay.Options) { o.Budget = membudget.NewBudget(4<<20, func() {}) })
	a := h.agent().known()
	const slow, fit = 10, 5
	answers := make(chan *http.Response, slow)
	for range slow {
		conn := h.raw(a.signedText("POST", "/v1/messages", "", "x", 1_000_000) + strings.Repeat("x", 200_000))
		go func() {
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Error(err)
			}
			answers <- got
		}()
	}
	madeRoom := func(n int) {
		t.Helper()
		for range n {
			got := <-answers
			if got == nil {
				t.FailNow()
			}
			_ = got.Body.Close()
			if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
				t.Errorf("got %d %v", got.StatusCode, got.Header)
			}
		}
	}
	madeRoom(slow - fit) // by then the relay has begun to read all of them
	for range 3 {
		a.send(a, `"`+strings.Repeat("x", 900_000)+`"`)
	}
	madeRoom(fit)
}

// Large unread pages are limited for each client, and do not delay others.
func TestUnreadResponses(t *testing.T) {
	t.Parallel()
	h, a := largeThread(t, relay.Hurry(relay.Times{Write: time.Hour}), func(o *relay.Options) {
		o.Limits.AnswersEach = 8 << 20
		o.Client = func(r *http.Request) string { return r.Header.Get("X-From") }
	})
	slow := []net.Conn{h.unread(a)}
	head := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(slow[0], head); err != nil || string(head) != "HTTP/1.1 200" { // the relay has begun to send the page
		t.Fatalf("got %q, %v", head, err)
	}
	slow = append(slow, h.unread(a), h.unread(a))
	h.eventually("the limit is reached", func() bool {
		return a.do("GET", largePage, "", "X-From", "slow").Status == http.StatusServiceUnavailable
	})
	if got := h.wants(http.StatusOK, "", a.do("GET", largePage, "", "X-From", "other")); len(got.Messages) != 6 {
		t.Errorf("%d messages", len(got.Messages))
	}
	for _, conn := range slow {
		h.must(conn.Close())
	}
	h.eventually("a response is sent", func() bool { return a.do("GET", largePage, "", "X-From", "slow").Status == http.StatusOK })
}

// The relay stops sending a page that the client does not read.
func TestUnreadResponseTimesOut(t *testing.T) {
	t.Parallel()
	h, a := largeThread(t, relay.Hurry(relay.Times{Write: 200 * time.Millisecond}))
	h.unread(a)
	h.eventually("the relay writes", func() bool { return h.relay.Answering() > 0 })
	h.eventually("the relay gives up", func() bool { return h.relay.Answering() == 0 })
}

const largePage = "/v1/messages/threads/t"

// largeThread returns an agent with a thread that exceeds the buffers of a connection.
func largeThread(t *testing.T, change ...func(*relay.Options)) (*host, *agent) {
	t.Helper()
	h := newHost(t, "", append(change, many)...)
	a := h.agent().known()
	for range 6 {
		a.send(a, `"`+strings.Repeat("x", 1<<20-2)+`"`, `"thread_id":"t"`)
	}
	return h, a
}

// unread requests the thread, and does not read the response.
func (h *host) unread(a *agent) net.Conn {
	h.Helper()
	conn := h.raw(a.signedText("GET", largePage, "slow", "", 0))
	h.must(conn.(*net.TCPConn).SetReadBuffer(4 << 10))
	return conn
}
