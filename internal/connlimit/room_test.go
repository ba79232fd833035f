//go:build unix

package connlimit_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/connlimit"
)

// dialFrom dials from an address of this machine such as 127.0.0.2.
func (h *listenerTest) dialFrom(address string) *client {
	h.t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext(h.t.Context(), "tcp", h.address)
	if err != nil {
		h.t.Skip("this system has one loopback address: ", err)
	}
	h.t.Cleanup(func() { c.Close() })
	return &client{c, h.t, bufio.NewReader(c)}
}

// fill opens perAddress connections from each of several addresses of this machine, beginning with 127.0.0.first, and makes one request on
// each connection.
func (h *listenerTest) fill(path string, first, addresses, perAddress int) (filled []*client) {
	h.t.Helper()
	for a := range addresses {
		for range perAddress {
			v := h.dialFrom(fmt.Sprintf("127.0.0.%d", first+a))
			v.send(get(path))
			v.receive()
			filled = append(filled, v)
		}
	}
	return filled
}

// Connections from many addresses fill the listener. A connection from another address is still served, and stays open.
func TestManyAddressesDoNotExcludeOthers(t *testing.T) {
	const all, perAddress = 24, 8
	for name, test := range map[string]struct {
		path      string // the path that these connections request
		addresses int
	}{
		"a served request":      {"/served", 3},
		"of ten addresses":      {"/served", 10},
		"a kept connection":     {"/keep", 3},
		"kept, of ten":          {"/keep", 10},
		"nothing but a request": {"/", 10},
	} {
		for _, park := range []time.Duration{0, soon} {
			t.Run(fmt.Sprint(name, ", parked after ", park), func(t *testing.T) {
				h := newListenerTest(t, func(b *connlimit.Bounds, _ *http.Server) {
					b.All, b.PerAddress, b.Answer, b.Park = all, perAddress, []byte("busy"), park
				})
				h.fill(test.path, 10, test.addresses, perAddress)
				agent := h.dialFrom("127.0.0.2")
				agent.send(get("/keep"))
				agent.receive()
				h.fill("/served", 100, test.addresses, perAddress) // again, without keeping the connections
				agent.send(get("/kept"))
				if got := agent.receive(); got != "true" {
					t.Errorf("kept: %s, want %q", got, "true")
				}
				if got := h.l.Open(); got != all {
					t.Errorf("%d are open, want %d", got, all)
				}
			})
		}
	}
}

// Of the kept connections, the one that has waited longest for a request is evicted. A connection with a request in progress is never
// evicted.
func TestLongestIdleIsEvicted(t *testing.T) {
	h := newListenerTest(t, func(b *connlimit.Bounds, _ *http.Server) { b.All, b.Answer = 3, []byte("busy") })
	kept := h.fill("/keep", 10, 1, 3)
	kept[0].send(get("/keep")) // now the second has been idle longest
	kept[0].receive()
	kept[2].send("POST /keep HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n") // and the third has a request in progress
	h.until("under way", func() bool { return h.active() == 1 })
	h.fill("/keep", 10, 1, 1)
	kept[1].ended()
	h.fill("/keep", 10, 1, 1)
	kept[0].ended()
	kept[2].send("body")
	if got := kept[2].receive(); got != "body" {
		t.Errorf("got %q, want %q", got, "body")
	}
}

// If all kept connections have a request in progress, a new connection is refused.
func TestActiveConnectionsAreNotEvicted(t *testing.T) {
	h := newListenerTest(t, func(b *connlimit.Bounds, _ *http.Server) { b.All, b.Answer = 2, []byte("busy") })
	kept := h.fill("/keep", 10, 1, 2)
	for _, v := range kept {
		v.send("POST /keep HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
	}
	h.until("under way", func() bool { return h.active() == 2 })
	if got, _ := io.ReadAll(h.dialFrom("127.0.0.2")); string(got) != "busy" {
		t.Errorf("%q, want a refusal because of too many connections", got)
	}
	for _, v := range kept {
		v.send("body")
		v.receive()
	}
}

// With TLS, net/http reports the states of the tls.Conn around the Conn.
func TestIdleTLSConnectionsAreEvicted(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var shed atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(answer))
	_ = server.Listener.Close()
	server.Listener = connlimit.New(ln, connlimit.Bounds{
		All: 2, PerAddress: 100, Exempt: func(netip.Addr) bool { return false }, Shed: func(connlimit.Cause) { shed.Add(1) },
	})
	server.Config.ConnContext, server.Config.ConnState = connlimit.Context, connlimit.State
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for i := range 6 {
		trusted, ok := server.Client().Transport.(*http.Transport)
		if !ok {
			t.Fatal("httptest has another transport")
		}
		client := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted.TLSClientConfig.RootCAs}, ForceAttemptHTTP2: i%2 == 0}
		defer client.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/keep", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.RoundTrip(r)
		if err != nil {
			t.Fatal(i, err)
		}
		_, _ = io.Copy(io.Discard, got.Body)
		got.Body.Close()
	}
	if shed.Load() != 4 {
		t.Errorf("%d were shed, want 4", shed.Load())
	}
}
