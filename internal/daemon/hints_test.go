package daemon_test

import (
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/uimgate/uimgate/internal/daemon"
)

// The error for a privileged port names the missing capability; other errors do not.
func TestListenErrorNamesTheCapability(t *testing.T) {
	t.Parallel()
	for number, want := range map[syscall.Errno]bool{syscall.EACCES: true, syscall.EADDRINUSE: false} {
		err := daemon.ListenError(":80", &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", number)})
		if text := err.Error(); !strings.HasPrefix(text, "listening on :80: ") || strings.Contains(text, "CAP_NET_BIND_SERVICE") != want {
			t.Error(text)
		}
	}
}

// If the service is unreachable, the log and the status show its address to the operator. Agents do not receive the address.
func TestUnreachableServiceIsReported(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	g.upstream.server.Close()
	address := g.upstream.server.URL
	got := g.newAgent("agent-1").agree().execute(search, map[string]any{"query": "lamp"}, nil)
	if got.status != http.StatusBadGateway || strings.Contains(string(got.body), address) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	host := strings.TrimPrefix(address, "http://")
	if log := g.log.String(); !strings.Contains(log, host) {
		t.Errorf("the log does not name %s:\n%s", host, log)
	}
	if status := g.byToken(adminToken, http.MethodGet, "/admin/v1/status"); !strings.Contains(string(status.body), host) {
		t.Errorf("the status does not name %s: %s", host, status.body)
	}
}
