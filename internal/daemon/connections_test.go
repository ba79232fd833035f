package daemon_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/daemon"
)

// dialed opens a connection to the gateway.
func (g *gate) dialed() net.Conn {
	g.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	return c
}

// over sends a request on a connection, and reports whether the gateway closes the connection afterwards.
func (g *gate) over(c net.Conn, r *http.Request) (status int, closed bool) {
	g.t.Helper()
	if r != nil {
		if err := r.Write(c); err != nil {
			g.t.Fatal(err)
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		g.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.Close {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			g.t.Error("more data follows on a closing connection")
		}
	}
	return answer.StatusCode, answer.Close
}

func (g *gate) request(method, path, token string, body io.Reader) *http.Request {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// One address may have only so many connections. Further connections get a response and are closed, and a metric counts them.
func TestConnectionsPerAddress(t *testing.T) {
	config := strings.Replace(testConfig, "per_address: 1000000/second", "per_address: 1000000/second, connections_per_address: 8", 1)
	g := startGate(t, setup{config: config})
	for range 8 {
		g.dialed()
	}
	if status, closed := g.over(g.dialed(), nil); status != http.StatusServiceUnavailable || !closed {
		t.Errorf("the ninth connection: %d, closed %t, want 503 and an end", status, closed)
	}
	metrics := string(g.adminDo("GET", "/metrics", nil).body)
	if !strings.Contains(metrics, `uimgate_shed_total{cause="connections_address"} 1`) {
		t.Error("the refused connection is not counted")
	}
	g.write("uimgate.yaml", strings.Replace(strings.ReplaceAll(config, "UPSTREAM", g.upstream.server.URL), "address: 8", "address: 9", 1))
	if a := g.adminDo("POST", "/admin/v1/reload", nil); a.status != http.StatusOK {
		t.Fatalf("reload: %d %s; want %v", a.status, a.body, http.StatusOK)
	}
	if status, _ := g.over(g.dialed(), g.request("GET", "/api/policy", "", nil)); status != http.StatusOK {
		t.Errorf("the ninth connection after the bound was raised: %d, want %d", status, http.StatusOK)
	}
}

// A connection with only refusals, and without a PAT, is closed after the response; any other connection stays open.
func TestRefusedConnectionsAreClosed(t *testing.T) {
	config := strings.Replace(testConfig, "per_address: 1000000/second", "per_address: 1000000/second, connections_per_address: 16384", 1)
	g := startGate(t, setup{config: config})
	a := g.newAgent("agent-1").agree()
	unknown := `{"intent_uid":"shop.example:unknown:v1","parameters":{}}`
	for name, test := range map[string]struct {
		requests []*http.Request
		status   int
		closed   bool
	}{
		"nothing there":       {[]*http.Request{g.request("GET", "/wp-login.php", "", nil)}, http.StatusNotFound, true},
		"no PAT":              {[]*http.Request{g.request("POST", "/api/intents/execute", "x.y.z", strings.NewReader(unknown))}, http.StatusUnauthorized, true},
		"an empty revocation": {[]*http.Request{g.request("POST", "/api/pat/revoke", "", strings.NewReader(`{}`))}, http.StatusBadRequest, true},
		"a document":          {[]*http.Request{g.request("GET", "/api/policy", "", nil)}, http.StatusOK, false},
		"refused with a PAT":  {[]*http.Request{g.request("POST", "/api/intents/execute", a.token, strings.NewReader(unknown))}, http.StatusNotFound, false},
		"refused after a document": {
			[]*http.Request{g.request("GET", "/api/policy", "", nil), g.request("GET", "/wp-login.php", "", nil)}, http.StatusNotFound, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := g.dialed()
			var status int
			var closed bool
			for _, r := range test.requests {
				status, closed = g.over(c, r)
			}
			if status != test.status || closed != test.closed {
				t.Errorf("%d, closed %t; want %d, %t", status, closed, test.status, test.closed)
			}
		})
	}
}

// A connection is served again after any idle time. It counts for its address in the meantime, and ends with the gateway.
func TestParkedConnections(t *testing.T) {
	config := strings.Replace(testConfig, "per_address: 1000000/second", "per_address: 1000000/second, connections_per_address: 4", 1)
	g := startGate(t, setup{config: config})
	connections := []net.Conn{g.dialed(), g.dialed(), g.dialed()}
	for range 5 {
		for _, c := range connections {
			if status, closed := g.over(c, g.request("GET", "/api/policy", "", nil)); status != http.StatusOK || closed {
				t.Errorf("%d, closed %t", status, closed)
			}
		}
		parked(t, len(connections))
	}
	g.dialed()
	if status, _ := g.over(g.dialed(), nil); status != http.StatusServiceUnavailable {
		t.Errorf("the fifth connection: %d, want %d", status, http.StatusServiceUnavailable)
	}
	g.stop()
	for _, c := range connections {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a parked connection outlives the gateway")
		}
	}
}

// parked waits until at least this many connections are parked.
func parked(t *testing.T, n int) {
	t.Helper()
	for t.Context().Err() == nil {
		var goroutines bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&goroutines, 2); err != nil {
			t.Fatal(err)
		}
		if strings.Count(goroutines.String(), "connlimit.readable(") >= n {
			return
		}
	}
}

// Memory is returned if many connections are parked, but not if as many are being served.
func TestMemoryIsReturnedIfMostAreParked(t *testing.T) {
	for _, test := range []struct {
		parked, open int
		want         bool
	}{
		{0, 0, false}, {999, 999, false}, {1000, 1000, true}, {1000, 1999, true}, {1000, 2000, false}, {5000, 16384, false}, {9000, 16384, true},
	} {
		if got := daemon.MostAreParked(test.parked, test.open); got != test.want {
			t.Errorf("%d of %d are parked: %v, want %v", test.parked, test.open, got, test.want)
		}
	}
}
