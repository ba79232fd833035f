//go:build linux

package main

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// An image is the runtime configuration in deploy/image/Dockerfile.
type image struct {
	env                     []string
	entrypoint, cmd, health []string
	user                    string
}

func readImage(t *testing.T) (i image) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/image/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	words := func(list string) (out []string) {
		t.Helper()
		if err := json.Unmarshal([]byte(list[strings.Index(list, "["):]), &out); err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		return out
	}
	_, last, _ := strings.Cut(string(text), "\nFROM scratch\n")
	for line := range strings.Lines(last) {
		switch instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " "); instruction {
		case "ENV":
			i.env = append(i.env, rest)
		case "USER":
			i.user = rest
		case "ENTRYPOINT":
			i.entrypoint = words(rest)
		case "CMD":
			i.cmd = words(rest)
		case "HEALTHCHECK":
			i.health = words(rest)
		}
	}
	return i
}

// linked reports whether a program needs a dynamic linker.
func linked(t *testing.T, path string) bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// The test runs the root file system of the image as a container runtime does, with only this root, user and environment.
func TestImageServes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("changing the root directory needs root")
	}
	self, err := exec.LookPath("uimgate")
	if err != nil {
		t.Fatal(err)
	}
	if linked(t, self) {
		t.Skip("the image has no C library: run the test with CGO_ENABLED=0, as make test does")
	}
	root := filepath.Join(t.TempDir(), "root")
	if out, err := exec.Command("../../deploy/image/rootfs.sh", self, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i := readImage(t)
	if i.user != "65532:65532" {
		t.Fatalf("user %q, want %q", i.user, "65532:65532")
	}
	if err := os.Chown(filepath.Join(root, "var/lib/uimgate"), 65532, 65532); err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer upstream.Close()
	for name, text := range map[string]string{
		"agents.json": operatorAgents, "policy.json": operatorPolicy,
		"uimgate.yaml": "billing: {credit: 100 EUR}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, public_url: 'https://shop.example', upstream: {url: '" +
			upstream.URL + "'}}\n",
	} {
		if err := os.WriteFile(filepath.Join(root, "etc/uimgate", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args []string) *exec.Cmd {
		c := exec.Command(args[0], args[1:]...)
		c.Env, c.Dir = append(i.env, "UIMGATE_LISTEN=127.0.0.1:0", "UIMGATE_ADMIN_LISTEN=127.0.0.1:0"), "/"
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return c
	}
	gateway := run(append(i.entrypoint, i.cmd...))
	var log strings.Builder
	gateway.Stderr = &log
	out, err := gateway.StdoutPipe()
	if err == nil {
		err = gateway.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready, err := bufio.NewReader(out).ReadString('\n')
	var addresses struct{ Listen string }
	if err != nil || json.Unmarshal([]byte(ready), &addresses) != nil {
		_ = gateway.Wait()
		t.Fatalf("%q, %v: %s", ready, err, log.String())
	}
	response, err := http.Get(addresses.Listen + "/agents.json")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("agents.json: %s", response.Status)
	}
	if text, err := run(i.health).CombinedOutput(); err != nil {
		t.Errorf("the health check: %v: %s", err, text)
	}
	if err := gateway.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := gateway.Wait(); err != nil {
		t.Errorf("the gateway ended with %v: %s", err, log.String())
	}
	if text, err := run(i.health).CombinedOutput(); err == nil {
		t.Errorf("the health check after the gateway ended: %s", text)
	}
}
