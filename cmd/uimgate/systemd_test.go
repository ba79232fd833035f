package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A notifySocket receives the messages that a process sends to systemd.
type notifySocket struct {
	*testing.T
	conn *net.UnixConn
}

func newNotifySocket(t *testing.T) notifySocket {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") //nolint:usetesting // t.TempDir is too long for an address
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixgram"}
	conn, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", address.Name)
	return notifySocket{t, conn}
}

// next returns the next message of one kind, and skips others.
func (s notifySocket) next(kind string) string {
	s.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		s.Fatal(err)
	}
	buffer := make([]byte, 4096)
	for {
		n, err := s.conn.Read(buffer)
		if err != nil {
			s.Fatalf("%s was not sent: %v", kind, err)
		}
		if message := string(buffer[:n]); strings.HasPrefix(message, kind+"=1") {
			return message
		}
	}
}

func TestSystemdNotifications(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("systemd runs on Linux")
	}
	s := newNotifySocket(t)
	t.Setenv("WATCHDOG_USEC", "100000")
	g := newProcess(t, operatorPolicy, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n",
		func(http.ResponseWriter, *http.Request) {})
	process := g.startProcess()
	s.next("READY")
	s.next("WATCHDOG")
	if err := process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if message := s.next("RELOADING"); !strings.Contains(message, "\nMONOTONIC_USEC=") {
		t.Errorf("a reload without its time: %q, want a text that contains %q", message, "\nMONOTONIC_USEC=")
	}
	s.next("READY")
	g.write("policy.json", "{") // a refused reload ends as well
	if err := process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.next("RELOADING")
	s.next("READY")
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.next("STOPPING")
	g.stop()
}

func TestSystemdUnitIsValidAndHardened(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	text, err := os.ReadFile("../../deploy/systemd/uimgate.service")
	if err != nil {
		t.Fatal(err)
	}
	self, err := exec.LookPath("uimgate")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "uimgate.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), "/usr/bin/uimgate", self)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", unit}, {"security", "--offline=true", "--threshold=15", "--no-pager", unit}, // 15 means an exposure of 1.5
	} {
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
