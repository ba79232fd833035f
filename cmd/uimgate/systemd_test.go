package main

import (
	"bytes"
	"errors"
	"io"
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

// A connection that is made while the gateway restarts waits in the socket of systemd, and the next process responds.
func TestSocketActivation(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("systemd runs on Linux")
	}
	t.Parallel()
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	socket, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil { // socket remains
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agents.json": operatorAgents, "policy.json": operatorPolicy,
		"uimgate.yaml": "server: {listen: '" + ln.Addr().String() + "'}\nadmin: {listen: '127.0.0.1:0'}\nbilling: {credit: 10 EUR}\n" +
			"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: 'http://127.0.0.1:9'}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func() (stop func()) {
		// The shell has the process id of the gateway, which systemd writes into LISTEN_PID.
		c := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec uimgate serve -c uimgate.yaml --data data`)
		var log bytes.Buffer
		c.Dir, c.ExtraFiles, c.Stderr = dir, []*os.File{socket}, &log
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := errors.Join(c.Process.Signal(syscall.SIGTERM), c.Wait()); err != nil {
				t.Errorf("got %v, want no error; the log: %s", err, log.String())
			}
		}
	}
	get := func() {
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := client.Get("http://" + ln.Addr().String() + "/agents.json")
		if err != nil {
			t.Error(err)
			return
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Errorf("got status %d, want %d", r.StatusCode, http.StatusOK)
		}
	}
	stop := start()
	get()
	stop()
	waiting, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := waiting.Write([]byte("GET /agents.json HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	stop = start()
	if err := waiting.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	status := make([]byte, len("HTTP/1.0 200"))
	if _, err := io.ReadFull(waiting, status); err != nil || !strings.HasSuffix(string(status), "200") {
		t.Errorf("got %q, %v, want a response with status 200", status, err)
	}
	_ = waiting.Close()
	stop()
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
